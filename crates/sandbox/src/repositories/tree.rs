//! The manifests of a repository, read from git's objects: what is needed to know its dependencies, and no more.

use std::{collections::BTreeMap, path::Path};

use domain::code::{CommitId, RepositoryName};
use git::{Git, GitError, MirrorError, Mirrors, ObjectName, QUICK};
use images::detect::{EntryKind, Tree, TreeEntry};

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
const NAMES: [&str; 14] = [
    "Gemfile",
    "Pipfile",
    "gradlew",
    "mvnw",
    ".tool-versions",
    ".python-version",
    ".nvmrc",
    ".node-version",
    ".flake8",
    "rust-toolchain",
    "tox.ini",
    "mypy.ini",
    "pytest.ini",
    "Makefile",
];
/// Looked at although it stands deeper than all others.
const DEEPER: &str = ".github/workflows";

/// Reads the manifests of a commit. A tree of hostile size gives fewer, never more.
pub async fn manifests(
    mirrors: &Mirrors,
    name: &RepositoryName,
    commit: &CommitId,
) -> Result<Manifests, MirrorError> {
    let (git, mirror) = (mirrors.git(), mirrors.known(name)?.path);
    let mut manifests = Manifests::default();
    let root = list(git, &mirror, commit, "").await?;
    let directories = root.iter().filter(|found| found.entry.kind == EntryKind::Directory);
    let names: Vec<_> =
        directories.map(|found| found.entry.name.clone()).take(MOST_DIRECTORIES).collect();
    let mut wanted = candidates("", &root);
    manifests.directories.insert(String::new(), entries(root));
    for directory in names {
        let found = list(git, &mirror, commit, &directory).await?;
        wanted.extend(candidates(&directory, &found));
        manifests.directories.insert(directory, entries(found));
    }
    if manifests.list(".github").iter().any(|entry| entry.name == "workflows") {
        let found = list(git, &mirror, commit, DEEPER).await?;
        wanted.extend(candidates(DEEPER, &found));
        manifests.directories.insert(DEEPER.to_owned(), entries(found));
    }
    wanted.truncate(MOST_FILES);
    let mut blobs = git.blobs(&mirror, QUICK)?;
    for (path, object) in wanted {
        manifests.files.insert(path, blobs.read(&object, LARGEST).await?);
    }
    Ok(manifests)
}

/// What stands in a directory.
struct Found {
    entry: TreeEntry,
    object: ObjectName,
    size: u64,
}

async fn list(
    git: &Git,
    mirror: &Path,
    commit: &CommitId,
    directory: &str,
) -> Result<Vec<Found>, GitError> {
    let tree = format!("{commit}:{directory}");
    let listed = git.ask("list files", mirror, &["ls-tree", "-z", "--long", &tree]).await?;
    Ok(listed.split('\0').filter_map(found).collect())
}

fn entries(found: Vec<Found>) -> Vec<TreeEntry> {
    found.into_iter().map(|found| found.entry).collect()
}

/// `100644 blob HASH    SIZE\tNAME`
fn found(line: &str) -> Option<Found> {
    let (about, name) = line.split_once('\t')?;
    let mut words = about.split_ascii_whitespace();
    let (mode, kind, object) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let size = words.next()?.parse().unwrap_or(0);
    let kind = match (kind, mode) {
        ("tree", _) => EntryKind::Directory,
        ("blob", "100644" | "100755") => EntryKind::File,
        _other => EntryKind::Other,
    };
    // A replacement character stands for what is not UTF-8: git would not find it by that name.
    let readable = !name.contains('\u{fffd}');
    readable.then(|| Found { entry: TreeEntry { name: name.to_owned(), kind }, object, size })
}

fn candidates(directory: &str, found: &[Found]) -> Vec<(String, ObjectName)> {
    let may_be =
        |name: &str| NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending));
    found
        .iter()
        .filter(|found| found.entry.kind == EntryKind::File && found.size <= LARGEST)
        .filter(|found| may_be(&found.entry.name))
        .map(|found| {
            let name = &found.entry.name;
            let path = match directory {
                "" => name.clone(),
                directory => format!("{directory}/{name}"),
            };
            (path, found.object.clone())
        })
        .collect()
}
