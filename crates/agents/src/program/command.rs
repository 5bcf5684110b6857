//! Any program or script as the worker, without a model: a codemod, an update of dependencies.
//!
//! It gets its task as JSON at its input, and the places in variables. In the phase `implement` its exit code and what it left in the
//! repositories are the result. In the others it writes its answer as JSON into the file that `LAMP_ANSWER` names.

use contracts::sandbox::HOME;

use super::{FirstInput, Launch, ModelChoice, Program, Speech, Steering, Wish, variables};

/// Where its answer is, below the home of agents.
pub(crate) const ANSWER: &str = ".lamp-answer.json";

pub(super) const PROGRAM: Program = Program {
    name: "command",
    title: "a program or script",
    packages: &[],
    binary: "",
    version: &[],
    formats: &[],
    model: ModelChoice::Its,
    speech: Speech::Plain,
    steering: Steering::Never,
    memory: &[],
    memory_mib: 0,
    launch,
};

fn launch(wish: &Wish<'_>) -> Launch {
    let answer = format!("{HOME}/{ANSWER}");
    let environment = variables([
        ("LAMP_MODE", wish.mode.name()),
        ("LAMP_ANSWER", &answer),
        ("LAMP_WORKSPACE", contracts::sandbox::WORKSPACE),
    ]);
    let command = wish.command.unwrap_or_default().to_owned();
    Launch {
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), command],
        environment,
        files: Vec::new(),
        input: FirstInput::Prompt,
    }
}
