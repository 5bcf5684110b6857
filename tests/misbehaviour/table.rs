//! Rows, played by a few at a time in sandboxes of their own; and what all rows have in common.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use super::fixture::{Fixture, KEY, PLACE, Ran};

/// One way to misbehave.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    /// After `lamp agent run --json --sandbox …`.
    pub(crate) words: Vec<String>,
    /// `finished`, or the code of the failure.
    pub(crate) ending: &'a str,
    /// What a person has to be told about the failure.
    pub(crate) message: &'a str,
    /// What has to be among the last lines of the program.
    pub(crate) lines: &'a str,
    /// What else has to be so.
    pub(crate) besides: fn(&Ran) -> bool,
}

impl Default for Row<'_> {
    fn default() -> Self {
        Self {
            name: "",
            words: Vec::new(),
            ending: "finished",
            message: "",
            lines: "",
            besides: |_| true,
        }
    }
}

impl Row<'_> {
    /// Plays it in this sandbox, and says what is not as it should be.
    fn played(&self, fixture: &Fixture<'_>, sandbox: &str) -> Vec<String> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        // The other modes want a workspace that cannot be written to.
        let reading = format!("{sandbox}-reads");
        let sandbox = if words.contains(&"--mode") {
            fixture.sandbox(&reading, &["--tier", "verified", "--read-only"]);
            &reading
        } else {
            sandbox
        };
        let begin = Instant::now();
        let ran = Ran::of(fixture.agent(sandbox, &words).spawn().unwrap());
        println!("{:>6.1} s  {}: {}", begin.elapsed().as_secs_f32(), self.name, ran.ending());
        self.check(&ran, &fixture.left(sandbox))
    }

    fn check(&self, ran: &Ran, left: &[String]) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut want = |is_so: bool, what: String| {
            if !is_so {
                wrong.push(format!("{}: {what}\n    {ran}", self.name));
            }
        };
        want(
            ran.ending() == self.ending,
            format!("it ends as `{}`, not as `{}`", ran.ending(), self.ending),
        );
        want(
            ran.message().contains(self.message),
            format!("a person is not told `{}`", self.message),
        );
        want(ran.log().contains(self.lines), format!("the last lines have no `{}`", self.lines));
        let exit = i32::from(self.ending != "finished");
        want(ran.exit == Some(exit), format!("the command does not end with {exit}"));
        want(
            ran.message().len() < 20_000 && ran.log().len() < 40_000,
            "what is told is too long".to_owned(),
        );
        want((self.besides)(ran), "what else has to be so is not".to_owned());
        want(
            !ran.text.contains(KEY) && !ran.errors.contains(KEY),
            "the company's key is told".to_owned(),
        );
        let one_end = ran.events("finished").len() == 1 || ran.events("briefed").is_empty();
        want(one_end, "the run has not one end".to_owned());
        want(left.is_empty(), format!("this is left inside: {left:?}"));
        wrong
    }
}

/// Plays all rows, `at_once` at a time, and fails with all that are not as they should be.
pub(crate) fn play(fixture: &Fixture<'_>, tier: &str, at_once: usize, rows: Vec<Row<'_>>) {
    let names: Vec<String> =
        (0..at_once.min(rows.len())).map(|number| format!("{tier}-{number}")).collect();
    for name in &names {
        fixture.sandbox(name, &["--tier", tier]);
    }
    let queue = Mutex::new(rows.into_iter().collect::<VecDeque<_>>());
    let wrong = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| {
                while let Some(row) = next() {
                    let found = row.played(fixture, name);
                    wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(wrong.is_empty(), "{} rows are wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Plays one row in a sandbox that is there.
pub(crate) fn play_in(fixture: &Fixture<'_>, sandbox: &str, row: &Row<'_>) {
    let wrong = row.played(fixture, sandbox);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What any program is started with.
pub(crate) fn command(command: &str, more: &[&str]) -> Vec<String> {
    started("command", command, more)
}

/// What a hostile agent is started with; `trick` is one of `hostile.py`.
pub(crate) fn hostile(trick: &str, more: &[&str]) -> Vec<String> {
    started("acp", &format!("exec /usr/bin/python3 {PLACE} {trick}"), more)
}

fn started(agent: &str, command: &str, more: &[&str]) -> Vec<String> {
    // Nothing here lasts that long; a row that is wrong must not last for an hour.
    let limit: &[&str] = if more.contains(&"--timeout") { &[] } else { &["--timeout", "60s"] };
    let words = [&[agent, "--command", command, "Do something."], limit, more].concat();
    words.into_iter().map(str::to_owned).collect()
}
