//! `lamp pr review`

use std::io::Write;

use anyhow::Context as _;
use contracts::ids::{IdSource as _, SystemIds};
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{
    client::Client,
    pull::{NewReview, Pull, PullOpinion},
};

use super::which::Which;
use crate::{commands::task::WordsFlag, timeline::words};

/// Review a pull request: approve it, or ask its task for changes
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("opinion").required(true))]
pub(super) struct Review {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    words: WordsFlag,

    /// Approve what its branch is at: a draft becomes one that is ready to be merged
    #[arg(long, group = "opinion")]
    approve: bool,

    /// Ask for changes: the task wakes and goes on
    #[arg(long, group = "opinion")]
    changes: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Review {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (repository, number) = self.which.find(client).await?;
        let pull = client.pull(&repository, number).await.explained()?;
        let gone = || format!("the branch `{}` of pull request {number} is gone", pull.branch);
        let example = format!("`lamp pr review {number} --changes \"please rename it\"`");
        let wish = NewReview {
            name: Some(uuid::Uuid::from_u128(SystemIds.next()).to_string()),
            commit: pull.head.clone().with_context(gone)?,
            opinion: if self.approve { PullOpinion::Approves } else { PullOpinion::WantsChanges },
            text: if self.approve {
                self.words.read_if_any()?.unwrap_or_default()
            } else {
                self.words.read(&example)?
            },
        };
        let pull = client.review_pull(&repository, number, &wish).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&pull))?)?,
            Format::People => write!(out, "{}", told(&pull, &wish))?,
        }
        Ok(Exit::Done)
    }
}

fn told(pull: &Pull, review: &NewReview) -> String {
    let (number, commit) = (pull.number, words::short(&review.commit));
    let state = words::pull_state(&pull.state);
    match review.opinion {
        PullOpinion::Approves => format!(
            "You approve {commit}; pull request #{number} is {state}.\n  \
             lamp pr merge {number} --repo {}  merges it\n",
            words::line(&pull.repository, 200)
        ),
        PullOpinion::WantsChanges | PullOpinion::Remarks => format!(
            "Your review of {commit} stands on pull request #{number}, which is {state}; its task soon reads it.\n  \
             lamp list  shows how it goes\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::pr::samples;

    #[test]
    fn whoever_reviews_is_told_what_follows() {
        let pull = samples::pull();
        let review = |opinion| NewReview {
            name: None,
            commit: pull.delivered.clone(),
            opinion,
            text: String::new(),
        };
        let both = [PullOpinion::Approves, PullOpinion::WantsChanges];
        let said: String = both.map(|opinion| told(&pull, &review(opinion))).concat();
        insta::assert_snapshot!(said);
    }
}
