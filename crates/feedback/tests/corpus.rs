//! Real runs of real runners of tests, two by two, and what is true of each pair.
//!
//! `corpus/make.py` has run each runner on one small project in many states. The table here says what is true between two states; whatever
//! the runner names or leaves out, nothing that is not true may be told.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use feedback::{
    Exit, Reach, Run, Source,
    checks::Check,
    location::Workspace,
    read, read_written,
    report::Tally,
    source,
    verdict::{self, Change, Conclusion, Evidence, Outcome, Verdict, judge, weakened},
};

/// What is true between two states of the project.
struct Truth {
    base: &'static str,
    /// The first run, and those of the same commit that were made to be sure.
    head: &'static [&'static str],
    /// Whether the change may go on.
    passes: bool,
    fixed: &'static [&'static str],
    removed: &'static [&'static str],
    skipped: &'static [&'static str],
    new: &'static [&'static str],
    /// Tests that fail and did not.
    faults: &'static [&'static str],
}

const SAME: Truth = Truth {
    base: "green",
    head: &["green"],
    passes: true,
    fixed: &[],
    removed: &[],
    skipped: &[],
    new: &[],
    faults: &[],
};

const TRUTHS: &[Truth] = &[
    SAME,
    Truth { base: "red", fixed: &["adds"], ..SAME },
    Truth { head: &["red", "red"], passes: false, faults: &["adds"], ..SAME },
    Truth { head: &["deleted"], removed: &["subtracts"], ..SAME },
    // Deleting what failed, also with another test in its place, mends nothing.
    Truth { base: "red", head: &["gone"], removed: &["adds"], ..SAME },
    Truth { base: "red", head: &["swapped"], removed: &["adds"], new: &["extra"], ..SAME },
    Truth { head: &["renamed"], removed: &["subtracts"], new: &["takes_away"], ..SAME },
    Truth { head: &["skipped"], skipped: &["adds"], ..SAME },
    Truth { base: "red", head: &["skipped"], skipped: &["adds"], ..SAME },
    // It fails once, and not again.
    Truth { head: &["red", "green"], ..SAME },
    Truth { head: &["crashed", "crashed"], passes: false, ..SAME },
    Truth { head: &["broken", "broken"], passes: false, ..SAME },
    Truth { head: &["cut", "cut"], passes: false, ..SAME },
    Truth { head: &["new"], new: &["extra"], ..SAME },
    Truth { head: &["new_red", "new_red"], passes: false, faults: &["extra"], ..SAME },
    Truth { base: "red", head: &["red"], ..SAME },
    Truth { base: "red", head: &["two", "two"], passes: false, faults: &["subtracts"], ..SAME },
    // Behind a failure that is known, in a file of its own.
    Truth { base: "red", head: &["masked", "masked"], passes: false, faults: &["extra"], ..SAME },
    Truth { base: "two", head: &["red"], fixed: &["subtracts"], ..SAME },
    Truth { base: "masked", fixed: &["adds"], removed: &["extra"], ..SAME },
    Truth { base: "broken", ..SAME },
    Truth { base: "crashed", fixed: &["subtracts"], ..SAME },
];

/// Passed, failed and skipped in each state that runs to its end.
const COUNTS: &[(&str, [u64; 3])] = &[
    ("green", [5, 0, 1]),
    ("red", [4, 1, 1]),
    ("two", [3, 2, 1]),
    ("deleted", [4, 0, 1]),
    ("gone", [4, 0, 1]),
    ("renamed", [5, 0, 1]),
    ("skipped", [4, 0, 2]),
    ("new", [6, 0, 1]),
    ("new_red", [5, 1, 1]),
    ("masked", [4, 2, 1]),
    ("swapped", [5, 0, 1]),
];

/// Those that tell of each test by name, and go on after a failure: of them all that is true is told.
const COMPLETE: &[&str] = &[
    "pytest-verbose",
    "pytest-junit",
    "pytest-asked",
    "pytest-xdist-asked",
    "unittest-verbose",
    "vitest-1-asked",
    "vitest-2-asked",
    "vitest-3-asked",
    "vitest-4-asked",
    "jest-asked",
    "mocha",
    "mocha-asked",
    "node",
    "node-spec",
    "tape",
    "tap-16",
    "tap-18",
    "cargo-verbose",
    "cargo-asked",
    "nextest-asked",
    "go-json",
    "go-asked",
];

