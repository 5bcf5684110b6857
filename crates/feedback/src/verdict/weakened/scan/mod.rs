//! The tests in a file: their names, whether they are skipped, and how much they ask.

mod annotated;
mod code;
mod golang;
mod javascript;
mod measure;
mod python;

use self::code::Code;
use super::languages::Language;

/// A file of tests that somebody wrote has fewer.
const TESTS_LIMIT: usize = 5_000;

/// How a test is kept from counting; of two marks, the later in this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Runs,
    /// Runs only under a condition.
    SkippedSometimes,
    MayFail,
    Skipped,
    /// The only one that runs.
    Only,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Test,
    /// A class, a module or a `describe`: many tests, which have names of their own.
    Group,
}

#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) scope: Scope,
    pub(super) line: usize,
    pub(super) mark: Mark,
    pub(super) measure: Measure,
}

/// How much a test asks. All zero for a group, and for what is beyond the limits.
#[derive(Debug, Clone, Default)]
pub(super) struct Measure {
    pub(super) assertions: usize,
    /// Assertions that cannot fail, as their lines.
    pub(super) always_true: Vec<usize>,
    /// Assertions that ask only whether there is something.
    pub(super) loose: usize,
    /// Hashes of the lines, in order of their value: two tests with the same are the same test.
    pub(super) lines: Vec<u64>,
    /// Whether this was measured at all.
    pub(super) is_known: bool,
}

pub(super) fn tests(text: &str, language: Language) -> Vec<Test> {
    let mut code = Code::read(text, language);
    let mut tests = match language {
        Language::Rust | Language::Java => annotated::tests(&mut code, language),
        Language::Python => python::tests(&mut code),
        Language::JavaScript => javascript::tests(&mut code),
        Language::Go => golang::tests(&mut code),
    };
    tests.truncate(TESTS_LIMIT);
    tests
}
