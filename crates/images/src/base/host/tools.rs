//! Toolchains that version managers keep in the home of whoever runs the server, and how programs in them are found.
//!
//! | manager | shown | first in `PATH` | last |
//! |---|---|---|---|
//! | rustup | `~/.rustup`, `~/.cargo/bin` | `~/.cargo/bin`, with `RUSTUP_HOME` | |
//! | pyenv, rbenv, nvm, fnm, volta, mise, asdf, uv | the directory of all versions | the default version, or the newest | the others |
//! | bun, deno, Go below `/usr/local` | its own directory | its programs | |
//!
//! Each is looked at as if an operator had named it ([`super::toolchain`]): a directory that holds a secret, or that is a link, is left
//! out. Nothing else of the home is shown.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::toolchain;

/// How programs in toolchains are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// Before what the system has.
    pub first: Vec<String>,
    /// After it: versions that are only asked for by name, such as `python3.9`.
    pub last: Vec<String>,
    pub variables: BTreeMap<String, String>,
}

impl Tools {
    /// A directory that the operator names: its programs are in `bin`, or in itself.
    pub fn add(&mut self, directory: &Path) {
        let bin = directory.join("bin");
        let place = if bin.is_dir() { &bin } else { directory };
        self.first.extend(plain(place));
    }

    /// What this makes of the environment; nothing, where there is no toolchain.
    pub fn environment(&self, usual: &str) -> BTreeMap<String, String> {
        let mut environment = self.variables.clone();
        if !self.first.is_empty() || !self.last.is_empty() {
            let all = self.first.iter().map(String::as_str).chain([usual]);
            let all: Vec<&str> = all.chain(self.last.iter().map(String::as_str)).collect();
            environment.insert("PATH".to_owned(), all.join(":"));
        }
        environment
    }
}

/// One that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundToolchain {
    /// Of the manager, and of the version that programs get first.
    pub name: String,
    pub shown: Vec<PathBuf>,
}

/// All that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundTools {
    pub toolchains: Vec<FoundToolchain>,
    pub tools: Tools,
}

impl FoundTools {
    pub fn shown(&self) -> impl Iterator<Item = &PathBuf> {
        self.toolchains.iter().flat_map(|toolchain| &toolchain.shown)
    }
}

/// A manager: its name, where its versions are, where in each the programs are, and where the default is written.
struct Manager {
    name: &'static str,
    versions: &'static str,
    bin: &'static str,
    default: &'static str,
}

const MANAGERS: [Manager; 7] = [
    Manager { name: "pyenv", versions: ".pyenv/versions", bin: "bin", default: ".pyenv/version" },
    Manager { name: "rbenv", versions: ".rbenv/versions", bin: "bin", default: ".rbenv/version" },
    Manager {
        name: "nvm",
        versions: ".nvm/versions/node",
        bin: "bin",
        default: ".nvm/alias/default",
    },
    Manager {
        name: "fnm",
        versions: ".local/share/fnm/node-versions",
        bin: "installation/bin",
        default: "",
    },
    Manager { name: "volta", versions: ".volta/tools/image/node", bin: "bin", default: "" },
    Manager { name: "sdkman (java)", versions: ".sdkman/candidates/java", bin: "bin", default: "" },
    Manager { name: "uv", versions: ".local/share/uv/python", bin: "bin", default: "" },
];

/// Managers of many languages: below each of these stands a directory for each tool, and in it one for each version.
const MANY: [(&str, &str); 2] =
    [("mise", ".local/share/mise/installs"), ("asdf", ".asdf/installs")];

/// Programs of one kind.
const SINGLE: [(&str, &str); 3] = [("bun", ".bun/bin"), ("deno", ".deno/bin"), ("go", "go/bin")];

/// Visible with `/usr`, and in no `PATH`.
const GO: &str = "/usr/local/go/bin";

/// Looks in a home.
pub fn find(home: &Path) -> FoundTools {
    find_on(Path::new("/"), home)
}

pub(super) fn find_on(root: &Path, home: &Path) -> FoundTools {
    let mut found = FoundTools::default();
    found.rustup(root, home);
    for Manager { name, versions, bin, default } in &MANAGERS {
        let default = match *default {
            "" => String::new(),
            path => fs::read_to_string(on(root, home).join(path)).unwrap_or_default(),
        };
        found.versions(root, name, &home.join(versions), bin, default.trim());
    }
    for (name, installs) in MANY {
        for tool in names(&on(root, &home.join(installs))) {
            let place = home.join(installs).join(&tool);
            found.versions(root, &format!("{name} ({tool})"), &place, "bin", "");
        }
    }
    for (name, place) in SINGLE {
        let place = home.join(place);
        if let Some(shown) = may_show(root, &place) {
            found.tools.first.extend(plain(&shown));
            found.toolchains.push(FoundToolchain { name: name.to_owned(), shown: vec![shown] });
        }
    }
    if on(root, Path::new(GO)).is_dir() {
        found.tools.first.push(GO.to_owned());
    }
    found
}

