//! The tests of both sides, by name: what only one side names is there, gone, or not known.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    change::{Change, Reached, Seen},
    run::{Run, State},
};
use crate::{
    finding::{Finding, Kind, Tool},
    naming::{Names, Reach},
    report::Report,
    test::TestName,
    text::Label,
};

/// All tests of both sides, by name.
pub(super) struct Comparison {
    pub(super) changes: BTreeMap<TestName, Change>,
    /// What became of those that failed on base each time, and do not fail on head.
    pub(super) lost: Lost,
}

/// How those that failed are not among the failures any more, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lost {
    Removed,
    Skipped,
    /// Not named, so that it is not known.
    Unnamed,
    /// All of them pass, by name.
    Nothing,
}

pub(super) fn compare(base: &[Run], head: &[Run], has_new_errors: HasNewErrors) -> Comparison {
    let (before, after) = (seen(base), seen(head));
    let fails = |seen: Option<&Seen>| seen == Some(&Seen::Failed);
    let is_torn = head.iter().all(|run| run.state() == State::Stopped);
    let mut changes: BTreeMap<TestName, Change> = BTreeMap::new();
    let (base_side, head_side) = (Side::of(base), Side::of(head));
    for (name, seen) in &after {
        let change = match before.get(name) {
            Some(before) => Change::between(*before, *seen),
            None => Change::since(base_side.names, base_side.got_to(&head_side.tools), *seen),
        };
        // What was torn off may have lost a part of its name.
        let is_new = matches!(change, Change::NewPassing | Change::NewSkipped);
        let change = if is_torn && is_new { Change::Unnamed } else { change };
        changes.insert((*name).clone(), change);
    }
    let end = End::of(head, &changes, has_new_errors);
    let suites: BTreeSet<&Label> = after.keys().map(|name| &name.suite).collect();
    let groups = Groups::of(&after);
    let are_no_fewer = head_side.count >= base_side.count;
    for (name, seen) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
        let change = match (end.got_to(name, &suites), head_side.names) {
            (Reached::No, _) => Change::NotReached,
            (Reached::Yes, Names::All) if groups.is_skipped(name) => Change::NewlySkipped,
            (Reached::Yes, Names::All) => Change::Removed,
            (Reached::Yes, Names::Failures) if fails(Some(seen)) && are_no_fewer => {
                Change::NoLongerFails
            }
            (Reached::Yes, Names::Failures | Names::Some) => Change::Unnamed,
        };
        changes.insert((*name).clone(), change);
    }
    let failed = || changes.iter().filter(|(name, _)| fails(before.get(name)));
    let how = |change: &Change| match change {
        Change::Removed => Lost::Removed,
        Change::NewlySkipped => Lost::Skipped,
        Change::NoLongerFails | Change::Unnamed | Change::NotReached => Lost::Unnamed,
        Change::Regression
        | Change::NewFailing
        | Change::NowFailing
        | Change::FirstFailing
        | Change::Flaky
        | Change::KnownFailure
        | Change::Fixed
        | Change::NewPassing
        | Change::FirstPassing
        | Change::NewSkipped
        | Change::StillSkipped
        | Change::Steady => Lost::Nothing,
    };
    let named = failed().count();
    let most_failed = base.iter().map(|run| run.report.counts().tests.failed).max().unwrap_or(0);
    let unnamed = if number(named) < most_failed { Lost::Unnamed } else { Lost::Nothing };
    let lost = failed().map(|(_, change)| how(change)).min().unwrap_or(Lost::Nothing).min(unnamed);
    Comparison { changes, lost }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn seen(runs: &[Run]) -> BTreeMap<&TestName, Seen> {
    let mut all: BTreeMap<&TestName, Seen> = BTreeMap::new();
    for test in runs.iter().flat_map(|run| run.report.tests()) {
        let once = Seen::once(test.outcome);
        all.entry(&test.name).and_modify(|seen| *seen = seen.and(once)).or_insert(once);
    }
    // Where only failures are named, a run of the same commit that passes has it among those that passed.
    let passes_quietly =
        |run: &&Run| run.state() == State::Passed && run.report.names() == Names::Failures;
    for run in runs.iter().filter(passes_quietly) {
        for (name, seen) in &mut all {
            if *seen == Seen::Failed && run.report.test(name).is_none() {
                *seen = Seen::Mixed;
            }
        }
    }
    all
}

/// Groups of tests in which there is nothing but what is skipped. A group that is skipped as a whole is one skipped test.
struct Groups<'r>(BTreeMap<(&'r str, &'r str), Seen>);

impl<'r> Groups<'r> {
    fn of(after: &BTreeMap<&'r TestName, Seen>) -> Self {
        let mut groups = BTreeMap::new();
        for (name, seen) in after {
            let whole: (&str, &str) = (&name.suite, &name.name);
            let group = group(name).map(|group| (&*name.suite, group));
            for place in std::iter::once(whole).chain(group) {
                let known = groups.entry(place).or_insert(*seen);
                *known = known.and(*seen);
            }
        }
        Self(groups)
    }

