//! The agent writes its plan. It is only words: approving it is a person's business.

use contracts::agent::{Answer, Mode};
use domain::task::Report;

use super::{
    Done, Outcome, Scene,
    agent::{self, Memory},
};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let outcome = agent::run(scene, Mode::Plan, scene.workspace()?, Memory::Continued).await?;
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            Ok(Done::Reports(vec![agent::asked(scene, text, choices, session)]))
        }
        Answer::Plan(plan) => Ok(Done::Reports(vec![Report::PlanWritten { plan, session }])),
        other @ (Answer::Notes(_) | Answer::Change | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}
