//! `lamp pick`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::ask::{Picked, PickedBy};

use super::{World, named::Named};
use crate::timeline::{headline, next_steps, put::put_line, words};

/// Keep one of several attempts side by side, and cancel the others
#[derive(Debug, clap::Args)]
pub(crate) struct Pick {
    #[command(flatten)]
    named: Named,

    /// Have the checks pick: of all attempts beside TASK that came to a pull request, the one that mends most and weakens least
    #[arg(long)]
    checks: bool,

    #[command(flatten)]
    format: FormatFlag,
}

impl Pick {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let by = if self.checks { PickedBy::Checks } else { PickedBy::Person };
        let picked = client.pick(&task.id, by).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&picked))?)?,
            Format::People => write!(out, "{}", told(&picked))?,
        }
        Ok(Exit::Done)
    }
}

fn told(picked: &Picked) -> String {
    let mut text = match &picked.why {
        Some(why) => {
            format!("Task {} is kept: {}.\n", picked.task.short, words::line(why, 200))
        }
        None => format!("Task {} is kept.\n", picked.task.short),
    };
    if let Some(told) = &picked.task.headline {
        put_line!(text, "Checks: {}.", words::line(&told.sentence, 300));
        text.push_str(&headline::advice(told, "  ! "));
    }
    for (what, ids) in [("cancelled", &picked.cancelled), ("was over already", &picked.over)] {
        for id in ids {
            put_line!(text, "  {} {what}", words::line(id, 40));
        }
    }
    text + &next_steps(&picked.task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn what_became_of_the_others_is_told() {
        let picked = Picked {
            task: samples::pull_request_open(),
            cancelled: vec!["t_01jbrt5cy4gzf8z40j6hb7h6nw".to_owned()],
            over: vec!["t_01jbrt5cy4hzf8z40j6hb7h6nw".to_owned()],
            why: None,
        };
        insta::assert_snapshot!(told(&picked));
        let by_checks = Picked { why: Some("it mends more of what failed".to_owned()), ..picked };
        let first = told(&by_checks).lines().next().unwrap_or_default().to_owned();
        assert!(first.ends_with(" is kept: it mends more of what failed."), "{first}");
    }
}