/// One run, as it was kept.
#[derive(Debug, Clone, Default)]
struct Kept {
    code: i32,
    out: String,
    err: String,
    report: String,
}

struct Runner {
    name: String,
    command: String,
    states: BTreeMap<String, Kept>,
}

impl Runner {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut runner = Self { name, command: String::new(), states: BTreeMap::new() };
        let (mut state, mut part) = (String::new(), String::new());
        for line in text.split_inclusive('\n') {
            if let Some(mark) = line.strip_prefix("%% ") {
                match mark.trim().split_once(' ') {
                    Some(("command", command)) => command.clone_into(&mut runner.command),
                    Some((name, code)) => {
                        name.clone_into(&mut state);
                        let kept = Kept { code: code.parse().unwrap(), ..Kept::default() };
                        runner.states.insert(name.to_owned(), kept);
                    }
                    None => mark.trim().clone_into(&mut part),
                }
                continue;
            }
            let kept = runner.states.get_mut(&state).unwrap();
            match part.as_str() {
                "out" => kept.out.push_str(line),
                "err" => kept.err.push_str(line),
                "report" => kept.report.push_str(line),
                other => panic!("{other} is no part"),
            }
        }
        runner
    }

    /// A state, or the green one whose time was up.
    fn kept(&self, state: &str) -> (Kept, Exit) {
        if state != "cut" {
            let kept = self.states[state].clone();
            let exit = if kept.code < 0 { Exit::Signal(-kept.code) } else { Exit::Code(kept.code) };
            return (kept, exit);
        }
        let mut kept = Kept { report: String::new(), ..self.states["green"].clone() };
        for text in [&mut kept.out, &mut kept.err] {
            let half = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
            text.truncate(half);
        }
        (kept, Exit::TimedOut)
    }

    fn run(&self, state: &str, source: Source) -> verdict::Run {
        let (kept, exit) = self.kept(state);
        let run = self.said(&kept, exit);
        let workspace = workspace();
        let report = match source {
            Source::Printed => read(&run, &workspace),
            Source::Written => read_written(&run, kept.report.as_bytes(), &workspace),
        };
        verdict::Run { ended: exit.into(), report }
    }

    fn said<'k>(&'k self, kept: &'k Kept, exit: Exit) -> Run<'k> {
        let (stdout, stderr) = (kept.out.as_bytes(), kept.err.as_bytes());
        Run { command: &self.command, exit, stdout, stderr }
    }

    /// The one source of all these runs.
    fn source(&self, states: &[&str]) -> Source {
        let each = states.iter().map(|state| {
            let (kept, exit) = self.kept(state);
            source(&self.said(&kept, exit), kept.report.as_bytes(), &workspace())
        });
        each.min().unwrap()
    }

    fn judged(&self, truth: &Truth) -> Verdict {
        let states: Vec<&str> = [&[truth.base], truth.head].concat();
        let source = self.source(&states);
        let command = self.command.parse().unwrap();
        let check = Check::declared("tests".to_owned(), command, "agents/a.yaml".to_owned());
        let head = truth.head.iter().map(|state| self.run(state, source)).collect();
        judge(vec![Evidence { check, base: vec![self.run(truth.base, source)], head }])
    }

    fn is_complete(&self) -> bool {
        COMPLETE.contains(&self.name.as_str())
    }
}

fn workspace() -> Workspace {
    Workspace::at("/src").with_go_module("example.test/calc")
}

fn runners() -> Vec<Runner> {
    let corpus: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "txt"));
    paths.sort();
    paths.iter().map(|path| Runner::read(path)).collect()
}

/// Names that are told with this change, by the words of the table.
fn told(verdict: &Verdict, change: &[Change]) -> BTreeSet<&'static str> {
    const WORDS: &[&str] =
        &["adds", "subtracts", "takes_away", "later", "times", "keeps", "extra", "never"];
    let tests = verdict.checks[0].tests.iter().filter(|test| change.contains(&test.change));
    let word = |name: String| {
        WORDS.iter().copied().find(|word| name.contains(word)).unwrap_or("something else")
    };
    tests.map(|test| word(test.name.to_string())).collect()
}

