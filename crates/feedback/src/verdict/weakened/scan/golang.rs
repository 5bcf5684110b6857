//! Tests in Go: `func TestX(t *testing.T)`.

use super::{Mark, Test, code::Code};

pub(super) fn tests(code: &mut Code<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    if is_left_out(code.original(0..code.len())) {
        tests.push(code.group("the file", 0, Mark::Skipped));
    }
    for index in 0..code.lines() {
        let line = code.line_range(index);
        let Some(rest) = code.masked(line.clone()).strip_prefix("func ") else { continue };
        let is_test = ["Test", "Fuzz", "Example"].iter().any(|kind| rest.starts_with(kind));
        let Some(name) = code.next_word(line.start + 5, line.end).filter(|_| is_test) else {
            continue;
        };
        let text = code.original(name.clone()).to_owned();
        let parameters = code.find(b"(", name.end..line.end).and_then(|open| code.closing(open));
        let Some(open) = parameters.and_then(|end| code.find(b"{", end..end + 500)) else {
            continue;
        };
        let body = open..code.closing(open).unwrap_or(open);
        let body = code.afford(body);
        let mark = body.clone().map_or(Mark::Runs, |body| skips(code.masked(body)));
        tests.push(code.test(&text, name.start, mark, body));
    }
    tests
}

fn skips(body: &str) -> Mark {
    let calls = [".Skip(", ".Skipf(", ".SkipNow("];
    let skips_first = body
        .lines()
        .map(|line| line.trim_start_matches(['{', ' ', '\t']))
        .find(|line| !line.trim().is_empty());
    let is_call =
        |line: &str| calls.iter().any(|call| line.contains(call)) && !line.starts_with("if ");
    if skips_first.is_some_and(is_call) {
        Mark::Skipped
    } else if calls.iter().any(|call| body.contains(call)) {
        Mark::SkippedSometimes
    } else {
        Mark::Runs
    }
}

/// A build constraint that nobody fulfils.
fn is_left_out(text: &str) -> bool {
    let head = text.lines().take_while(|line| !line.starts_with("package "));
    head.map(str::trim)
        .any(|line| matches!(line, "//go:build ignore" | "// +build ignore" | "//go:build never"))
}
