//! The files of a repository, as far as detection wants to see them.
//!
//! A tree is hostile: it may have a million paths, names with control characters, and a Makefile of a gigabyte. The survey goes over
//! the paths once, keeps the few whose names mean something, and reads no more than a limit of each.

use std::collections::{BTreeMap, BTreeSet};

use super::{check::Directory, manifests::PYTHON};

/// The files at one commit.
pub trait Tree {
    /// Tells the path of each file, below the root, with `/` between words.
    fn each_path(&self, told: &mut dyn FnMut(&str));
    /// A file's bytes, unless there is no such file, or it has more than `limit`.
    fn read(&self, path: &str, limit: usize) -> Option<Vec<u8>>;
}

/// A tree that is already in memory.
#[derive(Debug, Clone, Default)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl Tree for Files {
    fn each_path(&self, told: &mut dyn FnMut(&str)) {
        self.0.keys().for_each(|path| told(path));
    }

    fn read(&self, path: &str, limit: usize) -> Option<Vec<u8>> {
        self.0.get(path).filter(|bytes| bytes.len() <= limit).cloned()
    }
}

/// Manifests are small. Whoever has a larger one has something else.
const SIZE_LIMIT: usize = 512 * 1024;
/// As many files are kept as a large monorepo has manifests near its root.
const FILES_LIMIT: usize = 400;

/// More directories than this are not counted.
const PLACES_LIMIT: usize = 10_000;

/// Where code of others lies, or what a build has made.
const FOREIGN: &[&str] = &[
    "node_modules",
    "vendor",
    "third_party",
    "target",
    "dist",
    "build",
    "out",
    "testdata",
    "fixtures",
    "__fixtures__",
    "templates",
    "template",
    "examples",
    "example",
    "samples",
    "fuzz",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "venv",
    ".venv",
    "site-packages",
    "bower_components",
];

/// The files whose names say something about checks, with what they contain.
pub(super) struct Survey {
    files: BTreeMap<String, Option<String>>,
    /// Directories that have files, as many as are counted.
    places: BTreeSet<Directory>,
    /// Directories that have Python tests in them, with the first of each.
    tested: BTreeMap<Directory, PythonTest>,
}

/// A file with tests, and what is in it.
struct PythonTest {
    path: String,
    text: Option<String>,
}

/// A file that was kept, where it is and what is in it.
pub(super) struct Found<'a> {
    pub(super) path: &'a str,
    pub(super) directory: Directory,
    pub(super) text: &'a str,
}

impl Survey {
    pub(super) fn of(tree: &impl Tree) -> Self {
        let mut kept: BTreeSet<(usize, String)> = BTreeSet::new();
        let mut tested: BTreeMap<Directory, String> = BTreeMap::new();
        let mut places: BTreeSet<Directory> = BTreeSet::new();
        tree.each_path(&mut |path| {
            let Some((directory, name)) = place(path) else { return };
            if places.len() < PLACES_LIMIT && !places.contains(&directory) {
                places.extend(directory.above().chain([directory.clone()]));
            }
            if is_python_test(name) {
                // Whatever order the paths come in, the same one is the first.
                if let Some(first) = tested.get_mut(&directory) {
                    if path < first.as_str() {
                        path.clone_into(first);
                    }
                } else if tested.len() < FILES_LIMIT {
                    tested.insert(directory, path.to_owned());
                }
            } else if is_interesting(&directory, name) {
                // The nearest to the root are kept, whatever order the paths come in, and scripts only where there is room.
                let distance = path.split('/').count();
                let distance = if is_script(&directory, name) { distance + 100 } else { distance };
                kept.insert((distance, path.to_owned()));
                if kept.len() > FILES_LIMIT {
                    kept.pop_last();
                }
            }
        });
        let text = |path: &str| {
            tree.read(path, SIZE_LIMIT).and_then(|bytes| String::from_utf8(bytes).ok())
        };
        let files = kept.into_iter().map(|(_, path)| {
            let text = text(&path);
            (path, text)
        });
        // Only those at the root are asked what they are written for.
        let tested = tested.into_iter().map(|(directory, path)| {
            let text = is_near(&path).then(|| text(&path)).flatten();
            (directory, PythonTest { path, text })
        });
        Self { files: files.collect(), places, tested: tested.collect() }
    }

    /// Whether there may be such a directory.
    pub(super) fn may_have(&self, directory: &Directory) -> bool {
        self.places.contains(directory) || self.places.len() >= PLACES_LIMIT || directory.is_root()
    }

    /// Is there such a file, readable or not?
    pub(super) fn has(&self, directory: &Directory, name: &str) -> bool {
        self.files.contains_key(&directory.file(name))
    }

    pub(super) fn text(&self, directory: &Directory, name: &str) -> Option<&str> {
        self.files.get(&directory.file(name))?.as_deref()
    }

