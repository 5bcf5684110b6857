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
    insta::assert_snapshot!(stories.join("\n"), @"");
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
