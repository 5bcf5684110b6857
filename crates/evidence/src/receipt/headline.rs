//! What all checks say together, as it is signed: a word and figures, no text.

use domain::headline::{Because, CheckEnded, CheckFacts, Conclusion, Headline, Judged, Purpose};
use serde::{Deserialize, Serialize};

use super::{Check, LIST_LIMIT, NUMBER_LIMIT, Receipt, Verdict};

/// [`Headline`], as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stated {
    conclusion: Word,
    /// Nothing, unless nothing was proven.
    because: Option<Why>,
    checks: u64,
    not_run: u64,
    worse: u64,
    tests: u64,
    failing_checks: u64,
    failing_tests: u64,
    mended: u64,
    gone: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Passed,
    NothingWorse,
    Unproven,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Why {
    NoCheck,
    NotRun,
    NoTest,
    AllSkipped,
    NothingPasses,
    Brought,
}

impl From<Headline> for Stated {
    fn from(headline: Headline) -> Self {
        let (conclusion, because) = match headline.conclusion {
            Conclusion::Passed => (Word::Passed, None),
            Conclusion::NothingWorse => (Word::NothingWorse, None),
            Conclusion::Failed => (Word::Failed, None),
            Conclusion::Unproven(because) => (
                Word::Unproven,
                Some(match because {
                    Because::NoCheck => Why::NoCheck,
                    Because::NotRun => Why::NotRun,
                    Because::NoTest => Why::NoTest,
                    Because::AllSkipped => Why::AllSkipped,
                    Because::NothingPasses => Why::NothingPasses,
                    Because::Brought => Why::Brought,
                }),
            ),
        };
        // A sum may be more than what it is the sum of.
        let figure = |count: u64| count.min(NUMBER_LIMIT);
        Self {
            conclusion,
            because,
            checks: figure(headline.checks),
            not_run: figure(headline.not_run),
            worse: figure(headline.worse),
            tests: figure(headline.tests),
            failing_checks: figure(headline.failing_checks),
            failing_tests: figure(headline.failing_tests),
            mended: figure(headline.mended),
            gone: figure(headline.gone),
        }
    }
}

impl Stated {
    fn headline(self) -> Headline {
        let because = match self.because {
            Some(Why::NoCheck) | None => Because::NoCheck,
            Some(Why::NotRun) => Because::NotRun,
            Some(Why::NoTest) => Because::NoTest,
            Some(Why::AllSkipped) => Because::AllSkipped,
            Some(Why::NothingPasses) => Because::NothingPasses,
            Some(Why::Brought) => Because::Brought,
        };
        Headline {
            conclusion: match self.conclusion {
                Word::Passed => Conclusion::Passed,
                Word::NothingWorse => Conclusion::NothingWorse,
                Word::Unproven => Conclusion::Unproven(because),
                Word::Failed => Conclusion::Failed,
            },
            checks: self.checks,
            not_run: self.not_run,
            worse: self.worse,
            tests: self.tests,
            failing_checks: self.failing_checks,
            failing_tests: self.failing_tests,
            mended: self.mended,
            gone: self.gone,
        }
    }
}

impl Receipt {
    /// As it is stated. Of receipts from before that, as their checks tell it.
    pub fn headline(&self) -> Headline {
        self.headline.map_or_else(|| of_checks(&self.checks), Stated::headline)
    }

    /// Whether what is stated of all checks is what is stated of each.
    pub fn headline_fits(&self) -> bool {
        let (stated, told) = (self.headline(), Stated::from(of_checks(&self.checks)).headline());
        if self.checks.len() >= LIST_LIMIT {
            return true;
        }
        let figures = |it: &Headline| (it.checks, it.worse, it.tests, it.failing_checks);
        let is_failed = |it: &Headline| it.conclusion == Conclusion::Failed;
        let is_unproven = |it: &Headline| matches!(it.conclusion, Conclusion::Unproven(_));
        // What is unproven by its checks alone cannot have been proven. The other way round it can: which of them are tests, a receipt does not say.
        figures(&stated) == figures(&told)
            && is_failed(&stated) == is_failed(&told)
            && (is_unproven(&stated) || !is_unproven(&told))
    }
}

fn of_checks(checks: &[Check]) -> Headline {
    let facts: Vec<CheckFacts> = checks.iter().map(facts).collect();
    let is_worse = |it: &CheckFacts| it.ended == CheckEnded::Worse;
    let says_something = |it: &CheckFacts| match it.ended {
        CheckEnded::Passed | CheckEnded::Mended | CheckEnded::Gone | CheckEnded::Flaky => true,
        CheckEnded::KnownFailure => it.tests > it.failing,
        CheckEnded::Worse | CheckEnded::NotRun | CheckEnded::Brought => false,
    };
    let judged = if facts.iter().any(is_worse) {
        Judged::Fails
    } else if facts.iter().any(says_something) {
        Judged::Passes
    } else {
        Judged::Unproven
    };
    Headline::of(judged, &facts)
}

fn facts(check: &Check) -> CheckFacts {
    let failing = if check.verdict == Verdict::KnownFailure { check.head.failed } else { 0 };
    CheckFacts {
        ended: match check.verdict {
            Verdict::Passed => CheckEnded::Passed,
            Verdict::Fixed => CheckEnded::Mended,
            Verdict::Gone => CheckEnded::Gone,
            Verdict::Regression | Verdict::Failed => CheckEnded::Worse,
            Verdict::KnownFailure => CheckEnded::KnownFailure,
            Verdict::Flaky => CheckEnded::Flaky,
            Verdict::NotRun => CheckEnded::NotRun,
        },
        purpose: Purpose::Test,
        tests: check.head.passed.saturating_add(check.head.failed),
        skipped: check.head.skipped,
        failing,
        mended: 0,
        gone: 0,
    }
}
