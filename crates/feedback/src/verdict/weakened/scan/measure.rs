//! How much a test asks: its assertions, and those that cannot fail or hardly can.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Range,
};

use super::{super::languages::Language, Mark, Measure, Scope, Test, code::Code};

const LINES_LIMIT: usize = 500;
/// What an assertion is compared with itself by; longer ones are no mistake and no trick.
const ARGUMENT_BYTES: usize = 200;

impl Code<'_> {
    pub(super) fn test(
        &self,
        name: &str,
        at: usize,
        mark: Mark,
        body: Option<Range<usize>>,
    ) -> Test {
        let measure = body.map_or_else(Measure::default, |body| measured(self, body));
        Test { name: name.to_owned(), scope: Scope::Test, line: self.line(at), mark, measure }
    }

    pub(super) fn group(&self, name: &str, at: usize, mark: Mark) -> Test {
        let measure = Measure::default();
        Test { name: name.to_owned(), scope: Scope::Group, line: self.line(at), mark, measure }
    }
}

fn measured(code: &Code<'_>, body: Range<usize>) -> Measure {
    let mut measure = Measure {
        is_known: true,
        lines: hashes(code.original(body.clone())),
        ..Measure::default()
    };
    let mut at = body.start;
    while let Some(word) = code.next_word(at, body.end) {
        at = word.end;
        let name = code.masked(word.clone());
        if is_loose(name, code.language()) {
            measure.loose += 1;
        }
        if !is_assertion(code, &word, name) {
            continue;
        }
        measure.assertions += 1;
        if cannot_fail(code, &word, name) {
            measure.always_true.push(code.line(word.start));
        }
    }
    measure
}

fn is_assertion(code: &Code<'_>, word: &Range<usize>, name: &str) -> bool {
    let next = code.byte(word.end);
    let after_dot = word.start.checked_sub(1).and_then(|at| code.byte(at)) == Some(b'.');
    let calls = next == Some(b'(') || (next == Some(b'!') && code.byte(word.end + 1) == Some(b'('));
    match code.language() {
        Language::Rust => {
            (calls || next == Some(b'!'))
                && (name.starts_with("assert")
                    || name.starts_with("prop_assert")
                    || name == "expect_that"
                    || name == "verify_that")
        }
        Language::Python => {
            (name == "assert" && !after_dot)
                || (calls && (name.starts_with("assert") || matches!(name, "raises" | "warns")))
        }
        Language::JavaScript => {
            // `assert.equal(` is one, counted at its first word; `expect(` begins one.
            let is_object = next == Some(b'.') && name == "assert";
            !after_dot && (is_object || (calls && (name.starts_with("assert") || name == "expect")))
        }
        Language::Go => {
            let is_method = calls
                && after_dot
                && matches!(name, "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow");
            is_method || (!after_dot && next == Some(b'.') && matches!(name, "assert" | "require"))
        }
        Language::Java => {
            calls
                && (name.starts_with("assert")
                    || matches!(name, "verify" | "fail" | "expectThrows" | "shouldBe"))
        }
    }
}

/// Matchers that are content with almost everything.
fn is_loose(name: &str, language: Language) -> bool {
    language == Language::JavaScript
        && matches!(name, "toBeTruthy" | "toBeDefined" | "anything" | "toBeFalsy")
}

/// `assert!(true)`, `assert 1`, `assert_eq!(2, 2)`, `expect(true).toBe(true)`.
fn cannot_fail(code: &Code<'_>, word: &Range<usize>, name: &str) -> bool {
    if code.language() == Language::Python && name == "assert" {
        let end = code.find(b"\n", word.end..word.end + ARGUMENT_BYTES).unwrap_or(word.end);
        let said = code.original(word.end..end).trim();
        let condition = said.split([',', '#']).next().unwrap_or_default().trim();
        return matches!(condition, "True" | "1" | "(True)" | "not False");
    }
    let Some(open) = code.find(b"(", word.end..word.end + 24) else { return false };
    let Some(close) = code.closing(open).filter(|close| close - open <= ARGUMENT_BYTES) else {
        return false;
    };
    let arguments = arguments(code, open + 1..close);
    let equal =
        |pair: &[&str]| matches!(pair, [a, b, ..] if a == b && !a.is_empty() && is_literal(a));
    match name {
        "expect" => {
            let rest = code.original(close + 1..(close + ARGUMENT_BYTES).min(code.len()));
            let is_same = |matcher: &str| {
                let given =
                    rest.trim_start().strip_prefix(matcher).and_then(|rest| rest.split_once(')'));
                given.is_some_and(|(given, _)| {
                    equal(&[arguments.first().copied().unwrap_or_default(), given.trim()])
                })
            };
            is_same(".toBe(")
                || is_same(".toEqual(")
                || (arguments == ["true"] && rest.trim_start().starts_with(".toBeTruthy("))
        }
        "assert" | "assertTrue" | "prop_assert" => {
            let first = arguments.first().copied().unwrap_or_default();
            matches!(first, "true" | "True" | "1")
        }
        _ => equal(&arguments),
    }
}

/// A number, a string or a truth value: what never changes.
fn is_literal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "\"'`-".contains(c))
        && !text.contains(['(', '{', '+'])
        || matches!(text, "true" | "false" | "True" | "False" | "null" | "None" | "nil")
}

/// What stands between the commas of a call, outside of inner brackets.
fn arguments<'a>(code: &Code<'a>, range: Range<usize>) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (range.start, range.start);
    while let Some(found) = code.find(b",([{", at..range.end) {
        if code.byte(found) == Some(b',') {
            parts.push(code.original(start..found).trim());
            start = found + 1;
            at = start;
        } else {
            at = code.closing(found).unwrap_or(found) + 1;
        }
    }
    let last = code.original(start..range.end).trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn hashes(body: &str) -> Vec<u64> {
    let lines = body.lines().map(str::trim).filter(|line| line.len() > 1);
    let mut hashes: Vec<u64> = lines
        .take(LINES_LIMIT)
        .map(|line| {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    hashes.sort_unstable();
    hashes
}
