//! The agent writes its plan. It is only words: approving it is a person's business.
//!
//! What the work will take is not the agent's to say: that is estimated from earlier tasks.

use contracts::agent::{Answer, Mode};
use domain::task::Report;

use super::{
    Done, Outcome, Scene, Trouble,
    agent::{self, Memory},
};
use crate::{Hands, estimate::estimate};

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let outcome = agent::run(scene, Mode::Plan, scene.workspace()?, Memory::Continued).await?;
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            Ok(Done::Reports(vec![agent::asked(scene, text, choices, session)]))
        }
        Answer::Plan(mut plan) => {
            let seen = estimate(&scene.engine.store, scene.repository()?, scene.agent()).await;
            plan.estimate = seen.map_err(|error| Trouble::Busy(error.to_string()))?;
            Ok(Done::Reports(vec![Report::PlanWritten { plan, session }]))
        }
        other @ (Answer::Notes(_) | Answer::Change | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}
