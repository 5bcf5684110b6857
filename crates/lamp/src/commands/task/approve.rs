//! `lamp approve`
//!
//! **Invariant:** what is approved is what was shown. The hash that the person names, or that of the plan on their screen, goes to the server,
//! which approves nothing when another plan waits.

use std::io::Write;

use anyhow::bail;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
    report::Hint,
};
use wire::{
    client::Client,
    task::{ask, plan::TaskPlan, shown::Task},
};

use super::{World, conditions::ConditionFlags, named::Named};
use crate::timeline::{self, Keyboard, Page, Said, ask_about_plan, next_steps, words};

/// The fewest letters of a hash that name a plan. Whoever writes plans can look for two that begin alike, and finds them with twelve letters
/// in a minute: the one is read, and the other waits. Two with thirty-two nobody finds.
pub(crate) const FEWEST: usize = 32;

/// Approve the plan that waits, so that the work begins
///
/// Names the plan by its hash, as `lamp plan` shows it, so that nothing is approved that was not read. Without one, the plan is
/// shown on the terminal and asked about. Conditions narrow what the agent may do; leaving them pauses the task, which then asks for `lamp amend`.
#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    named: Named,

    /// The plan's hash, or at least 32 letters of its beginning
    #[arg(value_name = "PLAN")]
    plan: Option<String>,

    #[command(flatten)]
    conditions: ConditionFlags,

    #[command(flatten)]
    format: FormatFlag,
}

impl Approve {
    pub(super) async fn run(&self, world: World<'_>, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let waiting = waiting(&client, &task).await?;
        let conditions = self.conditions.wish();
        let hash = match &self.plan {
            Some(named) => {
                check(named, &waiting.plan.hash, &task)?;
                waiting.plan.hash
            }
            None if World::has_person(self.format.format()) => {
                let mut page = Page::new(world.audience(Format::People), world.colors, out);
                page.plan(&waiting.plan)?;
                let under = timeline::conditions(&conditions);
                if !under.is_empty() {
                    page.text(&format!("Your conditions:\n{under}\n"))?;
                }
                let details = timeline::details(&task);
                match ask_about_plan(&mut page, &mut Keyboard::open()?, &details).await? {
                    Said::Approve => waiting.plan.hash,
                    Said::Leave => {
                        page.text("Nothing was decided.\n")?;
                        return Ok(timeline::Ending::WaitsForPerson.exit());
                    }
                    Said::Reject(comment) => {
                        let wish = ask::Reject { plan: waiting.plan.hash, comment };
                        let task = client.reject(&task.id, &wish).await.explained()?;
                        page.text(&format!("The plan was sent back.\n{}", next_steps(&task)))?;
                        return Ok(Exit::Done);
                    }
                }
            }
            None => bail!(Hint::new(
                "which plan is meant has to be said where nobody can be asked",
                format!(
                    "`lamp plan {short}` shows it; then `lamp approve {short} {}`",
                    words::line(&waiting.plan.hash, 64),
                    short = task.short,
                )
            )),
        };
        let wish = ask::Approve { plan: hash.clone(), conditions };
        let task = client.approve(&task.id, &wish).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&task))?)?,
            Format::People => write!(out, "{}", approved(&task, &wish))?,
        }
        Ok(Exit::Done)
    }
}

/// The plan that waits; whoever decides about none is told how the task stands.
pub(super) async fn waiting(client: &Client, task: &Task) -> anyhow::Result<TaskPlan> {
    if task.plan_waiting.is_none() {
        bail!(Hint::new(
            format!("no plan of task {} waits for a decision: it is {}", task.short, task.state),
            words::line(&task.next.sentence, 300)
        ));
    }
    client.task_plan(&task.id).await.explained()
}

fn check(named: &str, hash: &str, task: &Task) -> anyhow::Result<()> {
    let named = named.to_ascii_lowercase();
    if named.len() < FEWEST {
        bail!(Hint::new(
            format!("`{}` is too short to name a plan", words::line(&named, 20)),
            format!(
                "write at least {FEWEST} letters of its hash; `lamp plan {}` shows it",
                task.short
            )
        ));
    }
    if !hash.starts_with(&named) {
        bail!(Hint::new(
            format!(
                "another plan waits: {}, not {}; nothing was approved",
                words::short(hash),
                words::line(&named, 64)
            ),
            format!("read it with `lamp plan {}`", task.short)
        ));
    }
    Ok(())
}

fn approved(task: &Task, wish: &ask::Approve) -> String {
    let under = timeline::conditions(&wish.conditions);
    let dot = if under.is_empty() { "." } else { ", and these conditions hold:" };
    format!("Plan {} is approved{dot}\n{under}{}", words::short(&wish.plan), next_steps(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn a_plan_is_approved_by_the_hash_that_was_shown_and_by_no_other() {
        let task = samples::waiting_for_approval();
        let fewest = &samples::HASH[..FEWEST];
        assert!(check(fewest, samples::HASH, &task).is_ok());
        assert!(check(&fewest.to_uppercase(), samples::HASH, &task).is_ok());
        assert!(check(samples::HASH, samples::HASH, &task).is_ok());
        let (short, other) = (&fewest[1..], format!("x{}", &fewest[1..]));
        let twelve = words::short(samples::HASH);
        for wrong in ["", "7", &twelve, short, &other, &format!("{}0", samples::HASH)] {
            assert!(check(wrong, samples::HASH, &task).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_approval_repeats_its_conditions() {
        let wish =
            ask::Approve { plan: samples::HASH.to_owned(), conditions: samples::conditions() };
        insta::assert_snapshot!(approved(&samples::pull_request_open(), &wish));
    }
}