const FAULTS: &[Change] =
    &[Change::Regression, Change::NewFailing, Change::NowFailing, Change::FirstFailing];

/// What a verdict tells that is not true.
fn lies(runner: &Runner, truth: &Truth) -> Vec<String> {
    let verdict = runner.judged(truth);
    let check = &verdict.checks[0];
    let mut lies = Vec::new();
    let mut lie = |what: String| {
        lies.push(format!("{}: {} → {:?}: {what}", runner.name, truth.base, truth.head));
    };
    match verdict.conclusion {
        Conclusion::Passes if !truth.passes => lie(format!("false passed: {}", check.outcome)),
        Conclusion::Fails if truth.passes => lie(format!("false failed: {}", check.outcome)),
        Conclusion::Passes | Conclusion::Fails | Conclusion::Unproven => {}
    }
    let is_mended = truth.passes
        && (truth.base == "broken" || truth.base == "crashed" || !truth.fixed.is_empty())
        && truth.removed.iter().all(|test| *test != "adds" && *test != "extra");
    // Of a base that did not reach all, what it did not reach is not known.
    let is_cut = check.base.as_ref().is_some_and(|base| base.reach == Reach::Cut);
    if check.outcome == Outcome::Fixed && !is_mended && !is_cut {
        lie("false fixed, of the whole".to_owned());
    }
    for (change, truths) in [
        (&[Change::Fixed][..], truth.fixed),
        (&[Change::Removed], truth.removed),
        (&[Change::NewlySkipped], truth.skipped),
        (&[Change::NewPassing], truth.new),
    ] {
        let truths: BTreeSet<&str> = truths.iter().copied().collect();
        let told = told(&verdict, change);
        if !told.is_subset(&truths) {
            lie(format!("false {}: {told:?}", change[0].word()));
        }
        let is_whole = truth.passes && truth.base != "crashed" && truth.base != "broken";
        if runner.is_complete() && is_whole && told != truths {
            lie(format!("{} is {truths:?}, told {told:?}", change[0].word()));
        }
    }
    let faults: BTreeSet<&str> = truth.faults.iter().copied().collect();
    if runner.is_complete() && !faults.is_empty() && told(&verdict, FAULTS) != faults {
        lie(format!("fails now: {faults:?}, told {:?}", told(&verdict, FAULTS)));
    }
    let weaker = weakened::in_runs(&verdict).weakened;
    let may_be: Vec<&str> = [truth.removed, truth.skipped].concat();
    for found in weaker {
        let is_true = may_be.iter().any(|test| found.what.contains(test))
            || !truth.removed.is_empty() && found.what.contains("does not name them");
        if !is_true {
            lie(format!("false weaker: {found}"));
        }
    }
    for (state, side) in [(truth.base, &check.base), (truth.head[0], &check.head)] {
        let Some((_, wanted)) = COUNTS.iter().find(|(name, _)| *name == state) else { continue };
        let Tally { passed, failed, skipped } = side.as_ref().unwrap().counts.tests;
        let counts = [passed, failed, skipped];
        if counts.iter().zip(wanted).any(|(told, wanted)| told > wanted) {
            lie(format!("doubled counts: {counts:?} of {wanted:?} in {state}"));
        }
        if runner.is_complete() && counts != *wanted {
            lie(format!("counts: {counts:?}, not {wanted:?} in {state}"));
        }
    }
    lies
}

#[test]
fn nothing_that_is_not_true_is_told_of_real_runs() {
    let runners = runners();
    assert!(runners.len() >= 20, "there are only {}", runners.len());
    let lies: Vec<String> = runners
        .iter()
        .flat_map(|runner| TRUTHS.iter().flat_map(|truth| lies(runner, truth)))
        .collect();
    assert!(lies.is_empty(), "{} lies:\n{}", lies.len(), lies.join("\n"));
}

#[test]
fn whoever_was_asked_wrote_a_report_that_is_the_source() {
    for runner in runners() {
        let writes = ["pytest", "jest", "vitest", "mocha"];
        if runner.name.ends_with("-asked") && writes.iter().any(|it| runner.name.starts_with(it)) {
            assert_eq!(runner.source(&["green", "red"]), Source::Written, "{}", runner.name);
        }
    }
}
