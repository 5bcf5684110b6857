//! The languages in which tools speak, and who reads each.

use crate::{
    compiler, documents, fallback,
    finding::Tool,
    go, javascript,
    location::Workspace,
    output::Output,
    python,
    report::Report,
    rust::{self, libtest::Suites},
    tap,
};

/// A language in which tools print what they found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// JSON in lines or as a whole, and XML: of whichever tool.
    Documents,
    /// Text of cargo, rustc and clippy.
    Rustc,
    /// Text of `cargo test`.
    Libtest,
    /// Text of `cargo nextest`.
    Nextest,
    Pytest,
    /// Python's own test runner.
    Unittest,
    Ruff,
    Mypy,
    Jest,
    Vitest,
    Mocha,
    /// Node's test runner, for people.
    NodeTest,
    Tap,
    /// eslint's `stylish`.
    Eslint,
    Tsc,
    GoTest,
    /// `go build` and `go vet`.
    GoBuild,
    /// gcc, clang and their like.
    C,
    /// What looks like a place in the workspace, whoever says it.
    Anything,
}

/// Those that are text, in the order in which they are tried. `Anything` is for when nobody is understood.
const TEXTS: &[Format] = &[
    Format::Rustc,
    Format::Nextest,
    Format::Libtest,
    Format::Pytest,
    Format::Unittest,
    Format::Ruff,
    Format::Mypy,
    Format::Jest,
    Format::Vitest,
    Format::Mocha,
    Format::Tap,
    Format::NodeTest,
    Format::Eslint,
    Format::Tsc,
    Format::GoTest,
    Format::GoBuild,
    Format::C,
];

/// What these bytes say, if they are in this language.
pub fn parse(format: Format, bytes: &[u8], workspace: &Workspace) -> Report {
    let output = Output::new(bytes);
    let mut suites = Suites::default();
    suites.add(&output.text);
    let mut report = format.read(&output.text, "", &mut suites, workspace);
    report.overlooked(output.overlooked);
    report
}

impl Format {
    /// The languages that a text is in, as far as they show.
    pub(crate) fn of(text: &str) -> impl Iterator<Item = Self> {
        TEXTS.iter().copied().filter(move |format| format.is_in(text))
    }

    fn is_in(self, text: &str) -> bool {
        match self {
            Self::Documents | Self::Anything => true,
            Self::Rustc => rust::diagnostics::speaks(text),
            Self::Nextest => rust::nextest::speaks(text),
            // nextest shows what libtest said about a test that failed.
            Self::Libtest => rust::libtest::speaks(text) && !rust::nextest::speaks(text),
            Self::Pytest => python::pytest::speaks(text),
            Self::Unittest => python::unittest::speaks(text),
            Self::Ruff => python::ruff::speaks(text),
            Self::Mypy => python::mypy::speaks(text),
            Self::Jest => javascript::jest::speaks(text),
            Self::Vitest => javascript::vitest::speaks(text),
            Self::Mocha => javascript::mocha::speaks(text),
            Self::Tap => tap::speaks(text),
            Self::NodeTest => javascript::node::speaks(text),
            Self::Eslint => javascript::eslint::speaks(text),
            Self::Tsc => javascript::tsc::speaks(text),
            Self::GoTest => go::test::speaks(text),
            Self::GoBuild => go::build::speaks(text),
            Self::C => compiler::speaks(text),
        }
    }

    /// Who speaks it. A tool that has said all in a document is not heard again in its text.
    pub(crate) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Documents | Self::Anything | Self::Tap | Self::GoBuild | Self::C => &[],
            Self::Rustc => &[Tool::Rustc, Tool::Clippy],
            Self::Libtest => &[Tool::Libtest],
            Self::Nextest => &[Tool::Nextest],
            Self::Pytest => &[Tool::Pytest],
            Self::Unittest => &[Tool::Unittest],
            Self::Ruff => &[Tool::Ruff],
            Self::Mypy => &[Tool::Mypy],
            Self::Jest => &[Tool::Jest],
            Self::Vitest => &[Tool::Vitest],
            Self::Mocha => &[Tool::Mocha],
            Self::NodeTest => &[Tool::NodeTest],
            Self::Eslint => &[Tool::Eslint],
            Self::Tsc => &[Tool::Tsc],
            Self::GoTest => &[Tool::GoTest],
        }
    }

    /// What a text says in this language.
    pub(crate) fn read(
        self,
        text: &str,
        command: &str,
        suites: &mut Suites,
        workspace: &Workspace,
    ) -> Report {
        match self {
            Self::Documents => documents::read(text, suites, workspace).0,
            Self::Anything => fallback::read(text, &Tool::Unknown, workspace),
            Self::Rustc => rust::diagnostics::read(text, workspace),
            Self::Libtest => rust::libtest::read(text, suites, workspace),
            Self::Nextest => rust::nextest::read(text, workspace),
            Self::Pytest => python::pytest::read(text, workspace),
            Self::Unittest => python::unittest::read(text, workspace),
            Self::Ruff => python::ruff::read(text, workspace),
            Self::Mypy => python::mypy::read(text, workspace),
            Self::Jest => javascript::jest::read(text, workspace),
            Self::Vitest => javascript::vitest::read(text, workspace),
            Self::Mocha => javascript::mocha::read(text, workspace),
            Self::Tap => tap::read(text, workspace),
            Self::NodeTest => javascript::node::read(text, workspace),
            Self::Eslint => javascript::eslint::read(text, workspace),
            Self::Tsc => javascript::tsc::read(text, workspace),
            Self::GoTest => go::test::read(text, workspace),
            Self::GoBuild => {
                // Both speak alike: only the command tells who it is.
                let tool = if command.contains("vet") { Tool::GoVet } else { Tool::GoBuild };
                go::build::read(text, &tool, workspace)
            }
            Self::C => compiler::read(text, workspace),
        }
    }
}
