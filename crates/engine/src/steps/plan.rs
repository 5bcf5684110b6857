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
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            agent::charged(scene, agent::asked(scene, text, choices, session)).await
        }
        Answer::Plan(plan) => agent::charged(scene, Report::PlanWritten { plan, session }).await,
        other @ (Answer::Notes(_) | Answer::Change | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}
