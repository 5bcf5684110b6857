//! Of some things there is one, because a second would drift: the list of letters that nobody sees, and the quoting of a shell's words.
//! And nothing is declared that nobody uses.
//!
//! Files that are replaced have a ban in `clippy.toml` instead: the compiler sees more than a search for words.

use std::collections::BTreeMap;

use crate::tree::{File, assert_none, files_with};

/// What is left of a list of hidden letters, however it is cut: its ranges of letters that turn a line around.
const TURNING: &[&str] =
    &[r"'\u{202a}'", r"'\u{202e}'", r"'\u{2066}'", r"'\u{200b}'", r"'\u{206f}'"];

/// Where such a range is another list, each with its reason.
const OTHER_LISTS: &[&str] = &[
    // The list.
    "crates/domain/src/visible.rs",
    // What HFS+ leaves out when it compares names: Apple's list, not ours.
    "crates/forges/src/inspection/names.rs",
];

#[test]
fn there_is_one_list_of_letters_that_nobody_sees() {
    let range = |line: &str| line.contains("..=") && TURNING.iter().any(|it| line.contains(it));
    let wrong = shipped(range, OTHER_LISTS);
    assert_none("ask `domain::visible` which letters people see", &wrong);
}

#[test]
fn there_is_one_way_to_quote_a_word_for_a_shell() {
    let quotes = |line: &str| {
        let by = [r#"r"'\''""#, r#""'\\''""#];
        line.contains(r"replace('\'', ") && by.iter().any(|it| line.contains(it))
    };
    let wrong = shipped(quotes, &["crates/domain/src/shell.rs"]);
    assert_none("quote with `domain::shell::quoted`", &wrong);
}

#[test]
fn no_dependency_is_declared_that_nobody_names() {
    let (manifests, sources) = (files_with("toml"), files_with("rs"));
    let manifests: Vec<&File> =
        manifests.iter().filter(|file| file.path.ends_with("Cargo.toml")).collect();
    let mut wrong = Vec::new();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for manifest in &manifests {
        let home = manifest.path.trim_end_matches("Cargo.toml");
        // A package inside of another one's directory is looked at by itself.
        let nested = |path: &str| {
            let inside = manifests.iter().map(|it| it.path.trim_end_matches("Cargo.toml"));
            inside.into_iter().any(|it| it.len() > home.len() && path.starts_with(it))
        };
        let own = sources.iter().filter(|it| it.path.starts_with(home) && !nested(&it.path));
        let own: Vec<&File> = own.collect();
        for name in declared(&manifest.text) {
            *used.entry(name).or_default() += 1;
            let word = name.replace('-', "_");
            if !own.iter().any(|file| names(&file.text, &word)) {
                wrong.push(format!("{}: `{name}`", manifest.path));
            }
        }
    }
    let root = manifests.iter().find(|file| file.path == "Cargo.toml").expect("a workspace");
    let (_, shared) = root.text.split_once("[workspace.dependencies]\n").expect("its table");
    let shared = shared.split("\n[").next().unwrap_or_default();
    let unused = entries(shared).filter(|name| !used.contains_key(name));
    wrong.extend(unused.map(|name| format!("Cargo.toml: `{name}`")));
    assert!(used.len() > 50, "the manifests were not understood: {used:?}");
    assert_none("take these out of the manifest", &wrong);
}

/// The crates in the tables of dependencies of one package.
fn declared(manifest: &str) -> impl Iterator<Item = &str> {
    let tables = manifest.split("\n[").filter(|table| {
        let heading = table.split(']').next().unwrap_or_default();
        ["dependencies", "dev-dependencies", "build-dependencies"].contains(&heading)
    });
    tables.flat_map(entries)
}

fn entries(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter_map(|line| {
        let end = line.find(['.', ' ', '=']).filter(|_| line.contains('='))?;
        line.get(..end).filter(|name| !name.is_empty() && !name.starts_with('#'))
    })
}

/// Whether the word stands in code by itself: a comment may speak of a crate that is not used.
fn names(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        line.match_indices(word).any(|(at, _)| {
            let before = line.get(..at).and_then(|it| it.chars().next_back());
            let after = line.get(at + word.len()..).and_then(|it| it.chars().next());
            !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
        })
    })
}

/// Lines of shipped code that `is_meant`, but for those of some files.
fn shipped(is_meant: impl Fn(&str) -> bool, but: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files_with("rs") {
        let is_test = ["tests/", "_tests.rs", "/tests.rs"].iter().any(|it| file.path.contains(it));
        let is_ours = file.path.starts_with("crates/") && !file.path.starts_with("crates/testkit/");
        if is_test || !is_ours || but.contains(&file.path.as_str()) {
            continue;
        }
        let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let meant = (1..).zip(code.lines()).filter(|(_, line)| is_meant(line));
        found.extend(meant.map(|(at, line)| format!("{}:{at}: {}", file.path, line.trim())));
    }
    found
}

#[test]
fn manifests_are_read() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nserde.workspace = true\n# why\n\
                    fs-err = { workspace = true }\n\n[dev-dependencies]\ninsta = \"1\"\n";
    assert_eq!(declared(manifest).collect::<Vec<_>>(), ["serde", "fs-err", "insta"]);
    assert!(names("use fs_err as fs;", "fs_err") && !names("// fs_err", "fs_err"));
    assert!(!names("my_fs_err::x()", "fs_err"));
}