impl FoundTools {
    /// The programs of rustup stand for those of the toolchain that a project names, and look for it in its home.
    fn rustup(&mut self, root: &Path, home: &Path) {
        let (own, programs) = (home.join(".rustup"), home.join(".cargo/bin"));
        let has_some = !names(&on(root, &own.join("toolchains"))).is_empty();
        let shown = [may_show(root, &own), may_show(root, &programs)];
        let [Some(own), Some(programs)] = shown else { return };
        let is_there = has_some && on(root, &programs.join("cargo")).exists();
        let (true, Some(path), Some(place)) = (is_there, plain(&programs), plain(&own)) else {
            return;
        };
        self.tools.first.push(path);
        self.tools.variables.insert("RUSTUP_HOME".to_owned(), place);
        self.toolchains
            .push(FoundToolchain { name: "rustup".to_owned(), shown: vec![own, programs] });
    }

    /// The default version comes first, or the newest where there is none; the others last, the newest of them first.
    fn versions(&mut self, root: &Path, name: &str, place: &Path, bin: &str, default: &str) {
        let mut all = names(&on(root, place));
        all.retain(|version| on(root, &place.join(version).join(bin)).is_dir());
        all.sort_by_key(|version| std::cmp::Reverse(numbers(version)));
        let is_default = |version: &&String| {
            let (version, default) =
                (version.trim_start_matches('v'), default.trim_start_matches('v'));
            !default.is_empty()
                && (version == default || version.starts_with(&format!("{default}.")))
        };
        let Some(chosen) = all.iter().find(is_default).or_else(|| all.first()).cloned() else {
            return;
        };
        let Some(shown) = may_show(root, place) else { return };
        let path = |version: &String| plain(&place.join(version).join(bin));
        self.tools.first.extend(path(&chosen));
        self.tools.last.extend(all.iter().filter(|it| **it != chosen).filter_map(path));
        let name = format!("{name} {chosen}");
        self.toolchains.push(FoundToolchain { name, shown: vec![shown] });
    }
}

/// The directory, if it may be shown to sandboxes.
fn may_show(root: &Path, place: &Path) -> Option<PathBuf> {
    toolchain::check(root, place).ok().map(PathBuf::from)
}

/// As a part of `PATH`.
fn plain(place: &Path) -> Option<String> {
    place.to_str().filter(|text| !text.contains(':')).map(str::to_owned)
}

fn on(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Directories in a directory, without links to others of them.
fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> =
        directories.filter_map(|entry| entry.file_name().into_string().ok()).take(100).collect();
    names.sort();
    names
}

/// `v22.10.1` as numbers, so that 10 is more than 9.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(paths: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in paths {
            let place = root.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "").unwrap();
        }
        root
    }

    #[test]
    fn version_managers_are_found_and_the_default_comes_first() {
        let root = made(&[
            "home/ann/.rustup/toolchains/stable/bin/cargo",
            "home/ann/.cargo/bin/cargo",
            "home/ann/.pyenv/versions/3.9.1/bin/python3",
            "home/ann/.pyenv/versions/3.11.7/bin/python3",
            "home/ann/.pyenv/versions/3.13.0/bin/python3",
            "home/ann/.nvm/versions/node/v9.1.0/bin/node",
            "home/ann/.nvm/versions/node/v22.1.0/bin/node",
            "home/ann/.local/share/mise/installs/java/21/bin/java",
            "home/ann/.ssh/id_ed25519",
            "usr/local/go/bin/go",
        ]);
        fs::write(root.path().join("home/ann/.pyenv/version"), "3.11.7\n").unwrap();
        let FoundTools { toolchains, tools } = find_on(root.path(), Path::new("/home/ann"));
        let names: Vec<&str> = toolchains.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["rustup", "pyenv 3.11.7", "nvm v22.1.0", "mise (java) 21"]);
        let Tools { first, last, variables } = &tools;
        let home = |path: &str| format!("/home/ann/{path}");
        assert_eq!(
            *first,
            [
                home(".cargo/bin"),
                home(".pyenv/versions/3.11.7/bin"),
                home(".nvm/versions/node/v22.1.0/bin"),
                home(".local/share/mise/installs/java/21/bin"),
                GO.to_owned(),
            ]
        );
        let others = ["3.13.0", "3.9.1"].map(|it| home(&format!(".pyenv/versions/{it}/bin")));
        assert_eq!(last[..2], others);
        assert_eq!(variables["RUSTUP_HOME"], home(".rustup"));
        let path = &tools.environment("/usr/bin")["PATH"];
        assert!(path.contains(&format!("{GO}:/usr/bin:{}", others[0])), "{path}");
    }

    #[test]
    fn a_home_without_toolchains_changes_nothing_and_secrets_are_not_shown() {
        let root = made(&["home/ann/.rustup/toolchains/stable/x", "home/ann/.cargo/bin/cargo"]);
        fs::write(root.path().join("home/ann/.rustup/.netrc"), "password").unwrap();
        let found = find_on(root.path(), Path::new("/home/ann"));
        assert_eq!(found, FoundTools::default());
        assert!(found.tools.environment("/usr/bin").is_empty());
    }
}
