//! What was there before the agent began is not its change.
//!
//! A setup or a hook may leave files in a checkout, or change some. What the sandbox was handed over with is known from outside; whatever
//! is still exactly so when the work is taken out is put back to what the commit has. What the agent changed there afterwards is its own.
//!
//! **Invariant:** this only ever takes something out of a change. Nothing is delivered by it that is not seen, and what is taken out is in
//! no commit, so that the checks, the reviewer and the pull request have the same.

use std::collections::BTreeMap;

use contracts::sandbox::{Content, HandedOver, Leftover};
use git::{ObjectName, Side, Touched};

/// What goes to the script inside: lines of an index, as they were handed over, of what the commit does not have. There may be many of
/// these; the others are left to the host.
pub(super) fn handed(handed: &HandedOver) -> Vec<u8> {
    let lines = handed.touched.iter().filter_map(|one| {
        let after = one.after.as_ref().filter(|_| one.before.is_none())?;
        Some(line(&after.mode, &after.object, one.path.as_bytes()))
    });
    lines.flatten().collect()
}

/// Lines of an index that undo what is still as it was handed over; none, where there is nothing to undo.
pub(super) fn undoing(handed: &HandedOver, touched: &[Touched], like: &ObjectName) -> Vec<u8> {
    let known: BTreeMap<&[u8], &Leftover> =
        handed.touched.iter().map(|one| (one.path.as_bytes(), one)).collect();
    let undone = touched.iter().filter_map(|one| {
        let leftover = known.get(one.path.as_slice())?;
        is_same(one.after.as_ref(), leftover.after.as_ref()).then_some(*leftover)
    });
    let nothing = "0".repeat(like.as_str().len());
    let lines = undone.map(|one| match &one.before {
        Some(before) => line(&before.mode, &before.object, one.path.as_bytes()),
        None => line("0", &nothing, one.path.as_bytes()),
    });
    lines.flatten().collect()
}

fn is_same(is: Option<&Side>, was: Option<&Content>) -> bool {
    match (is, was) {
        (Some(is), Some(was)) => {
            is.mode.to_string() == was.mode && is.object.as_str() == was.object
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// `MODE OBJECT<tab>PATH<nul>`, as `git update-index --index-info` reads it.
fn line(mode: &str, object: &str, path: &[u8]) -> Vec<u8> {
    let mut line = format!("{mode} {object}\t").into_bytes();
    line.extend(path);
    line.push(0);
    line
}

#[cfg(test)]
mod tests {
    use git::Mode;

    use super::*;

    fn content(letter: &str) -> Content {
        Content { mode: "100644".to_owned(), object: letter.repeat(40) }
    }

    fn side(letter: &str) -> Side {
        Side { mode: Mode::File, object: letter.repeat(40).parse().unwrap() }
    }

    fn leftover(path: &str, before: Option<Content>, after: Option<Content>) -> Leftover {
        Leftover { path: path.to_owned(), before, after }
    }

    fn touched(path: &str, before: Option<Side>, after: Option<Side>) -> Touched {
        Touched { path: path.as_bytes().to_vec(), before, after }
    }

    #[test]
    fn only_what_is_exactly_as_it_was_handed_over_is_undone() {
        let handed = HandedOver {
            touched: vec![
                leftover("lock", None, Some(content("a"))),
                leftover("edited", None, Some(content("a"))),
                leftover("patched", Some(content("b")), Some(content("c"))),
                leftover("gone", Some(content("d")), None),
                leftover("removed by the agent", None, Some(content("e"))),
            ],
            ..HandedOver::default()
        };
        let now = [
            touched("lock", None, Some(side("a"))),
            touched("edited", None, Some(side("f"))),
            touched("patched", Some(side("b")), Some(side("c"))),
            touched("gone", Some(side("d")), None),
            touched("its own", None, Some(side("a"))),
        ];
        let like = "1".repeat(40).parse().unwrap();
        let undone = String::from_utf8(undoing(&handed, &now, &like)).unwrap();
        let expected = format!(
            "0 {}\tlock\0100644 {}\tpatched\0100644 {}\tgone\0",
            "0".repeat(40),
            "b".repeat(40),
            "d".repeat(40)
        );
        assert_eq!(undone, expected);
        assert!(undoing(&HandedOver::default(), &now, &like).is_empty());
    }

    #[test]
    fn a_file_that_became_executable_is_the_agents() {
        let handed = HandedOver {
            touched: vec![leftover("x", None, Some(content("a")))],
            ..HandedOver::default()
        };
        let now = Side { mode: Mode::Executable, ..side("a") };
        let like = "1".repeat(40).parse().unwrap();
        assert!(undoing(&handed, &[touched("x", None, Some(now))], &like).is_empty());
    }
}
