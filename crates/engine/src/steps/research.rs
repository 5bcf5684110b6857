//! The agent reads, and writes down what it found. A repeat gets the first answer.

use contracts::agent::{Answer, Mode};
use domain::task::Report;

use super::{
    Done, Outcome, Scene,
    agent::{self, Memory},
};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let outcome = agent::run(scene, Mode::Research, scene.workspace()?, Memory::Continued).await?;
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            Ok(Done::Reports(vec![agent::asked(scene, text, choices, session)]))
        }
        Answer::Notes(notes) => {
            let notes = scene.keep(&notes)?;
            Ok(Done::Reports(vec![Report::Researched { notes, session }]))
        }
        other @ (Answer::Plan(_) | Answer::Change | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}
