//! Whether the work stayed within what its approver allowed (GA4).
//!
//! The walls hold either way: what is not allowed is not reached, and what was done in a sandbox stays there. But whoever goes another way
//! than the plan said should not go on as if nothing had happened: the task pauses, and a person amends the approval or says no.
//!
//! Paths are those of the change that was taken out. Hosts are those that the gateway was asked for and refused. Commands are those that the
//! agent told of; one that does not tell is not found here, and is still behind the walls. They count in every run under the approval, also
//! in one that failed or was stopped: its sandbox is kept, so what was done there goes on into what is delivered.

use contracts::forge::{Workflows, workflow};
use domain::{
    approval::Conditions,
    failure::{Ending, Failure, FailureKind},
    task::{Event, Mandate, PauseReason},
    transcript::{AgentEvent, ToolKind},
};
use store::History;

use super::{Scene, Trouble, open::outfit_trouble, refused};
use crate::{
    Hands,
    record::ChangeRecord,
    stretches::{ChangeRun, change_runs},
};

/// Events of a transcript that are looked at in one go.
const PAGE: i64 = 500;

/// Commands that a failure names. An agent can tell of as many as it likes.
const NAMED: usize = 5;

/// Stops the task where a change has left the conditions, as they are now: they may have been amended since it was made.
pub(super) fn change<H: Hands>(scene: &Scene<'_, H>, change: &ChangeRecord) -> Result<(), Trouble> {
    let Some(conditions) = conditions(scene) else { return Ok(()) };
    let is_workflow = |path: &&String| workflow(path).is_some();
    let beside = match workflows(conditions) {
        Workflows::Approved => None,
        Workflows::NeedApproval => change.paths.iter().find(is_workflow),
    };
    let outside = change.paths.iter().find(|path| !conditions.allow_path(path));
    match outside.or(beside) {
        Some(path) => {
            let message = format!("the change touches `{path}`, which the approval does not allow");
            Err(scene.failed(FailureKind::PlanDrift, message))
        }
        None => Ok(()),
    }
}

/// Stops the task where the agent has left the conditions, before anything of its work is taken.
pub(super) async fn conduct<H: Hands>(scene: &Scene<'_, H>) -> Result<(), Trouble> {
    let Some(conditions) = conditions(scene) else { return Ok(()) };
    let ran = told(&forbidden_commands(scene).await?);
    let asked = hosts(scene, conditions).await?;
    // Both are told at once: whoever amends the approval has then seen all of it.
    let drift: Vec<String> = ran.into_iter().chain(asked).collect();
    if drift.is_empty() {
        return Ok(());
    }
    Err(scene.failed(FailureKind::PlanDrift, drift.join("; ")))
}

/// Stops the task where the agent has told of a command that was not allowed.
pub(super) async fn commands<H: Hands>(scene: &Scene<'_, H>) -> Result<(), Trouble> {
    match told(&forbidden_commands(scene).await?) {
        Some(message) => Err(scene.failed(FailureKind::PlanDrift, message)),
        None => Ok(()),
    }
}

/// What an agent did before it failed counts as well. The failure alone would be forgotten with the next run, which begins in what this one
/// has left. Where the sandbox is gone, nothing is left.
pub(super) async fn behind<H: Hands>(scene: &Scene<'_, H>, trouble: Trouble) -> Trouble {
    let Trouble::Failed(failure) = trouble else { return trouble };
    if failure.kind.ending() == Ending::Ends && failure.kind != FailureKind::AgentError {
        return Trouble::Failed(failure);
    }
    match forbidden_commands(scene).await.as_deref().map(told) {
        Ok(None) => Trouble::Failed(failure),
        Ok(Some(message)) => {
            let message = format!("{message}; then it ended: {}", failure.message);
            Trouble::Failed(Failure { kind: FailureKind::PlanDrift, message, ..failure })
        }
        // The next run looks again, before it does anything.
        Err(_unread) => Trouble::Failed(failure),
    }
}

/// Where an approver named hosts, each other one is drift. One of theirs that was refused all the same is not: the policy is narrower than
/// they thought, and they should know.
async fn hosts<H: Hands>(
    scene: &Scene<'_, H>,
    conditions: &Conditions,
) -> Result<Option<String>, Trouble> {
    if conditions.hosts.is_none() {
        return Ok(None);
    }
    let found = refused::hosts(scene).await.map_err(|error| outfit_trouble(scene, &error))?;
    if found.is_empty() {
        return Ok(None);
    }
    if let Some(refused) = found.iter().find(|it| !conditions.allow_host(&it.host)) {
        let host = scene.engine.settings.redactor.clean(&refused.host);
        return Ok(Some(format!(
            "the agent asked for `{host}`, which the approval does not allow"
        )));
    }
    let message = "the approval allows what the policy does not";
    let failure = Failure::new(FailureKind::EgressBlocked, scene.phase(), message);
    Err(Trouble::Failed(refused::behind(scene, failure, &found)))
}

