//! Tests in JavaScript and TypeScript: calls of `it` and `test` with a name, in `describe`s.

use super::{Mark, Test, code::Code};

/// Nobody gives a test a longer name.
const NAME_BYTES: usize = 1_000;

pub(super) fn tests(code: &mut Code<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut at = 0;
    while let Some(word) = code.next_word(at, code.len()) {
        at = word.end;
        let before = word.start.checked_sub(1).and_then(|at| code.byte(at));
        if before == Some(b'.') {
            continue;
        }
        let (is_group, mut mark) = match code.masked(word.clone()) {
            "it" | "test" | "specify" => (false, Mark::Runs),
            "xit" | "xtest" | "xspecify" => (false, Mark::Skipped),
            "fit" => (false, Mark::Only),
            "describe" | "suite" | "context" => (true, Mark::Runs),
            "xdescribe" | "xcontext" => (true, Mark::Skipped),
            "fdescribe" | "fcontext" => (true, Mark::Only),
            _ => continue,
        };
        let mut end = word.end;
        let mut is_table = false;
        while code.byte(end) == Some(b'.') {
            let Some(modifier) = code.next_word(end + 1, end + 2) else { break };
            mark = mark.max(match code.masked(modifier.clone()) {
                "skip" | "todo" => Mark::Skipped,
                "skipIf" | "runIf" => Mark::SkippedSometimes,
                "failing" | "fails" | "fail" => Mark::MayFail,
                "only" => Mark::Only,
                _ => Mark::Runs,
            });
            is_table |=
                matches!(code.masked(modifier.clone()), "each" | "for" | "skipIf" | "runIf");
            end = modifier.end;
        }
        if is_table {
            end = after_table(code, end).unwrap_or(end);
        }
        let Some(open) = code.next_code(end).filter(|at| code.byte(*at) == Some(b'(')) else {
            continue;
        };
        let (Some(close), Some((name, name_end))) = (code.closing(open), name(code, open)) else {
            continue;
        };
        at = open + 1;
        if is_group {
            if mark != Mark::Runs {
                tests.push(code.group(&format!("describe {name}"), word.start, mark));
            }
        } else {
            // Without its name, so that a test with a better name is known again.
            let body = code.afford(name_end..close.max(name_end));
            tests.push(code.test(&name, word.start, mark, body));
        }
    }
    tests
}

/// Past the rows of `each`, which are in brackets or in a template.
fn after_table(code: &Code<'_>, at: usize) -> Option<usize> {
    match code.byte(at)? {
        b'(' => code.closing(at).map(|close| close + 1),
        b'`' => code.find(b"`", at + 1..code.len()).map(|close| close + 1),
        _ => None,
    }
}

/// The string with which a call begins, and where it ends.
fn name(code: &Code<'_>, open: usize) -> Option<(String, usize)> {
    let start = code.next_code(open + 1)?;
    let quote = code.byte(start).filter(|byte| b"\"'`".contains(byte))?;
    let end = code.find(&[quote], start + 1..start + NAME_BYTES)?;
    Some((code.original(start + 1..end).to_owned(), end + 1))
}
