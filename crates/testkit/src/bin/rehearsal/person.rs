//! The person who answers and approves: whoever is at the terminal, or the rehearsal itself, saying so.

use std::io::{self, BufRead as _};

use crate::paper::{Ink, Paper};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    AtTheTerminal,
    /// `--yes`.
    SaysYes,
    /// No terminal: a pipe or a machine.
    Nobody,
}

/// What a person decides about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Approve,
    Reject { comment: String },
}

/// The answer when nobody types one.
const ANSWER: &str = "the one in src/login.rs";

impl Person {
    pub(crate) fn answer(self, paper: &Paper) -> anyhow::Result<String> {
        match self {
            Self::AtTheTerminal => {
                paper.prompt("  Your answer, as Ann [Enter for an example]:")?;
                let typed = read_line()?;
                Ok(if typed.is_empty() { ANSWER.to_owned() } else { typed })
            }
            Self::SaysYes | Self::Nobody => {
                let why = self.why();
                paper.line(format_args!("  Ann: {ANSWER}  {}", paper.ink(Ink::Quiet, why)))?;
                Ok(ANSWER.to_owned())
            }
        }
    }

    pub(crate) fn decide(self, paper: &Paper) -> anyhow::Result<Decision> {
        match self {
            Self::AtTheTerminal => loop {
                paper.prompt("  You are Bob. Approve this plan? [y, or what to change]:")?;
                match read_line()?.as_str() {
                    "" => paper.line("  Type `y`, or say what to change.")?,
                    "y" | "Y" | "yes" => return Ok(Decision::Approve),
                    "n" | "N" | "no" => {
                        paper.prompt("  What should change?")?;
                        let comment = read_line()?;
                        if !comment.is_empty() {
                            return Ok(Decision::Reject { comment });
                        }
                    }
                    comment => return Ok(Decision::Reject { comment: comment.to_owned() }),
                }
            },
            Self::SaysYes | Self::Nobody => {
                let why = self.why();
                paper.line(format_args!("  Bob approves.  {}", paper.ink(Ink::Quiet, why)))?;
                Ok(Decision::Approve)
            }
        }
    }

    const fn why(self) -> &'static str {
        match self {
            Self::AtTheTerminal => "",
            Self::SaysYes => "(by the rehearsal: --yes)",
            Self::Nobody => "(by the rehearsal: nobody is at a terminal)",
        }
    }
}

/// The line that was typed. No more lines end the story.
fn read_line() -> anyhow::Result<String> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        anyhow::bail!(
            "nobody answers any more; a real task would now wait, as a row in its database"
        );
    }
    Ok(line.trim().to_owned())
}
