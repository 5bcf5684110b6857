//! Whoever watches the demo, and decides in it.

use std::io::{self, Write};

use anyhow::Context as _;

/// What was said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Yes,
    No,
}

/// Who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    /// Somebody at the terminal.
    There,
    /// Nobody: `--yes` has said it before.
    SaidYes,
}

impl Person {
    /// Asks until there is a yes or a no. No word at all is no.
    pub(crate) async fn decides(
        self,
        question: &str,
        out: &mut impl Write,
    ) -> anyhow::Result<Decision> {
        match self {
            Self::SaidYes => {
                writeln!(out, "{question} yes (`--yes`)")?;
                Ok(Decision::Yes)
            }
            Self::There => loop {
                write!(out, "{question} [y/n] ")?;
                out.flush()?;
                match understood(&line().await?) {
                    Some(decision) => return Ok(decision),
                    None => writeln!(out, "Please type `y` or `n`.")?,
                }
            },
        }
    }

    /// The person's own words; none when nobody is there, or nothing is said.
    pub(crate) async fn words(
        self,
        question: &str,
        out: &mut impl Write,
    ) -> anyhow::Result<Option<String>> {
        match self {
            Self::SaidYes => Ok(None),
            Self::There => {
                write!(out, "{question} ")?;
                out.flush()?;
                let said = line().await?.trim().to_owned();
                Ok(Some(said).filter(|said| !said.is_empty()))
            }
        }
    }
}

fn understood(line: &str) -> Option<Decision> {
    if line.is_empty() {
        // The end of the input: whoever was there has gone.
        return Some(Decision::No);
    }
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Decision::Yes),
        "n" | "no" => Some(Decision::No),
        _ => None,
    }
}

/// A line of the input. Whoever stops waiting for it leaves a thread behind, which ends with the program.
async fn line() -> anyhow::Result<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    Ok(read.await.context("the input cannot be read")??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (line, meant) in [
            ("y\n", Some(Decision::Yes)),
            ("YES\n", Some(Decision::Yes)),
            ("no\n", Some(Decision::No)),
            ("", Some(Decision::No)),
            ("\n", None),
            ("yesterday\n", None),
        ] {
            assert_eq!(understood(line), meant, "{line:?}");
        }
    }
}
