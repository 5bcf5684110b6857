//! What all checks of a change say together, in one line that is the same wherever it is told: event, `lamp checks`, `lamp verify`, pull request,
//! receipt and exit code.
//!
//! ```text
//!  a check is worse ───────────────────────────────────────────▶ failed
//!  nothing that could have failed was run, or no test was ─────▶ nothing was proven, because …
//!  something fails as before, or what failed is gone ──────────▶ nothing got worse
//!  otherwise ──────────────────────────────────────────────────▶ passed
//! ```
//!
//! **Invariants:** only [`Conclusion::Passed`] says "passed". What failed and is not there any more is never called mended. Nothing here is a word
//! of the repository or of an agent, so a headline can be signed as it is.

use std::fmt;

/// The four things that can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    /// Tests ran, and all is good.
    Passed,
    /// Something fails as it did before, or is gone; nothing fails that did not.
    NothingWorse,
    Unproven(Because),
    Failed,
}

/// Why nothing was proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Because {
    /// There is no check.
    NoCheck,
    /// Checks could not be run.
    NotRun,
    /// Only builds, formatters and linters ran.
    NoTest,
    /// All tests there are were skipped.
    AllSkipped,
    /// All that ran fails with the change and without it, and nothing in it passes.
    NothingPasses,
    /// The checks came with the change itself.
    Brought,
}

/// What the comparison of base and change came to, before it is asked what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    Passes,
    Unproven,
    Fails,
}

/// What one check has to do with the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckFacts {
    pub ended: CheckEnded,
    pub purpose: Purpose,
    /// Tests that ran on the change, without those that were skipped.
    pub tests: u64,
    pub skipped: u64,
    /// Tests that fail as they did before.
    pub failing: u64,
    /// Tests that failed before and pass now.
    pub mended: u64,
    /// Tests that failed before and do not run any more.
    pub gone: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckEnded {
    /// It passes, and did so before.
    Passed,
    Mended,
    /// It failed before and passes now, because what failed is not run any more.
    Gone,
    Flaky,
    KnownFailure,
    Worse,
    NotRun,
    /// It came with the change.
    Brought,
}

/// What a check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Test,
    /// To build, to format or to lint.
    Other,
}

/// The conclusion, with the figures that its sentence needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headline {
    pub conclusion: Conclusion,
    pub checks: u64,
    /// Checks that could not be run.
    pub not_run: u64,
    /// Checks that are worse than before.
    pub worse: u64,
    /// Tests that ran on the change.
    pub tests: u64,
    /// Checks that fail as before.
    pub failing_checks: u64,
    /// Tests that fail as before.
    pub failing_tests: u64,
    /// What failed before and passes now: tests, and checks that name none.
    pub mended: u64,
    /// What failed before, and is not run any more.
    pub gone: u64,
}

impl Headline {
    pub fn of(judged: Judged, checks: &[CheckFacts]) -> Self {
        let sum =
            |count: fn(&CheckFacts) -> u64| checks.iter().map(count).fold(0, u64::saturating_add);
        let ended = |ended: CheckEnded| count(checks.iter().filter(|it| it.ended == ended));
        let unnamed = |it: &&CheckFacts| it.ended == CheckEnded::Mended && it.mended == 0;
        let mut headline = Self {
            conclusion: Conclusion::Failed,
            checks: count(checks.iter()),
            not_run: ended(CheckEnded::NotRun),
            worse: ended(CheckEnded::Worse),
            tests: sum(|it| it.tests),
            failing_checks: ended(CheckEnded::KnownFailure),
            failing_tests: sum(|it| it.failing),
            mended: sum(|it| it.mended).saturating_add(count(checks.iter().filter(unnamed))),
            gone: sum(|it| it.gone),
        };
        headline.conclusion = match judged {
            Judged::Fails => Conclusion::Failed,
            Judged::Unproven => Conclusion::Unproven(headline.why(checks)),
            Judged::Passes => match no_test(checks) {
                Some(because) => Conclusion::Unproven(because),
                None if headline.fails_as_before() || headline.gone > 0 => Conclusion::NothingWorse,
                None => Conclusion::Passed,
            },
        };
        headline
    }

    const fn fails_as_before(&self) -> bool {
        self.failing_checks > 0 || self.failing_tests > 0
    }

    fn why(&self, checks: &[CheckFacts]) -> Because {
        match self.checks {
            0 => Because::NoCheck,
            _ if checks.iter().any(|it| it.ended == CheckEnded::Brought) => Because::Brought,
            _ if self.not_run > 0 => Because::NotRun,
            _ => no_test(checks)
                .filter(|_| self.failing_checks == 0)
                .unwrap_or(Because::NothingPasses),
        }
    }