    fn is_skipped(&self, test: &TestName) -> bool {
        let group = group(test).map(|group| (&*test.suite, group));
        group.is_some_and(|group| self.0.get(&group) == Some(&Seen::Skipped))
    }
}

/// What stands before the last part of a name.
fn group(test: &TestName) -> Option<&str> {
    test.name.rsplit_once(" › ").map(|(group, _)| group)
}

/// What the runs of one side say about tests that they do not name.
struct Side<'r> {
    names: Names,
    /// The most tests that one of them counts.
    count: u64,
    /// Whoever ran tests.
    tools: BTreeSet<&'r Tool>,
    got: Got,
}

/// How far the best of them got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Got {
    Nowhere,
    /// It failed by its tests, and may have ended at the first that failed.
    ToAFailure,
    /// It failed by its tests, and its runner goes on after a failure.
    ToTheEndOfARunner,
    ToTheEnd,
}

impl<'r> Side<'r> {
    fn of(runs: &'r [Run]) -> Self {
        let reports = || runs.iter().map(|run| &run.report);
        Self {
            // Of several runs of one commit, the best word counts: the same tests stand behind each.
            names: reports().map(Report::names).min().unwrap_or(Names::Some),
            count: runs.iter().map(Run::tests).max().unwrap_or(0),
            tools: reports().flat_map(Report::tools).filter(|tool| tool.runs_tests()).collect(),
            got: runs.iter().map(got).max().unwrap_or(Got::Nowhere),
        }
    }

    /// Whether this side would have run a test that it does not name, had it been there. `others` are the runners of the other side.
    fn got_to(&self, others: &BTreeSet<&Tool>) -> Reached {
        match self.got {
            Got::ToTheEnd => Reached::Yes,
            // A script that ends at the first failure has not started the next runner.
            Got::ToTheEndOfARunner | Got::ToAFailure
                if self.tools.is_empty() || others.is_subset(&self.tools) =>
            {
                Reached::Yes
            }
            Got::Nowhere | Got::ToTheEndOfARunner | Got::ToAFailure => Reached::No,
        }
    }
}

fn got(run: &Run) -> Got {
    let report = &run.report;
    let is_error = |finding: &Finding| finding.kind == Kind::Error && finding.test.is_none();
    match (run.state(), report.reach()) {
        (State::Stopped | State::NotRun, _) | (_, Reach::Cut) => Got::Nowhere,
        (State::Passed, Reach::Whole | Reach::Unsaid) => Got::ToTheEnd,
        (State::Failed, _) if report.findings().iter().any(is_error) => Got::Nowhere,
        (State::Failed, _) if report.counts().tests.failed == 0 => Got::Nowhere,
        (State::Failed, Reach::Whole) => Got::ToTheEndOfARunner,
        (State::Failed, Reach::Unsaid) => Got::ToAFailure,
    }
}

/// Whether head's runs, without a test that base names, got to where it would be.
///
/// A run that passed did. One that failed may have stopped at its first failure, as `cargo test` does between programs, unless it fails
/// only as it did before, or its runner says that it went on.
struct End {
    got: Got,
    fails_as_before: bool,
}

impl End {
    fn of(
        head: &[Run],
        changes: &BTreeMap<TestName, Change>,
        has_new_errors: HasNewErrors,
    ) -> Self {
        let is_whole =
            |run: &&Run| run.report.left_off().tests == 0 && run.report.left_off().bytes == 0;
        let is_cut = |run: &Run| run.report.reach() == Reach::Cut;
        let whole = || head.iter().filter(is_whole);
        let fails_as_before = whole().any(|run| run.state() == State::Failed && !is_cut(run))
            && changes.values().any(|change| *change == Change::KnownFailure)
            && !changes.values().any(|change| change.is_fault() || *change == Change::Flaky)
            && has_new_errors == HasNewErrors::No;
        Self { got: whole().map(got).max().unwrap_or(Got::Nowhere), fails_as_before }
    }

    fn got_to(&self, test: &TestName, suites: &BTreeSet<&Label>) -> Reached {
        // A file, or a program, of which other tests ran was reached.
        let is_open = || !test.suite.is_empty() && suites.contains(&test.suite);
        match self.got {
            Got::ToTheEnd => Reached::Yes,
            Got::Nowhere | Got::ToAFailure | Got::ToTheEndOfARunner if self.fails_as_before => {
                Reached::Yes
            }
            Got::ToTheEndOfARunner if is_open() => Reached::Yes,
            Got::Nowhere | Got::ToAFailure | Got::ToTheEndOfARunner => Reached::No,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasNewErrors {
    Yes,
    No,
}