    /// The text of a file that a command names, from where the command is run.
    pub(super) fn script(&self, at: &Directory, path: &str) -> Option<&str> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.text(&at.join(parent)?, name)
    }

    /// Is there a file with this ending, and which?
    pub(super) fn ending(&self, directory: &Directory, ending: &str) -> Option<&str> {
        let here = self.files.keys().filter_map(|path| Some((path, place(path)?)));
        let mut fits =
            here.filter(|(_, (place, name))| place == directory && name.ends_with(ending));
        fits.next().map(|(path, _)| path.as_str())
    }

    /// All files of one name that could be read, those near the root first.
    pub(super) fn named<'a>(&'a self, name: &str) -> Vec<Found<'a>> {
        self.found(|_, file| file == name)
    }

    /// All workflow files of CI.
    pub(super) fn workflows(&self) -> Vec<Found<'_>> {
        self.found(is_workflow)
    }

    /// Directories with files of one of these names.
    pub(super) fn directories(&self, names: &[&str]) -> BTreeSet<Directory> {
        let places = self.files.keys().filter_map(|path| place(path));
        places.filter(|(_, file)| names.contains(file)).map(|(directory, _)| directory).collect()
    }

    pub(super) fn has_python_tests(&self, directory: &Directory) -> bool {
        self.tested.contains_key(directory)
    }

    /// The first file with Python tests in a directory, and what is in it as far as it was read.
    pub(super) fn python_test(&self, directory: &Directory) -> Option<(&str, &str)> {
        let test = self.tested.get(directory)?;
        Some((&test.path, test.text.as_deref().unwrap_or_default()))
    }

    fn found<'a>(&'a self, wanted: impl Fn(&Directory, &str) -> bool) -> Vec<Found<'a>> {
        let mut found: Vec<Found<'a>> = self
            .files
            .iter()
            .filter_map(|(path, text)| {
                let (directory, name) = place(path)?;
                let text = text.as_deref()?;
                wanted(&directory, name).then_some(Found { path, directory, text })
            })
            .collect();
        found.sort_by_key(|file| file.path.split('/').count());
        found
    }
}

/// Whether detection wants to read what is at this path. All other files only have to be there.
pub fn is_wanted(path: &str) -> bool {
    place(path).is_some_and(|(directory, name)| {
        is_interesting(&directory, name) || (is_python_test(name) && is_near(path))
    })
}

/// A path as directory and name, if it is one that a check could be about.
fn place(path: &str) -> Option<(Directory, &str)> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.is_empty() || name.contains(char::is_control) {
        return None;
    }
    let is_foreign = |word: &str| {
        FOREIGN.contains(&word) || word == ".." || (word.starts_with('.') && word != ".github")
    };
    if parent.split('/').any(is_foreign) {
        return None;
    }
    Some((Directory::parse(parent)?, name))
}

fn is_workflow(directory: &Directory, name: &str) -> bool {
    let has_ending = [".yml", ".yaml"].iter().any(|ending| name.ends_with(ending));
    directory.as_str() == ".github/workflows" && has_ending
}

fn is_python_test(name: &str) -> bool {
    let stem = name.strip_suffix(".py");
    stem.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

fn is_interesting(directory: &Directory, name: &str) -> bool {
    const NAMES: &[&str] = &[
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        ".justfile",
        "package.json",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "pnpm-workspace.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
        "Cargo.toml",
        "tox.toml",
        "Rakefile",
        "Gemfile",
        ".rspec",
        ".rubocop.yml",
        "composer.json",
        "phpunit.xml",
        "phpunit.xml.dist",
        "mix.exs",
        "Package.swift",
        "deno.json",
        "deno.jsonc",
        "build.sbt",
        "stack.yaml",
        "CMakeLists.txt",
        ".gitlab-ci.yml",
        ".travis.yml",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile.lock",
        "go.mod",
        ".golangci.yml",
        ".golangci.yaml",
        ".golangci.toml",
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
        "gradlew",
        "pom.xml",
        "mvnw",
    ];
    if directory.as_str().starts_with(".github") {
        return is_workflow(directory, name);
    }
    let is_solution = [".sln", ".slnx", ".csproj", ".fsproj"].iter().any(|end| name.ends_with(end));
    NAMES.contains(&name) || PYTHON.contains(&name) || is_solution || is_script(directory, name)
}

/// A script that CI may call: of a shell by its name, or without an ending where such scripts lie.
fn is_script(directory: &Directory, name: &str) -> bool {
    const PLACES: &[&str] = &["ci", "scripts", "script", "bin", "tools", "hack"];
    let last = directory.as_str().rsplit('/').next().unwrap_or_default();
    [".sh", ".bash"].iter().any(|ending| name.ends_with(ending))
        || (PLACES.contains(&last) && !name.contains('.'))
}

/// Tests in Python near the root say themselves what they are written for.
fn is_near(path: &str) -> bool {
    path.split('/').count() <= 2
}
