//! `lamp plan`

use std::io::Write;

use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::task::{plan::TaskPlan, shown::Task};

use super::{World, named::Named};
use crate::{
    amount,
    timeline::{self, next_steps, put::put_line, words},
};

/// Show the newest plan of a task, and what was said to it
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    named: Named,

    #[command(flatten)]
    format: FormatFlag,
}

impl Plan {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let plan = client.task_plan(&task.id).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&plan))?)?,
            Format::People => write!(out, "{}", page(&plan, &task, world.colors))?,
        }
        Ok(Exit::Done)
    }
}

fn page(plan: &TaskPlan, task: &Task, colors: Colors) -> String {
    let mut text = format!("{}\n", words::line(&task.title, 200));
    let at = amount::moment(plan.submitted_at.as_millis());
    let earlier = match plan.earlier {
        0 => String::new(),
        1 => ", after one that was sent back".to_owned(),
        many => format!(", after {many} that were sent back"),
    };
    put_line!(text, "planned at {at}{earlier}\n");
    text.push_str(&timeline::plan(&plan.plan, colors));
    text.push('\n');
    // That it waits is said by what comes next.
    if !plan.waiting {
        text.push_str(&timeline::decision(plan));
        text.push('\n');
    }
    text.push_str(&next_steps(task));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn a_plan_ends_with_how_to_decide_about_it() {
        let [waiting, ..] = samples::decisions();
        let plan = TaskPlan { earlier: 2, ..waiting };
        insta::assert_snapshot!(page(&plan, &samples::waiting_for_approval(), Colors::OFF));
    }
}
