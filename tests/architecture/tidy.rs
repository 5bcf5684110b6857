//! Small rules about every file, so that no reviewer has to remember them.

use crate::{
    functions,
    tree::{File, assert_none, files, files_with},
};

/// A file longer than this tells more than one thing.
const MOST_LINES: usize = 600;

/// What a person writes and has to read again. Generated files and long documents are not meant.
const SOURCES: &[&str] = &["rs", "sh", "sql", "svelte", "ts"];

/// Places where a forbidden word is the point. Each with its reason: `(file, word)`.
const EXCEPTIONS: &[(&str, &str)] = &[("tests/escape/sights.rs", concat!("/", "root/"))];

#[test]
fn every_crate_takes_the_workspaces_lints() {
    let wrong: Vec<String> = files_with("toml")
        .into_iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        .filter(|file| !file.text.contains("[lints]\nworkspace = true"))
        // Sandbox code will need its own table; it then says why, in a comment above it.
        .filter(|file| !file.text.contains("# lints: "))
        .map(|file| file.path)
        .collect();
    assert_none("add `[lints] workspace = true`, or a comment `# lints: why not`", &wrong);
}

#[test]
fn every_rust_file_opens_with_its_story() {
    let wrong: Vec<String> = files_with("rs")
        .into_iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.path)
        .collect();
    assert_none("open with `//!`: what it is for, and the invariant that it keeps", &wrong);
}

#[test]
fn no_test_is_ignored() {
    let ignores = |attribute: &str| {
        let mut words = attribute.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.any(|word| word == "ignore")
    };
    let wrong = places(&files_with("rs"), |line| {
        line.trim_start().strip_prefix("#[").is_some_and(|rest| {
            (rest.starts_with("ignore") || rest.starts_with("cfg_attr")) && ignores(rest)
        })
    });
    assert_none("a test runs, or it is deleted", &wrong);
}

/// A test that returns early is green. Whoever cannot run here says `unsupported!`, or `supported!(..)`, and is counted.
#[test]
fn no_test_ends_early_in_silence() {
    let wrong: Vec<String> = files_with("rs")
        .iter()
        .filter(|file| {
            functions::may_have_tests(file) && !file.path.starts_with("tests/unsupported/")
        })
        .flat_map(|file| {
            let silent = functions::find(file).silent;
            silent.into_iter().map(|wrong| format!("{}:{wrong}", file.path))
        })
        .collect();
    assert_none("say it with the crate `unsupported`: see tests/unsupported", &wrong);
}

#[test]
fn no_source_file_tells_more_than_one_thing() {
    let wrong: Vec<String> = files()
        .into_iter()
        .filter(|file| SOURCES.iter().any(|extension| file.has_extension(extension)))
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(lines, _)| *lines > MOST_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert_none("split these files; the most is 600 lines", &wrong);
}

#[test]
fn only_the_room_git_starts_a_git_on_a_servers_host() {
    // These run for a person, in that person's own checkout, with that person's own settings.
    const FOR_A_PERSON: [&str; 3] = ["crates/lamp/", "crates/demo/", "crates/testkit/"];
    // Written in parts, so that this file does not contain what it forbids.
    let start = format!("Command::new(\"{}\")", "git");
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("tests.rs");
    let shipped = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    let files: Vec<File> = files_with("rs")
        .into_iter()
        .filter(|file| shipped(&file.path) && !is_test(&file.path))
        .filter(|file| !FOR_A_PERSON.iter().any(|room| file.path.starts_with(room)))
        .collect();
    let wrong = places(&files, |line| line.contains(&start));
    assert_none(
        "have the room `git` run it, in its closed environment and within its limits",
        &wrong,
    );
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    // Written in parts, so that this file does not contain what it forbids.
    let places = ["work", "root", "Users"].map(|directory| format!("/{directory}/"));
    let wrong =
        mentions(&places, |before| !(before.is_alphanumeric() || "._-/~}$)".contains(before)));
    assert_none("use a path relative to the tree", &wrong);
}

#[test]
fn no_file_names_a_package_registrys_host() {
    let hosts = [
        ("index.crates", "io"),
        ("static.crates", "io"),
        ("registry.npmjs", "org"),
        ("registry.yarnpkg", "com"),
        ("pypi", "org"),
        ("files.pythonhosted", "org"),
        ("deb.debian", "org"),
        ("security.debian", "org"),
    ]
    .map(|(name, end)| format!("{name}.{end}"));
    let wrong = mentions(&hosts, |before| !(before.is_alphanumeric() || before == '-'));
    assert_none("name the package; which host serves it is the machine's own setting", &wrong);
}

/// Where one of `words` stands after a character that may come before it.
fn mentions(words: &[String], may_precede: impl Fn(char) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files() {
        for word in words {
            if EXCEPTIONS.contains(&(file.path.as_str(), word.as_str())) {
                continue;
            }
            found.extend(places(std::slice::from_ref(&file), |line| {
                line.match_indices(word.as_str()).any(|(at, _)| {
                    line.get(..at)
                        .and_then(|start| start.chars().next_back())
                        .is_none_or(&may_precede)
                })
            }));
        }
    }
    found
}

/// `path:line: text` of every line that `is_meant`.
fn places(files: &[File], is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    files
        .iter()
        .flat_map(|file| file.text.lines().enumerate().map(move |(at, line)| (file, at + 1, line)))
        .filter(|(_, _, line)| is_meant(line))
        .map(|(file, at, line)| format!("{}:{at}: {}", file.path, line.trim()))
        .collect()
}
