//! The agent writes its plan. It is only words: approving it is a person's business.

use contracts::agent::{Answer, Mode};
use domain::task::Report;

use super::{
    Outcome, Scene,
    agent::{self, Memory},
};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let outcome = agent::run(scene, Mode::Plan, scene.workspace()?, Memory::Continued).await?;
    let (session, cost) = (outcome.session, outcome.cost);
    match outcome.answer {
        Answer::Question { text, choices } => Ok(agent::asked(scene, text, choices, session, cost)),
        Answer::Plan(plan) => {
            Ok(agent::charged(scene, Report::PlanWritten { plan, session }, cost))
        }
        other @ (Answer::Notes(_) | Answer::Change | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}
