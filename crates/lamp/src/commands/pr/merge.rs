//! `lamp pr merge`
//!
//! **Invariant:** what is merged is what was looked at. The commit that the branch is at when it was shown, or the one that is named, goes to
//! the server, and so does the branch that it was shown to be for. The server merges no other commit, and into no other branch.

use std::io::Write;

use anyhow::{anyhow, bail};
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
    report::Hint,
};
use wire::{
    client::Client,
    pull::{MergePull, Merged, Pull, PullState},
    task::{TaskSummary, shown::TaskQuery},
};

use super::which::Which;
use crate::{
    commands::task::World,
    timeline::{Ending, Keyboard, words},
};

/// Merge a pull request into the branch that it is for
///
/// On a terminal it is asked first. What the platform delivered is merged; when somebody has pushed to the branch since, `--head` names the
/// commit that was looked at. When the branch is at another one, or it is for another branch than it was shown to be, nothing is merged.
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
        if let PullState::Merged { commit, .. } = &pull.state {
            let merged = Merged { commit: commit.clone() };
            match format {
                Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&merged))?)?,
                Format::People => writeln!(out, "{}", merged_already(number, &merged))?,
            }
            return Ok(Exit::Done);
        }
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
        let wish = MergePull { head, base: pull.base.clone() };
        let merged = client.merge_pull(&repository, number, &wish).await.explained()?;
        match format {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&merged))?)?,
            Format::People => {
                let task = of_pull(client, &repository, number).await?;
                write!(out, "{}", told(&pull, &merged, task.as_ref()))?;
            }
        }
        Ok(Exit::Done)
    }
}

/// The fewest letters that name a commit. Whoever pushes can look for two commits that begin alike, as with plans.
const FEWEST: usize = crate::commands::task::FEWEST;

/// The commit to merge: what its task delivered, or what the person has looked at and names. Either way it is what the branch is at.
fn head(pull: &Pull, named: Option<&str>) -> anyhow::Result<String> {
    let at = pull.head.clone().ok_or_else(|| {
        anyhow!(Hint::new(
            format!(
                "the branch of pull request {} is gone: it is {}",
                pull.number,
                words::pull_state(&pull.state)
            ),
            format!("`lamp pr get {} --repo {}` shows what became of it", pull.number, repo(pull))
        ))
    })?;
    let look = format!("look at it: `lamp pr diff {} --repo {}`", pull.number, repo(pull));
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
            format!("{look}, and merge it by its name: `--head {}`", words::line(&at, 64))
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

/// As a shell takes it.
fn repo(pull: &Pull) -> String {
    domain::shell::quoted(&words::line(&pull.repository, 200))
}

/// The task that made a pull request. One that takes a change back has none.
async fn of_pull(
    client: &Client,
    repository: &str,
    number: u64,
) -> anyhow::Result<Option<TaskSummary>> {
    let repository = Some(repository.to_owned());
    let mut query = TaskQuery { repository, limit: Some(500), ..TaskQuery::default() };
    loop {
        let page = client.tasks(&query).await.explained()?;
        let found = page.tasks.into_iter().find(|it| it.pull_request == Some(number));
        match (found, page.next) {
            (Some(found), _) => return Ok(Some(found)),
            (None, Some(next)) => query.after = Some(next),
            (None, None) => return Ok(None),
        }
    }
}

fn merged_already(number: u64, merged: &Merged) -> String {
    let commit = words::short(&merged.commit);
    format!("Pull request #{number} was merged already, as {commit}. Nothing was done.")
}

/// Only what a task made has a receipt, and only a task ends.
fn told(pull: &Pull, merged: &Merged, task: Option<&TaskSummary>) -> String {
    let number = pull.number;
    let (base, commit) = (words::line(&pull.base, 200), words::short(&merged.commit));
    let what = format!("Pull request #{number} was merged: {base} is at {commit} now.");
    match task {
        None => format!("{what}\n"),
        Some(task) => format!(
            "{what} Task {} ends by itself.\n  lamp verify {number} --repo {}  shows that the receipt of the change holds\n",
            task.short,
            repo(pull),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{commands::pr::samples, timeline::samples as tasks};

    #[test]
    fn only_the_commit_that_was_looked_at_is_merged() {
        let pull = Pull { delivered: tasks::COMMIT.to_owned(), ..samples::pull() };
        assert_eq!(head(&pull, None).unwrap(), tasks::COMMIT);
        let fewest = &tasks::COMMIT[..FEWEST];
        assert_eq!(head(&pull, Some(&fewest.to_uppercase())).unwrap(), tasks::COMMIT);
        for wrong in ["", &fewest[..FEWEST - 1], &words::short(fewest), &"f".repeat(40)] {
            assert!(head(&pull, Some(wrong)).is_err(), "{wrong}");
        }
        assert!(head(&Pull { head: None, ..pull }, None).is_err());
    }

    #[test]
    fn what_somebody_pushed_is_merged_only_by_its_name() {
        let pull = Pull { delivered: "a".repeat(40), ..samples::pull() };
        insta::assert_snapshot!(format!("{:#}", head(&pull, None).unwrap_err()));
        assert_eq!(head(&pull, Some(tasks::COMMIT)).unwrap(), tasks::COMMIT);
        assert!(head(&pull, Some(&words::short(tasks::COMMIT))).is_err());
    }

    #[test]
    fn what_is_merged_is_told_before_and_after() {
        let pull = samples::pull();
        let merged = Merged { commit: tasks::HASH.to_owned() };
        let task = crate::commands::task::samples().into_iter().next();
        let told = [
            summary(&pull, tasks::COMMIT),
            told(&pull, &merged, task.as_ref()),
            told(&pull, &merged, None),
            merged_already(7, &merged),
        ];
        insta::assert_snapshot!(told.join("---\n"));
    }
}
