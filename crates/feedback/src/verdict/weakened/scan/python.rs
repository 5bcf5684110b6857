//! Tests in Python: functions and methods named `test…`, with their decorators.

use std::ops::Range;

use super::{Mark, Test, code::Code};

pub(super) fn tests(code: &mut Code<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut mark = Mark::Runs;
    // A decorator may go on over several lines.
    let mut skip_until = 0;
    for index in 0..code.lines() {
        let line = code.line_range(index);
        let text = code.masked(line.clone());
        let words = text.trim_start();
        let indent = text.len() - words.len();
        let words = words.trim_end().to_owned();
        if words.is_empty() || line.start < skip_until {
            continue;
        }
        if let Some(decorator) = words.strip_prefix('@') {
            mark = mark.max(mark_of(decorator));
            let open = code.find(b"(", line.clone());
            skip_until = open.and_then(|open| code.closing(open)).unwrap_or(0);
            continue;
        }
        let found = std::mem::replace(&mut mark, Mark::Runs);
        let function = words.strip_prefix("async ").unwrap_or(&words).strip_prefix("def ");
        if let Some(name) = function.map(first_word).filter(|name| name.starts_with("test")) {
            let body = body(code, index, indent);
            let inside = body.clone().map_or(Mark::Runs, |body| skips_inside(code.masked(body)));
            tests.push(code.test(name, line.start, found.max(inside), body));
        } else if let Some(name) = words.strip_prefix("class ").map(first_word) {
            if found != Mark::Runs {
                tests.push(code.group(&format!("class {name}"), line.start, found));
            }
        } else if indent == 0 {
            let for_all = words.strip_prefix("pytestmark").map_or(Mark::Runs, mark_of);
            let leaves = words.starts_with("pytest.skip(");
            if for_all != Mark::Runs || leaves {
                tests.push(code.group(
                    "the file",
                    line.start,
                    if leaves { Mark::Skipped } else { for_all },
                ));
            }
        }
    }
    tests
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

fn mark_of(decorator: &str) -> Mark {
    let has = |name: &str| {
        decorator.match_indices(name).any(|(at, _)| {
            let after = decorator.get(at + name.len()..).unwrap_or_default();
            !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    };
    if has("skip") {
        Mark::Skipped
    } else if has("skipif") || has("skipIf") || has("skipUnless") {
        Mark::SkippedSometimes
    } else if has("xfail") || has("expectedFailure") {
        Mark::MayFail
    } else {
        Mark::Runs
    }
}

fn skips_inside(body: &str) -> Mark {
    let calls = ["pytest.skip(", "self.skipTest(", "pytest.xfail("];
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    // The first line is the rest of the `def`; a documentation string is blank quotes by now.
    let first = lines.by_ref().skip(1).find(|line| !line.starts_with(['"', '\'']));
    let skips = |line: &str| calls.iter().any(|call| line.starts_with(call));
    if first.is_some_and(skips) {
        Mark::Skipped
    } else if lines.any(skips) {
        Mark::SkippedSometimes
    } else {
        Mark::Runs
    }
}

/// From the end of the signature over all lines that are indented more than the `def`.
fn body(code: &mut Code<'_>, index: usize, indent: usize) -> Option<Range<usize>> {
    let first = code.line_range(index);
    // The signature may have lines of its own.
    let signature =
        code.find(b"(", first.clone()).and_then(|open| code.closing(open)).unwrap_or(first.start);
    let mut end = first.end;
    for next in index + 1..code.lines() {
        let line = code.afford(code.line_range(next))?;
        let text = code.masked(line.clone());
        let words = text.trim_start();
        let is_inside = text.len() - words.len() > indent || line.start <= signature;
        if !words.trim().is_empty() && !is_inside {
            break;
        }
        end = line.end;
    }
    Some(signature..end)
}
