//! `lamp revert`: takes a merged change back, with a pull request that undoes it and nothing else.

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{
    pull::{Pull, PullState},
    task::ask::{RevertTask, Reverted},
};

use super::{World, named::Named};
use crate::timeline::words;

/// Take back what a task changed, with a pull request that undoes it
///
/// What came after the change stays. Where others built upon it, the files are named, and nothing is done. Asked again, the same pull request is found.
#[derive(Debug, clap::Args)]
pub(crate) struct Revert {
    #[command(flatten)]
    named: Named,

    /// Merge it at once
    #[arg(long)]
    merge: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Revert {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let wish = RevertTask { merge: self.merge };
        let reverted = client.revert_task(&task.id, &wish).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&reverted))?)?,
            Format::People => write!(out, "{}", told(&reverted))?,
        }
        Ok(Exit::Done)
    }
}

fn told(Reverted { reverts, pull }: &Reverted) -> String {
    let Pull { number, state: stands, .. } = pull;
    let (repo, branch) = (
        domain::shell::quoted(&words::line(&pull.repository, 200)),
        words::line(&pull.branch, 200),
    );
    match stands {
        PullState::Draft {} | PullState::Open {} => format!(
            "Pull request #{number} takes back #{reverts}, on the branch {branch}. Nothing is merged yet.\n  \
             lamp pr diff {number} --repo {repo}   shows what it undoes\n  \
             lamp pr merge {number} --repo {repo}  merges it\n"
        ),
        PullState::Merged { .. } | PullState::Closed { .. } => {
            let stands = words::line(&words::pull_state(stands), 100);
            format!("Pull request #{number}, which takes back #{reverts}, is {stands}.\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::pull::PullAuthor;

    use super::*;
    use crate::{commands::pr::samples as pulls, timeline::samples};

    #[test]
    fn a_revert_says_whether_it_waits() {
        let by = PullAuthor::Person { name: "ann".to_owned() };
        let merged = PullState::Merged { commit: samples::COMMIT.to_owned(), by };
        let told = [PullState::Draft {}, merged].map(|state| {
            let pull =
                Pull { number: 8, state, branch: "agent/revert-7".to_owned(), ..pulls::pull() };
            told(&Reverted { reverts: 7, pull })
        });
        insta::assert_snapshot!(told.join("---\n"));
    }
}