/// Workflow files need an approval of their own (RV6): a condition that names them.
pub(super) fn workflows(conditions: &Conditions) -> Workflows {
    let is_named = |path: &String| workflow(path).is_some();
    match &conditions.paths {
        Some(paths) if paths.iter().any(is_named) => Workflows::Approved,
        Some(_) | None => Workflows::NeedApproval,
    }
}

pub(super) fn conditions<'s, H: Hands>(scene: &'s Scene<'_, H>) -> Option<&'s Conditions> {
    scene.task.stage.mandate().map(Mandate::approval).map(|approval| &approval.conditions)
}

/// Commands that the agent told of, and that were neither allowed when it ran them nor are now. Not asked for where no condition is about
/// them.
async fn forbidden_commands<H: Hands>(scene: &Scene<'_, H>) -> Result<Vec<String>, Trouble> {
    let mut forbidden = Vec::new();
    let Some(now) = conditions(scene).filter(|conditions| conditions.commands.is_some()) else {
        return Ok(forbidden);
    };
    for ChangeRun { seq, conditions: then } in unsettled(&scene.history) {
        for command in told_commands(scene, seq).await? {
            let is_allowed = now.allow_command(&command) || then.allow_command(&command);
            if !is_allowed && !forbidden.contains(&command) {
                forbidden.push(command);
            }
        }
    }
    Ok(forbidden)
}

/// The runs that nobody has looked at yet: those of this approval in this sandbox, however they ended. An amendment of an approval that was
/// left settles what was told before it; one for any other reason does not.
fn unsettled(history: &History) -> Vec<ChangeRun> {
    let (mut settled, mut is_told) = (0, false);
    for recorded in &history.events {
        if let Event::Paused { why } = &recorded.event {
            is_told = match why {
                PauseReason::Failure(failure) => failure.kind == FailureKind::PlanDrift,
                PauseReason::Asked { .. } => false,
            };
        }
        let is_amended = is_told && matches!(recorded.event, Event::Amended { .. });
        // The sandbox goes when a task is over; a retry gets another.
        let is_anew = matches!(
            recorded.event,
            Event::Approved { .. }
                | Event::Done { .. }
                | Event::Failed { .. }
                | Event::Cancelled { .. }
        );
        if is_amended || is_anew {
            (settled, is_told) = (recorded.seq, false);
        }
    }
    change_runs(history).into_iter().filter(|run| run.seq > settled).collect()
}

/// The commands of one run, as the agent told them.
async fn told_commands<H: Hands>(scene: &Scene<'_, H>, run: u64) -> Result<Vec<String>, Trouble> {
    let (mut commands, mut cursor) = (Vec::new(), 0);
    loop {
        let page = scene.engine.store.run_after((scene.lease.task, run), cursor, PAGE).await;
        let page = page.map_err(|error| Trouble::Busy(error.to_string()))?;
        let Some(last) = page.last() else { return Ok(commands) };
        cursor = last.number;
        for said in page {
            if let AgentEvent::ToolCall(call) = said.event
                && call.kind == ToolKind::Execute
            {
                commands.push(command(&call.input.unwrap_or(call.title)));
            }
        }
    }
}

/// The commands in one sentence; none of none.
fn told(commands: &[String]) -> Option<String> {
    if commands.is_empty() {
        return None;
    }
    let named: Vec<String> = commands.iter().take(NAMED).map(|it| format!("`{it}`")).collect();
    let named = match commands.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    };
    Some(format!("the agent ran {named}, which the approval does not allow"))
}

/// What is run, of what a tool was given: programs tell it bare, or as the argument `command`.
fn command(input: &str) -> String {
    let given: Option<serde_json::Value> = serde_json::from_str(input).ok();
    let named = given
        .as_ref()
        .and_then(|given| ["command", "cmd", "script"].iter().find_map(|name| given.get(*name)));
    match named {
        Some(serde_json::Value::String(command)) => command.trim().to_owned(),
        Some(serde_json::Value::Array(words)) => {
            let words = words.iter().filter_map(serde_json::Value::as_str);
            words.collect::<Vec<_>>().join(" ")
        }
        Some(_) | None => input.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_up_to_a_few() {
        let commands: Vec<String> = (1..=7).map(|number| number.to_string()).collect();
        assert_eq!(told(&[]), None);
        let one = "the agent ran `1`, which the approval does not allow";
        assert_eq!(told(&commands[..1]).unwrap(), one);
        let all =
            "the agent ran `1`, `2`, `3`, `4`, `5` and 2 more, which the approval does not allow";
        assert_eq!(told(&commands).unwrap(), all);
    }

    #[test]
    fn a_command_is_found_in_what_a_tool_was_given() {
        for (input, expected) in [
            (r#"{"command":"cargo test","timeout":5}"#, "cargo test"),
            (r#"{"command":["bash","-lc","make"]}"#, "bash -lc make"),
            ("make test", "make test"),
            (r#"{"path":"x"}"#, r#"{"path":"x"}"#),
        ] {
            assert_eq!(command(input), expected);
        }
    }
}
