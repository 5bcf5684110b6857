//! What a repository and its tools say about checks: files to find them in, changes to tests, and reports of coverage. Whatever is there,
//! what is found is bounded, harmless and about the repository; and what does not change is not weakened.
#![no_main]

use std::collections::BTreeMap;

use feedback::{
    checks::{CHECKS_LIMIT, Files, detect},
    location::Workspace,
    verdict::{
        coverage::{self, ChangedLines, of_changes},
        weakened::{FOUND_LIMIT, FileChange, Version, in_files},
    },
};
use libfuzzer_sys::fuzz_target;

const MANIFESTS: [&str; 12] = [
    "Makefile",
    "justfile",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "go.mod",
    ".github/workflows/ci.yml",
    "web/package.json",
    "web/Makefile",
    "requirements.txt",
];
const CHANGED: [&str; 9] = [
    "a.rs",
    "tests/test_a.py",
    "a.test.ts",
    "a_test.go",
    "ATest.java",
    "Makefile",
    "package.json",
    "codecov.yml",
    "a.snap",
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let choice = usize::from(*choice);
    let (first, second) = halves(bytes);
    finds(choice, first, second);
    weakens(CHANGED[choice % CHANGED.len()], first, second);
    covers(first, second);
});

/// What stands before and after the first zero byte.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (&bytes[..at], bytes.get(at + 1..).unwrap_or_default())
}

fn finds(choice: usize, first: &[u8], second: &[u8]) {
    let path = |number: usize| MANIFESTS[number % MANIFESTS.len()].to_owned();
    let files = Files(BTreeMap::from([
        (path(choice), first.to_vec()),
        (path(choice / 12), second.to_vec()),
    ]));
    let found = detect(&files);
    assert!(found.len() <= CHECKS_LIMIT);
    assert_eq!(found, detect(&files), "the same files have the same checks");
    for check in found {
        let (command, directory) = (check.command.as_str(), check.directory.as_str());
        assert!(!command.is_empty() && !command.contains(char::is_control));
        assert!(!directory.starts_with('/') && directory.split('/').all(|word| word != ".."));
        assert!(!check.name.contains(char::is_control));
    }
}

fn weakens(path: &str, old: &[u8], new: &[u8]) {
    let version = |bytes| Some(Version { path, bytes });
    let same = in_files(&[FileChange { old: version(old), new: version(old) }]);
    let is_text = std::str::from_utf8(old).is_ok();
    assert!(same.weakened.is_empty() || !is_text, "{:?}", same.weakened);
    let found = in_files(&[
        FileChange { old: version(old), new: version(new) },
        FileChange { old: version(new), new: None },
    ]);
    assert!(found.weakened.len() <= FOUND_LIMIT);
    for weakened in found.weakened {
        let is_harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
        assert!(weakened.to_string().chars().all(is_harmless));
    }
}

fn covers(report: &[u8], diff: &[u8]) {
    let workspace = Workspace::at("/src").with_go_module("example.com/m");
    let Ok(coverage) = coverage::read(report, &workspace) else { return };
    assert!(coverage.files().all(|file| !file.as_str().starts_with('/')));
    let changed = ChangedLines::of_diff(&String::from_utf8_lossy(diff));
    let lines: usize = changed.0.values().map(std::collections::BTreeSet::len).sum();
    if let Some(summary) = of_changes(&coverage, &changed) {
        assert!(summary.covered + summary.missed <= lines);
        let _ = summary.to_markdown();
    }
}
