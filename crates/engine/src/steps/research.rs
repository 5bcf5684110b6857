//! The agent reads, and writes down what it found. A repeat gets the first answer.

use contracts::agent::{Answer, Mode};
use domain::task::Report;

use super::{
    Outcome, Scene,
    agent::{self, Memory},
};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let outcome = agent::run(scene, Mode::Research, scene.workspace()?, Memory::Continued).await?;
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            agent::charged(scene, agent::asked(scene, text, choices, session)).await
        }
        Answer::Notes(notes) => {
            let notes = scene.keep(&notes)?;
            agent::charged(scene, Report::Researched { notes, session }).await
        }
        other @ (Answer::Plan(_) | Answer::Change | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}
