//! A table of attempts, each with what must come of it, and what was counted.
//!
//! A denial only counts where the same probe works outside: otherwise nobody knows what refused it. Such a row is
//! told as unsupported, and never as passed. Because a broken probe fails outside too, every table has a least number of rows that
//! pass where we are root: those that need neither gVisor nor an idle machine.

use std::fmt::Write as _;

use crate::fixture::is_root;

/// One attempt.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The number in the list of abuse cases.
    pub(crate) case: u16,
    pub(crate) words: Vec<String>,
    /// What the probe may print inside.
    pub(crate) expected: Vec<String>,
    /// How the probe is run outside, where it must print anything but what is expected inside.
    pub(crate) control: Vec<String>,
    /// Why this host cannot refuse it.
    pub(crate) residue: Option<&'static str>,
}

impl Row {
    pub(crate) fn name(&self) -> String {
        self.words.join(" ")
    }

    /// Nothing of ours can refuse it on this host, and that is why.
    pub(crate) fn unless(mut self, why: &'static str) -> Self {
        self.residue = Some(why);
        self
    }

    /// Runs the control with other words.
    pub(crate) fn control(mut self, words: &[&str]) -> Self {
        self.control = words.iter().map(|&word| word.to_owned()).collect();
        self
    }
}

/// An attempt that must end in one of these lines. `words` are split at spaces.
pub(crate) fn row(case: u16, words: &str, expected: &[&str]) -> Row {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let control = [vec!["outside".to_owned()], words.clone()].concat();
    let expected = expected.iter().map(|&line| line.to_owned()).collect();
    Row { case, words, expected, control, residue: None }
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: u32,
    unsupported: Vec<String>,
    failed: Vec<String>,
    lines: String,
}

impl Tally {
    pub(crate) fn passed(&mut self, what: &str, outcome: &str) {
        self.passed += 1;
        let _ = writeln!(self.lines, "  passed       {what}: {outcome}");
    }

    pub(crate) fn unsupported(&mut self, what: &str, why: &str) {
        unsupported::part(what, why);
        let _ = writeln!(self.lines, "  unsupported  {what}: {why}");
        self.unsupported.push(what.to_owned());
    }

    pub(crate) fn failed(&mut self, what: &str, outcome: &str) {
        let _ = writeln!(self.lines, "  FAILED       {what}: {outcome}");
        self.failed.push(format!("{what}: {outcome}"));
    }

    /// Something that must be so.
    pub(crate) fn check(&mut self, what: &str, found: &str, holds: Holds) {
        match holds {
            Holds::Yes => self.passed(what, found),
            Holds::No => self.failed(what, found),
        }
    }

    /// Takes over what another one counted.
    pub(crate) fn merge(&mut self, other: Self) {
        self.passed += other.passed;
        self.unsupported.extend(other.unsupported);
        self.failed.extend(other.failed);
        self.lines.push_str(&other.lines);
    }

    /// Prints the table, and fails where anything did, or where too little was tried.
    pub(crate) fn finish(self, title: &str, least: u32) {
        let Self { passed, unsupported, failed, lines } = self;
        println!("{title}\n{lines}");
        println!(
            "{title}: {passed} passed, {} unsupported, {} failed",
            unsupported.len(),
            failed.len()
        );
        assert!(failed.is_empty(), "{title}:\n{}", failed.join("\n"));
        let few = format!("{passed} rows passed, and {least} do at the least");
        match enough(passed, least) {
            Enough::Yes => {}
            Enough::WithoutRoot if passed == 0 => unsupported::whole(&few),
            Enough::WithoutRoot => unsupported::part(title, &few),
            Enough::No => panic!("{title}: {few}: do the probes still work outside?\n{lines}"),
        }
    }
}

/// Whether a table tried what it is there for.
#[derive(Debug, PartialEq, Eq)]
enum Enough {
    Yes,
    /// Somebody who is not root can show less, and says so.
    WithoutRoot,
    No,
}

fn enough(passed: u32, least: u32) -> Enough {
    match (passed >= least, is_root()) {
        (true, _) => Enough::Yes,
        (false, false) => Enough::WithoutRoot,
        (false, true) => Enough::No,
    }
}

#[test]
fn a_table_whose_controls_all_fail_does_not_pass() {
    let least = |passed, least| {
        let tally = Tally { passed, ..Tally::default() };
        std::panic::catch_unwind(|| tally.finish("a table", least)).is_ok()
    };
    assert!(least(3, 3));
    // Without root it is told instead, and counted.
    assert_eq!(least(2, 3), !is_root());
}

/// Whether something is as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Yes,
    No,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}
