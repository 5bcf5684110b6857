//! `lamp pr merge`
//!
//! **Invariant:** what is merged is what was looked at. The commit that the branch is at when it was shown, or the one that is named, goes to
//! the server, which merges no other.

use std::io::Write;

use anyhow::{anyhow, bail};
use wire::{
    client::Client,
    pull::{MergePull, Merged, Pull},
};

use super::{state, which::Which};
use crate::{
    commands::{sandbox::Versioned, task::World},
    exit::Exit,
    format::{Format, FormatFlag},
    remote::Explained as _,
    report::Hint,
    timeline::{Ending, Keyboard, words},
};

/// Merge a pull request into the branch that it is for
///
/// On a terminal it is asked first. What the platform delivered is merged; when somebody has pushed to the branch since, `--head` names the
/// commit that was looked at. When the branch is at another one, nothing is merged.
#[derive(Debug, clap::Args)]
pub(super) struct Merge {
    #[command(flatten)]
    which: Which,

    /// The beginning of the commit that was looked at, at least 12 letters [default: what the platform delivered]
    #[arg(long, value_name = "COMMIT")]
    head: Option<String>,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Merge {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (repository, number) = self.which.find(client).await?;
        let format = self.format.format();
        let pull = client.pull(&repository, number).await.explained()?;
        let head = head(&pull, self.head.as_deref())?;
        if !self.yes && self.head.is_none() && World::has_person(format) {
            write!(out, "{}", summary(&pull, &head))?;
            let said = Keyboard::open()?.ask("Merge it? [y/n]", out).await?;
            if !said.is_some_and(|said| ["y", "yes"].contains(&said.to_ascii_lowercase().as_str()))
            {
                writeln!(out, "Nothing was merged.")?;
                return Ok(Ending::WaitsForPerson.exit());
            }
        }
        let merged =
            client.merge_pull(&repository, number, &MergePull { head }).await.explained()?;
        match format {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&merged))?)?,
            Format::People => write!(out, "{}", told(&pull, &merged))?,
        }
        Ok(Exit::Done)
    }
}

/// The fewest letters that name a commit: as many as are shown.
const FEWEST: usize = 12;

/// The commit to merge: what its task delivered, or what the person has looked at and names. Either way it is what the branch is at.
fn head(pull: &Pull, named: Option<&str>) -> anyhow::Result<String> {
    let at = pull.head.clone().ok_or_else(|| {
        anyhow!(Hint::new(
            format!(
                "the branch of pull request {} is gone: it is {}",
                pull.number,
                state(&pull.state)
            ),
            "`lamp pr get` shows what became of it"
        ))
    })?;
    let look = format!("look at it: `lamp pr diff {}`", pull.number);
    match named.map(str::to_ascii_lowercase) {
        Some(named) if named.len() < FEWEST || !at.starts_with(&named) => bail!(Hint::new(
            format!(
                "the branch is at {}, not at {}; nothing was merged",
                words::short(&at),
                words::line(&named, 64)
            ),
            format!("{look}; write at least {FEWEST} letters of the commit")
        )),
        None if at != pull.delivered => bail!(Hint::new(
            format!(
                "the branch is at {}, and the platform delivered {}: somebody pushed to it, and no check, review or receipt speaks of that; \
                 nothing was merged",
                words::short(&at),
                words::short(&pull.delivered)
            ),
            format!("{look}, and merge it by its name: `--head {}`", words::short(&at))
        )),
        Some(_) | None => Ok(at),
    }
}

fn summary(pull: &Pull, head: &str) -> String {
    format!(
        "{}  {}\n{} at {} into {}\n",
        pull.number,
        words::line(&pull.title, 300),
        words::line(&pull.branch, 200),
        words::short(head),
        words::line(&pull.base, 200),
    )
}

fn told(pull: &Pull, merged: &Merged) -> String {
    format!(
        "Pull request #{} was merged: {} is at {} now. Its task ends by itself.\n  \
         lamp verify {} --repo {}  shows that the receipt of the change holds\n",
        pull.number,
        words::line(&pull.base, 200),
        words::short(&merged.commit),
        pull.number,
        words::quoted(&words::line(&pull.repository, 200)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{commands::pr::samples, timeline::samples as tasks};

    #[test]
    fn only_the_commit_that_was_looked_at_is_merged() {
        let pull = Pull { delivered: tasks::COMMIT.to_owned(), ..samples::pull() };
        assert_eq!(head(&pull, None).unwrap(), tasks::COMMIT);
        let short = words::short(tasks::COMMIT);
        assert_eq!(head(&pull, Some(&short.to_uppercase())).unwrap(), tasks::COMMIT);
        for wrong in ["", &short[..11], "4b825e4b825e", "ffffffffffff"] {
            assert!(head(&pull, Some(wrong)).is_err(), "{wrong}");
        }
        assert!(head(&Pull { head: None, ..pull }, None).is_err());
    }

    #[test]
    fn what_somebody_pushed_is_merged_only_by_its_name() {
        let pull = Pull { delivered: "a".repeat(40), ..samples::pull() };
        insta::assert_snapshot!(format!("{:#}", head(&pull, None).unwrap_err()));
        assert_eq!(head(&pull, Some(&words::short(tasks::COMMIT))).unwrap(), tasks::COMMIT);
    }

    #[test]
    fn what_is_merged_is_told_before_and_after() {
        let pull = samples::pull();
        let merged = Merged { commit: tasks::HASH.to_owned() };
        insta::assert_snapshot!(summary(&pull, tasks::COMMIT) + &told(&pull, &merged));
    }
}