    /// Something that a person should know before they merge it, beside the sentence.
    pub fn warning(&self) -> Option<String> {
        let is_open = match self.conclusion {
            Conclusion::NothingWorse => true,
            Conclusion::Unproven(_) => self.fails_as_before(),
            Conclusion::Passed | Conclusion::Failed => false,
        };
        let nothing_mended = is_open && self.mended == 0;
        match (self.gone, nothing_mended) {
            (0, false) => None,
            (0, true) => Some(
                "nothing that failed before was mended: if that was the task, it is not done"
                    .to_owned(),
            ),
            (gone, _) => Some(format!(
                "what failed is gone, and was not mended: {} that failed before {} not run any more",
                counted(gone, "test"),
                if gone == 1 { "is" } else { "are" }
            )),
        }
    }
}

/// Why none of what was run is a test, if so. A check that is for tests and counts none may have run some: it is believed.
fn no_test(checks: &[CheckFacts]) -> Option<Because> {
    let ran = |it: &&CheckFacts| !matches!(it.ended, CheckEnded::NotRun | CheckEnded::Brought);
    let mut skipped = 0;
    for check in checks.iter().filter(ran) {
        let uncounted = check.purpose == Purpose::Test && check.skipped == 0;
        if check.tests > 0 || uncounted {
            return None;
        }
        skipped += check.skipped;
    }
    Some(if skipped > 0 { Because::AllSkipped } else { Because::NoTest })
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCheck => "no check is known for this repository",
            Self::NotRun => "checks could not be run",
            Self::NoTest => "no test ran: only linters, formatters or builds did",
            Self::AllSkipped => "no test ran: all were skipped",
            Self::NothingPasses => "all that ran fails as before, and nothing in it passes",
            Self::Brought => "the checks came with the change itself",
        })
    }
}

/// The sentence, without a full stop: `nothing got worse: 2 checks fail as before`.
impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.conclusion {
            Conclusion::Passed => {
                match self.tests {
                    0 => write!(
                        f,
                        "passed: {} ran, and said nothing of single tests",
                        counted(self.ran(), "check")
                    )?,
                    1 => f.write_str("passed: 1 test ran, and passes")?,
                    tests => write!(f, "passed: {tests} tests ran, and all pass")?,
                }
                self.mended(f)?;
                self.left_out(f)
            }
            Conclusion::NothingWorse => {
                f.write_str("nothing got worse: ")?;
                match (self.failing_checks, self.failing_tests) {
                    (0, 0) => write!(
                        f,
                        "{} that failed {} gone",
                        counted(self.gone, "test"),
                        are(self.gone)
                    )?,
                    (0, tests) => write!(f, "{} as before", fail(tests, "test"))?,
                    (checks, 0) => write!(f, "{} as before", fail(checks, "check"))?,
                    (checks, tests) => {
                        write!(
                            f,
                            "{} as before ({})",
                            fail(checks, "check"),
                            counted(tests, "test")
                        )?;
                    }
                }
                self.mended(f)?;
                self.left_out(f)
            }
            Conclusion::Unproven(Because::NotRun) => {
                write!(
                    f,
                    "nothing was proven, because {} of {} could not be run",
                    self.not_run,
                    counted(self.checks, "check")
                )?;
                match self.failing_checks {
                    0 => Ok(()),
                    1 => f.write_str(", and 1 fails as before"),
                    failing => write!(f, ", and {failing} fail as before"),
                }
            }
            Conclusion::Unproven(because) => write!(f, "nothing was proven, because {because}"),
            Conclusion::Failed => match self.worse {
                0 => f.write_str("failed"),
                1 => f.write_str("failed: 1 check is worse than before"),
                worse => write!(f, "failed: {worse} checks are worse than before"),
            },
        }
    }
}

impl Headline {
    const fn ran(&self) -> u64 {
        self.checks.saturating_sub(self.not_run)
    }

    fn mended(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mended {
            0 => Ok(()),
            mended => write!(f, "; {mended} that failed before {} mended", are(mended)),
        }
    }

    fn left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.not_run {
            0 => Ok(()),
            1 => f.write_str("; 1 check could not be run"),
            more => write!(f, "; {more} checks could not be run"),
        }
    }
}

const fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn fail(count: u64, noun: &str) -> String {
    let verb = if count == 1 { "fails" } else { "fail" };
    format!("{} {verb}", counted(count, noun))
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
