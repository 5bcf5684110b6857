//! The manifests of a repository, read from git's objects: what is needed to know its dependencies, and no more.

use std::collections::BTreeMap;

use domain::code::{CommitId, RepositoryName};
use images::detect::{EntryKind, Tree, TreeEntry};

use super::{
    MirrorError, Mirrors,
    git::{OutOfTime, QUICK, run},
};

/// Two levels of a repository at one commit, with the content of what may be a manifest.
#[derive(Debug, Default)]
pub struct Manifests {
    directories: BTreeMap<String, Vec<TreeEntry>>,
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree for Manifests {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.files.get(path).cloned()
    }

    fn list(&self, path: &str) -> Vec<TreeEntry> {
        self.directories.get(path).cloned().unwrap_or_default()
    }
}

/// Larger files are no manifests, and lockfiles only up to here.
const LARGEST: u64 = 4 << 20;
const MOST_FILES: usize = 200;
const MOST_DIRECTORIES: usize = 100;

/// How names of manifests and lockfiles end.
const ENDINGS: [&str; 14] = [
    ".json", ".lock", ".toml", ".txt", ".xml", ".gradle", ".kts", ".yaml", ".yml", ".py", ".cfg",
    ".mod", ".sum", ".lockb",
];
const NAMES: [&str; 4] = ["Gemfile", "Pipfile", "gradlew", "mvnw"];

impl Mirrors {
    /// Reads the manifests of a commit. A tree of hostile size gives fewer, never more.
    pub async fn manifests(
        &self,
        name: &RepositoryName,
        commit: &CommitId,
    ) -> Result<Manifests, MirrorError> {
        let mut manifests = Manifests::default();
        let root = self.list(name, commit, "").await?;
        let directories = root.iter().filter(|(entry, _)| entry.kind == EntryKind::Directory);
        let names: Vec<_> =
            directories.map(|(entry, _)| entry.name.clone()).take(MOST_DIRECTORIES).collect();
        let mut wanted = candidates("", &root);
        manifests.directories.insert(String::new(), root.into_iter().map(|(one, _)| one).collect());
        for directory in names {
            let entries = self.list(name, commit, &directory).await?;
            wanted.extend(candidates(&directory, &entries));
            let entries = entries.into_iter().map(|(entry, _)| entry).collect();
            manifests.directories.insert(directory, entries);
        }
        wanted.truncate(MOST_FILES);
        for path in wanted {
            let content =
                self.git_says(name, &["cat-file", "blob", &format!("{commit}:{path}")]).await?;
            manifests.files.insert(path, content.into_bytes());
        }
        Ok(manifests)
    }

    async fn list(
        &self,
        name: &RepositoryName,
        commit: &CommitId,
        directory: &str,
    ) -> Result<Vec<(TreeEntry, u64)>, MirrorError> {
        let tree = format!("{commit}:{directory}");
        let listed = self.git_says(name, &["ls-tree", "-z", "--long", &tree]).await?;
        Ok(listed.split('\0').filter_map(entry).collect())
    }

    async fn git_says(
        &self,
        name: &RepositoryName,
        arguments: &[&str],
    ) -> Result<String, MirrorError> {
        let (mirror, _) = self.known(name)?;
        let mut command = self.shared.git.on(&mirror);
        command.args(arguments);
        match run(command, QUICK, None).await? {
            Ok(ran) => ran.checked("read a manifest"),
            Err(OutOfTime) => Err(MirrorError::Git {
                doing: "read a manifest",
                reason: "it took too long".to_owned(),
            }),
        }
    }
}

/// `100644 blob HASH    SIZE\tNAME`
fn entry(line: &str) -> Option<(TreeEntry, u64)> {
    let (about, name) = line.split_once('\t')?;
    let mut words = about.split_ascii_whitespace();
    let (mode, kind) = (words.next()?, words.next()?);
    let size = words.nth(1)?.parse().unwrap_or(0);
    let kind = match (kind, mode) {
        ("tree", _) => EntryKind::Directory,
        ("blob", "100644" | "100755") => EntryKind::File,
        _other => EntryKind::Other,
    };
    // A replacement character stands for what is not UTF-8: git would not find it by that name.
    let readable = !name.contains('\u{fffd}');
    readable.then(|| (TreeEntry { name: name.to_owned(), kind }, size))
}

fn candidates(directory: &str, entries: &[(TreeEntry, u64)]) -> Vec<String> {
    let may_be =
        |name: &str| NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending));
    entries
        .iter()
        .filter(|(entry, size)| entry.kind == EntryKind::File && *size <= LARGEST)
        .filter(|(entry, _)| may_be(&entry.name))
        .map(|(entry, _)| match directory {
            "" => entry.name.clone(),
            directory => format!("{directory}/{}", entry.name),
        })
        .collect()
}
