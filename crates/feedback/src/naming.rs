//! What a report does not tell: tests that ran without being named, and tests that were never reached.
//!
//! A name that is missing from a report means that the test is gone only where the report names all tests of a run that went to its end.
//! Everywhere else it means nothing.

use crate::tally::Tally;

/// Which tests of a run have a name in its report, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Names {
    /// Each one.
    #[default]
    All,
    /// Each one that failed. The others are counted, if that.
    Failures,
    /// Some, and nobody says which are missing.
    Some,
}

/// How far a run got, as its runner tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Reach {
    /// It does not tell.
    #[default]
    Unsaid,
    /// All tests had their turn, also after a failure.
    Whole,
    /// It stopped before all tests had their turn.
    Cut,
}

/// Who is named, where a runner said that it had so many tests.
pub(crate) fn names(named: Tally, said: Tally) -> Names {
    if named.failed < said.failed {
        Names::Some
    } else if named.passed < said.passed || named.skipped < said.skipped {
        Names::Failures
    } else {
        Names::All
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_all_tests_only_if_it_names_as_many_as_were_counted() {
        let tally = |passed, failed, skipped| Tally { passed, failed, skipped };
        for (named, said, expected) in [
            (tally(2, 1, 0), tally(0, 0, 0), Names::All),
            (tally(2, 1, 1), tally(2, 1, 1), Names::All),
            (tally(0, 1, 0), tally(4, 1, 0), Names::Failures),
            (tally(4, 0, 0), tally(4, 0, 1), Names::Failures),
            (tally(4, 0, 0), tally(4, 1, 0), Names::Some),
        ] {
            assert_eq!(names(named, said), expected, "{named:?} of {said:?}");
        }
    }
}
