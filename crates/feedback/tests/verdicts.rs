//! Verdicts over what real tools printed: from bytes to a table.

#![expect(clippy::expect_used, reason = "helpers of tests, outside of any test function")]

use std::{fs, path::Path};

use feedback::{
    Exit, Run, checks,
    location::Workspace,
    read,
    verdict::{self, Evidence, Outcome, Reason, Verdict, judge},
};

/// A sample, read as the output of a command that ended so.
fn run(sample: &Path, command: &str, code: i32) -> verdict::Run {
    let stdout = fs::read(sample).expect("it is there");
    let exit = Exit::Code(code);
    let report = read(&Run { command, exit, stdout: &stdout, stderr: b"" }, &Workspace::at("/src"));
    verdict::Run { ended: exit.into(), report }
}

fn verdict(base: verdict::Run, head: verdict::Run) -> Verdict {
    let command = "make test".parse().expect("it is one");
    let check = checks::Check::declared("tests".to_owned(), command, "agents/fix.yaml".to_owned());
    judge(vec![Evidence { check, base: vec![base], head: vec![head] }])
}

fn samples() -> Vec<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("it is a directory") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn no_real_output_is_a_regression_of_itself() {
    let samples = samples();
    assert!(samples.len() > 20, "there are only {}", samples.len());
    for sample in samples {
        for code in [0, 1] {
            let again = || run(&sample, "make test", code);
            let verdict = verdict(again(), again());
            let outcome = verdict.checks[0].outcome;
            let wanted = if code == 0 { Outcome::Passed } else { Outcome::KnownFailure };
            assert_eq!(outcome, wanted, "{}", sample.display());
        }
    }
}

#[test]
fn a_suite_that_passed_and_cannot_be_built_any_more_has_not_lost_its_tests() {
    let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name);
    let base = run(&sample("python/pytest-all-pass.txt"), "pytest", 0);
    let head = run(&sample("python/pytest-collection.txt"), "pytest", 2);
    let verdict = verdict(base, head);
    assert_eq!(verdict.checks[0].outcome, Outcome::Regressed(Reason::NewErrors));
    assert_eq!(verdict.checks[0].count(verdict::Change::Removed), 0);
    insta::assert_snapshot!(verdict.to_agent_text());
}
