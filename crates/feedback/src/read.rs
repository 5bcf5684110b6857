//! Reads what a check printed: who speaks is told by what is said, and only then by the command.

use std::collections::BTreeSet;

use crate::{
    compiler, documents, fallback,
    finding::{Finding, Kind, Tool},
    go, javascript,
    output::Output,
    place::Workspace,
    python,
    report::Report,
    rust::{self, libtest::Suites},
    tap,
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

/// What a check found. A check that failed has at least one finding that says so.
pub fn read(run: &Run<'_>, workspace: &Workspace) -> Report {
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
    for text in &texts {
        let found = spoken(text, run.command, &documented, &mut suites, workspace);
        report.join(found);
    }
    report.explain_failures();
    if !run.exit.is_success() {
        failed(run, &texts, &mut report, workspace);
    }
    report
}

/// What the text says, in the languages that are known. A tool that has already said the same as a document is not heard twice.
fn spoken(
    text: &str,
    command: &str,
    documented: &BTreeSet<Tool>,
    suites: &mut Suites,
    workspace: &Workspace,
) -> Report {
    let heard = |tool: &Tool| documented.contains(tool);
    let mut report = Report::new();
    if rust::diagnostics::speaks(text) && !heard(&Tool::Rustc) && !heard(&Tool::Clippy) {
        report.join(rust::diagnostics::read(text, workspace));
    }
    if rust::nextest::speaks(text) && !heard(&Tool::Nextest) {
        report.join(rust::nextest::read(text, workspace));
    } else if rust::libtest::speaks(text) && !heard(&Tool::Libtest) {
        report.join(rust::libtest::read(text, suites, workspace));
    }
    if python::pytest::speaks(text) && !heard(&Tool::Pytest) {
        report.join(python::pytest::read(text, workspace));
    }
    if python::ruff::speaks(text) && !heard(&Tool::Ruff) {
        report.join(python::ruff::read(text, workspace));
    }
    if python::mypy::speaks(text) && !heard(&Tool::Mypy) {
        report.join(python::mypy::read(text, workspace));
    }
    if javascript::jest::speaks(text) && !heard(&Tool::Jest) {
        report.join(javascript::jest::read(text, workspace));
    }
    if javascript::vitest::speaks(text) && !heard(&Tool::Vitest) {
        report.join(javascript::vitest::read(text, workspace));
    }
    if tap::speaks(text) {
        report.join(tap::read(text, workspace));
    } else if javascript::node::speaks(text) && !heard(&Tool::NodeTest) {
        report.join(javascript::node::read(text, workspace));
    }
    if javascript::eslint::speaks(text) && !heard(&Tool::Eslint) {
        report.join(javascript::eslint::read(text, workspace));
    }
    if javascript::tsc::speaks(text) {
        report.join(javascript::tsc::read(text, workspace));
    }
    if go::test::speaks(text) && !heard(&Tool::GoTest) {
        report.join(go::test::read(text, workspace));
    }
    if go::build::speaks(text) {
        let tool = if command.contains("vet") { Tool::GoVet } else { Tool::GoBuild };
        report.join(go::build::read(text, &tool, workspace));
    }
    if compiler::speaks(text) {
        report.join(compiler::read(text, workspace));
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
        "eslint" => Tool::Eslint,
        "tsc" => Tool::Tsc,
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => Tool::C,
        _ => Label::new(name).filled().map_or(Tool::Unknown, Tool::Named),
    }
}
