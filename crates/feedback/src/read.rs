//! Reads what a check printed: who speaks is told by what is said, and only then by the command.

use std::collections::BTreeSet;

use crate::{
    documents, fallback,
    finding::{Finding, Kind, Tool},
    format::{Format, parse},
    location::Workspace,
    output::Output,
    report::Report,
    rust::{
        libtest::{self, Suites},
        panic,
    },
    text::Label,
};

/// A check that was run, and all that it printed.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// As it was given to a shell.
    pub command: &'a str,
    pub exit: Exit,
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It was stopped because its time was up.
    TimedOut,
}

impl Exit {
    pub fn is_success(self) -> bool {
        match self {
            Self::Code(code) => code == 0,
            Self::Signal(_) | Self::TimedOut => false,
        }
    }
}

/// Where the tests of a run are told. Each check has one: what two tell is told twice, under two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In what was printed.
    Printed,
    /// In reports that were written beside it.
    Written,
}

/// What a check found. A check that failed has at least one finding that says so.
pub fn read(run: &Run<'_>, workspace: &Workspace) -> Report {
    let (report, texts) = printed(run, workspace);
    finished(run, report, &texts, workspace)
}

/// What a check found, where its tests are told in reports that it wrote. What compilers and linters printed is told as well.
pub fn read_written(run: &Run<'_>, written: &[u8], workspace: &Workspace) -> Report {
    let (mut report, texts) = printed(run, workspace);
    report.forget_tests();
    report.join(parse(Format::Documents, written, workspace));
    finished(run, report, &texts, workspace)
}

/// The better source of a run's tests: reports that name at least as many as were counted by what was printed. A report of one runner of
/// several, or of the last of several runs, is none.
pub fn source(run: &Run<'_>, written: &[u8], workspace: &Workspace) -> Source {
    let document = parse(Format::Documents, written, workspace);
    let (there, said) = (document.counts().tests, printed(run, workspace).0.counts().tests);
    let is_whole = there.all() >= said.all() && there.failed >= said.failed;
    if there.all() > 0 && is_whole && document.left_off().is_nothing() {
        Source::Written
    } else {
        Source::Printed
    }
}

/// What was printed, and what of it is text.
fn printed(run: &Run<'_>, workspace: &Workspace) -> (Report, Vec<String>) {
    let streams = [Output::new(run.stdout), Output::new(run.stderr)];
    let mut report = Report::new();
    // Cargo says on stderr which program's tests follow on stdout.
    let mut suites = Suites::default();
    for stream in streams.iter().rev() {
        suites.add(&stream.text);
        report.overlooked(stream.overlooked);
    }
    let mut texts = Vec::new();
    for stream in &streams {
        let (found, rest) = documents::read(&stream.text, &mut suites, workspace);
        report.join(found);
        texts.push(rest);
    }
    let documented: BTreeSet<Tool> = report.tools().cloned().collect();
    // A document of whichever runner stands for its text, which would tell each test again under another name.
    let has_junit = documented.contains(&Tool::JUnit) && !report.tests().is_empty();
    for text in &texts {
        for format in Format::of(text) {
            let is_told = has_junit && format.tools().iter().any(Tool::runs_tests);
            if !is_told && format.tools().iter().all(|tool| !documented.contains(tool)) {
                report.join(format.read(text, run.command, &mut suites, workspace));
            }
        }
    }
    for text in &texts {
        report.reached(libtest::reach(text));
    }
    (report, texts)
}

fn finished(run: &Run<'_>, mut report: Report, texts: &[String], workspace: &Workspace) -> Report {
    for text in texts {
        panic::overheard(text, &mut report, workspace);
    }
    report.explain_failures();
    if !run.exit.is_success() {
        failed(run, texts, &mut report, workspace);
    }
    report
}

/// A check that failed must say why. Where nobody was understood, what looks like a reason is taken, or the last lines.
fn failed(run: &Run<'_>, texts: &[String], report: &mut Report, workspace: &Workspace) {
    let tool = program(run.command);
    let says_why = |report: &Report| {
        report.findings().iter().any(|finding| matches!(finding.kind, Kind::Error | Kind::Failure))
    };
    if !says_why(report) {
        for text in texts {
            report.join(fallback::read(text, &tool, workspace));
        }
    }
    if !says_why(report) {
        // Errors are mostly on stderr; programs that print all to stdout have nothing there.
        let last = texts.iter().rev().find_map(|text| fallback::last_lines(text, &tool));
        let silent =
            || Finding::new(Kind::Error, tool.clone(), "the check failed and printed nothing");
        report.find(last.unwrap_or_else(silent));
    }
    let ending = match run.exit {
        Exit::Code(_) => return,
        Exit::Signal(signal) => format!("the check was ended by signal {signal}"),
        Exit::TimedOut => "the check was stopped because its time was up".to_owned(),
    };
    report.find(Finding::new(Kind::Error, tool, &ending));
}

/// Who was run, as far as the command tells: its first word that is no setting.
fn program(command: &str) -> Tool {
    let word = command.split_whitespace().find(|word| !word.contains('='));
    let name = word.and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    match name {
        "cargo" => Tool::Cargo,
        "rustc" => Tool::Rustc,
        "pytest" => Tool::Pytest,
        "ruff" => Tool::Ruff,
        "mypy" => Tool::Mypy,
        "jest" => Tool::Jest,
        "vitest" => Tool::Vitest,
        "mocha" => Tool::Mocha,
        "eslint" => Tool::Eslint,
        "tsc" => Tool::Tsc,
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => Tool::C,
        _ => Label::new(name).filled().map_or(Tool::Unknown, Tool::Named),
    }
}
