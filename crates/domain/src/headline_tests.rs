//! What is said of which checks.

use super::*;

const TESTS: CheckFacts = CheckFacts {
    ended: CheckEnded::Passed,
    purpose: Purpose::Test,
    tests: 12,
    skipped: 0,
    failing: 0,
    mended: 0,
    gone: 0,
};
const LINT: CheckFacts = CheckFacts { purpose: Purpose::Other, tests: 0, ..TESTS };
const MISSING: CheckFacts = CheckFacts { ended: CheckEnded::NotRun, tests: 0, ..TESTS };
const KNOWN: CheckFacts = CheckFacts { ended: CheckEnded::KnownFailure, failing: 2, ..TESTS };
const DEAD: CheckFacts = CheckFacts { ended: CheckEnded::KnownFailure, tests: 0, ..TESTS };

fn told(judged: Judged, checks: &[CheckFacts]) -> String {
    let headline = Headline::of(judged, checks);
    let warning = headline.warning().map(|it| format!("\n  ! {it}")).unwrap_or_default();
    format!("{headline}{warning}")
}

#[test]
fn each_outcome_has_its_one_sentence() {
    use Judged::{Fails, Passes, Unproven};
    let silent = CheckFacts { tests: 0, ..TESTS };
    let one = CheckFacts { tests: 1, ..TESTS };
    let mended = CheckFacts { ended: CheckEnded::Mended, mended: 3, ..TESTS };
    let mended_silently = CheckFacts { ended: CheckEnded::Mended, ..silent };
    let gone = CheckFacts { ended: CheckEnded::Gone, gone: 1, ..TESTS };
    let some_mended = CheckFacts { mended: 1, ..KNOWN };
    let worse = CheckFacts { ended: CheckEnded::Worse, ..TESTS };
    let skipped = CheckFacts { tests: 0, skipped: 4, ..TESTS };
    let brought = CheckFacts { ended: CheckEnded::Brought, ..TESTS };
    let stories = [
        told(Passes, &[TESTS, LINT]),
        told(Passes, &[one]),
        told(Passes, &[silent, LINT]),
        told(Passes, &[mended, MISSING]),
        told(Passes, &[mended_silently]),
        told(Passes, &[KNOWN]),
        told(Passes, &[KNOWN, KNOWN, TESTS]),
        told(Passes, &[some_mended]),
        told(Passes, &[DEAD, TESTS]),
        told(Passes, &[gone]),
        told(Unproven, &[]),
        told(Unproven, &[MISSING, MISSING]),
        told(Unproven, &[MISSING, DEAD]),
        told(Unproven, &[DEAD]),
        told(Unproven, &[brought]),
        told(Passes, &[LINT]),
        told(Passes, &[LINT, MISSING]),
        told(Passes, &[skipped]),
        told(Fails, &[worse, TESTS]),
    ];
    insta::assert_snapshot!(stories.join("\n"), @"
    passed: 12 tests ran, and all pass
    passed: 1 test ran, and passes
    passed: 2 checks ran, and said nothing of single tests
    passed: 12 tests ran, and all pass; 3 that failed before are mended; 1 check could not be run
    passed: 1 check ran, and said nothing of single tests; 1 that failed before is mended
    nothing got worse: 1 check fails as before (2 tests)
      ! nothing that failed before was mended: if that was the task, it is not done
    nothing got worse: 2 checks fail as before (4 tests)
      ! nothing that failed before was mended: if that was the task, it is not done
    nothing got worse: 1 check fails as before (2 tests); 1 that failed before is mended
    nothing got worse: 1 check fails as before
      ! nothing that failed before was mended: if that was the task, it is not done
    nothing got worse: 1 test that failed is gone
      ! what failed is gone, and was not mended: 1 test that failed before is not run any more
    nothing was proven, because no check is known for this repository
    nothing was proven, because 2 of 2 checks could not be run
    nothing was proven, because 1 of 2 checks could not be run, and 1 fails as before
      ! nothing that failed before was mended: if that was the task, it is not done
    nothing was proven, because all that ran fails as before, and nothing in it passes
      ! nothing that failed before was mended: if that was the task, it is not done
    nothing was proven, because the checks came with the change itself
    nothing was proven, because no test ran: only linters, formatters or builds did
    nothing was proven, because no test ran: only linters, formatters or builds did
    nothing was proven, because no test ran: all were skipped
    failed: 1 check is worse than before
    ");
}

#[test]
fn only_what_passed_is_called_passed() {
    use Judged::{Fails, Passes, Unproven};
    for judged in [Passes, Unproven, Fails] {
        for checks in [&[TESTS][..], &[KNOWN], &[LINT], &[DEAD, TESTS], &[MISSING], &[]] {
            let headline = Headline::of(judged, checks);
            let is_passed = headline.conclusion == Conclusion::Passed;
            assert_eq!(headline.to_string().starts_with("passed"), is_passed, "{headline}");
            assert!(!headline.to_string().contains("checks pass"), "{headline}");
        }
    }
}
