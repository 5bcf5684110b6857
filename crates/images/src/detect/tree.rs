//! The files of a repository, wherever they are: in git's objects on the host, or inside a sandbox.

/// A repository at one commit. Paths are relative, with `/` between names.
pub trait Tree {
    /// The content of a file, or nothing if there is none or it is too large to be a manifest.
    fn read(&self, path: &str) -> Option<Vec<u8>>;

    /// What is in a directory; the root is the empty path. Names that are not UTF-8 may be left out.
    fn list(&self, path: &str) -> Vec<TreeEntry>;
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeEntry {
    pub name: String,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    File,
    Directory,
    /// A link or a submodule. It is not followed.
    Other,
}

/// A directory that is being looked at.
pub(super) struct Place<'t> {
    tree: &'t dyn Tree,
    directory: Option<String>,
    entries: Vec<TreeEntry>,
    /// The root, if this is not it.
    root: Option<&'t Place<'t>>,
}

impl<'t> Place<'t> {
    pub(super) fn root(tree: &'t dyn Tree) -> Self {
        Self { tree, directory: None, entries: readable(tree.list("")), root: None }
    }

    pub(super) fn below(&'t self, directory: &str) -> Self {
        let entries = readable(self.tree.list(directory));
        Self { tree: self.tree, directory: Some(directory.to_owned()), entries, root: Some(self) }
    }

    pub(super) fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    /// The path in the repository of a name in this directory.
    pub(super) fn path(&self, name: &str) -> String {
        match &self.directory {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_owned(),
        }
    }

    pub(super) fn names(&self, kind: EntryKind) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(move |entry| entry.kind == kind).map(|entry| entry.name.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names(EntryKind::File).any(|known| known == name)
    }

    /// The files in a directory below this one, by name.
    pub(super) fn listed(&self, directory: &str) -> Vec<String> {
        if !self.names(EntryKind::Directory).any(|known| known == directory) {
            return Vec::new();
        }
        let entries = readable(self.tree.list(&self.path(directory)));
        let files = entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
        files.map(|entry| entry.name).collect()
    }

    /// The text of a file somewhere below, or nothing.
    pub(super) fn far_text(&self, path: &str) -> Option<String> {
        let content = self.tree.read(&self.path(path))?;
        String::from_utf8(content).ok()
    }

    /// The first of these names that is there.
    pub(super) fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    pub(super) fn text(&self, name: &str) -> String {
        if !self.has(name) {
            return String::new();
        }
        let content = self.tree.read(&self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&content).into_owned()
    }

    /// The repository's root, unless this is the root itself.
    pub(super) fn above(&self) -> Option<&Place<'t>> {
        self.root
    }
}

fn readable(mut entries: Vec<TreeEntry>) -> Vec<TreeEntry> {
    entries.retain(|entry| is_readable(&entry.name));
    entries.sort();
    entries
}

/// Whether a person sees in a script what the shell does with it. Names that turn or hide text are not.
fn is_readable(name: &str) -> bool {
    let is_name = !name.is_empty() && !matches!(name, "." | "..") && !name.contains('/');
    is_name && name.len() <= 255 && name.chars().all(domain::visible::is_plain)
}
