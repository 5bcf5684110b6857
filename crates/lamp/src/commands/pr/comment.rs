//! `lamp pr comment`

use std::io::Write;

use contracts::ids::{IdSource as _, SystemIds};
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::{
    client::Client,
    pull::{NewComment, Pull, PullState},
};

use super::which::Which;
use crate::{commands::task::WordsFlag, timeline::words};

/// Comment on a pull request: the task that made it wakes and goes on
#[derive(Debug, clap::Args)]
pub(super) struct Comment {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    words: WordsFlag,

    /// The file that it is about
    #[arg(long, value_name = "PATH", requires = "line")]
    path: Option<String>,

    /// The line of that file
    #[arg(long, value_name = "N", requires = "path")]
    line: Option<u32>,

    #[command(flatten)]
    format: FormatFlag,
}

impl Comment {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (repository, number) = self.which.find(client).await?;
        let example = format!("`lamp pr comment {number} \"please rename it\"`");
        let wish = NewComment {
            name: Some(uuid::Uuid::from_u128(SystemIds.next()).to_string()),
            text: self.words.read(&example)?,
            path: self.path.clone(),
            line: self.line,
        };
        let pull = client.comment_on_pull(&repository, number, &wish).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&pull))?)?,
            Format::People => write!(out, "{}", told(&pull))?,
        }
        Ok(Exit::Done)
    }
}

fn told(pull: &Pull) -> String {
    let number = pull.number;
    match pull.state {
        PullState::Draft {} | PullState::Open {} => format!(
            "The comment stands on pull request #{number}; its task soon reads it and goes on.\n  \
             lamp list  shows how it goes\n"
        ),
        PullState::Merged { .. } | PullState::Closed { .. } => format!(
            "The comment stands on pull request #{number}, which is {}: no task reads it.\n  \
             lamp run \"…\"  hands over another\n",
            words::pull_state(&pull.state)
        ),
    }
}

#[cfg(test)]
mod tests {
    use wire::pull::PullAuthor;

    use super::*;
    use crate::commands::pr::samples;

    #[test]
    fn whoever_comments_is_told_whether_anybody_reads_it() {
        let by = PullAuthor::Person { name: "bob".to_owned() };
        let closed = Pull { state: PullState::Closed { by }, ..samples::pull() };
        insta::assert_snapshot!(told(&samples::pull()) + &told(&closed), @r#"
        The comment stands on pull request #7; its task soon reads it and goes on.
          lamp list  shows how it goes
        The comment stands on pull request #7, which is closed by bob: no task reads it.
          lamp run "…"  hands over another
        "#);
    }
}
