//! A bug and its repair, phase by phase: what a good enough model does in each.
//!
//! ```text
//!  research ──▶ plan ──▶ edit ──▶ test fails ──▶ fix ──▶ test passes ──▶ review
//! ```
//!
//! Who tells the story says by which words each phase's prompt is known, and what is answered where an answer has a form.

use std::collections::BTreeMap;

use super::{Model, Script};

/// A part of the story that one prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Reads, and says what is wrong.
    Research,
    /// Says what is to be done.
    Plan,
    /// All of the work at once: a wrong edit, a failing test, the right edit, a passing test.
    Implement,
    /// Only the wrong edit and its failing test.
    Edit,
    /// Only the right edit and its passing test.
    Fix,
    /// Reads the change, and judges it.
    Review,
}

/// One bug in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bug {
    pub file: String,
    pub wrong: String,
    /// What the first try makes of it. The test still fails.
    pub half: String,
    pub right: String,
    /// The command that tells whether it is repaired.
    pub test: String,
    /// What a phase answers in the end, where the usual sentence will not do.
    pub answers: BTreeMap<Phase, String>,
}

impl Bug {
    /// A sum that subtracts, in Python.
    pub fn in_a_sum() -> Self {
        Self {
            file: "calc.py".to_owned(),
            wrong: "a - b".to_owned(),
            // Of another length: Python takes a file of the same second and size for the one that it has compiled.
            half: "a * b * 1".to_owned(),
            right: "a + b".to_owned(),
            test: "python3 -c 'import calc; assert calc.add(2, 3) == 5, calc.add(2, 3)'".to_owned(),
            answers: BTreeMap::new(),
        }
    }

    /// What a phase answers in the end.
    #[must_use]
    pub fn answering(mut self, phase: Phase, answer: &str) -> Self {
        self.answers.insert(phase, answer.to_owned());
        self
    }

    /// What the model does in a phase.
    pub fn script(&self, phase: Phase) -> Script {
        let Self { file, wrong, half, right, test, answers } = self;
        let read = || Script::new().read(file).thinking(&format!("I look at {file} first."));
        let (script, usual) = match phase {
            Phase::Research => (read(), format!("{file} has `{wrong}` where `{right}` belongs.")),
            Phase::Plan => (read(), format!("1. Put `{right}` into {file}.\n2. Run `{test}`.")),
            Phase::Implement => (
                read()
                    .edit(file, wrong, half)
                    .shell(test)
                    .edit(file, half, right)
                    .saying("The test fails: I was wrong.")
                    .shell(test),
                format!("{file} is repaired, and the test passes."),
            ),
            Phase::Edit => {
                (read().edit(file, wrong, half).shell(test), "The test still fails.".to_owned())
            }
            Phase::Fix => (
                read().edit(file, half, right).shell(test),
                format!("{file} is repaired, and the test passes."),
            ),
            Phase::Review => (
                Script::new().shell("git --no-pager diff HEAD").read(file),
                format!("`{right}` is right. Nothing else was changed."),
            ),
        };
        script.text(answers.get(&phase).unwrap_or(&usual))
    }
}

impl Model {
    /// Tells the story of a bug: the prompt of each phase is known by its marker.
    pub fn tells(&self, bug: &Bug, markers: &[(Phase, &str)]) -> &Self {
        for (phase, marker) in markers {
            self.on(marker, bug.script(*phase));
        }
        self
    }
}
