//! Whether the work stayed within what its approver allowed (GA4).
//!
//! The walls hold either way: what is not allowed is not reached, and what was done in a sandbox stays there. But whoever goes another way
//! than the plan said should not go on as if nothing had happened: the task pauses, and a person amends the approval or says no.
//!
//! Paths are those of the change that was taken out. Hosts are those that the gateway was asked for and refused. Commands are those that the
//! agent told of; one that does not tell is not found here, and is still behind the walls.

use contracts::forge::{Workflows, workflow};
use domain::{
    approval::Conditions,
    failure::{Failure, FailureKind},
    task::Mandate,
    transcript::{AgentEvent, ToolKind},
};

use super::{Scene, Trouble, open::outfit_trouble, refused};
use crate::{Hands, record::ChangeRecord};

/// Events of a transcript that are looked at in one go.
const PAGE: i64 = 500;

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

/// Stops the task where the agent has left the conditions in this step, whatever came of it.
pub(super) async fn conduct<H: Hands>(scene: &Scene<'_, H>) -> Result<(), Trouble> {
    let Some(conditions) = conditions(scene) else { return Ok(()) };
    let drift = |message: String| Err(scene.failed(FailureKind::PlanDrift, message));
    hosts(scene, conditions).await?;
    match told_commands(scene).await?.into_iter().find(|it| !conditions.allow_command(it)) {
        Some(command) => {
            drift(format!("the agent ran `{command}`, which the approval does not allow"))
        }
        None => Ok(()),
    }
}

/// Where an approver named hosts, each other one is drift. One of theirs that was refused all the same is not: the policy is narrower than
/// they thought, and they should know.
async fn hosts<H: Hands>(scene: &Scene<'_, H>, conditions: &Conditions) -> Result<(), Trouble> {
    if conditions.hosts.is_none() {
        return Ok(());
    }
    let found = refused::hosts(scene).await.map_err(|error| outfit_trouble(scene, &error))?;
    if found.is_empty() {
        return Ok(());
    }
    if let Some(refused) = found.iter().find(|it| !conditions.allow_host(&it.host)) {
        let host = scene.engine.settings.redactor.clean(&refused.host);
        let message = format!("the agent asked for `{host}`, which the approval does not allow");
        return Err(scene.failed(FailureKind::PlanDrift, message));
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

/// The commands of this step, as the agent told them. Not asked for where no condition is about them.
async fn told_commands<H: Hands>(scene: &Scene<'_, H>) -> Result<Vec<String>, Trouble> {
    let mut told = Vec::new();
    if conditions(scene).is_none_or(|conditions| conditions.commands.is_none()) {
        return Ok(told);
    }
    let mut cursor = 0;
    loop {
        let page = scene.engine.store.transcript_after(scene.lease.task, cursor, PAGE).await;
        let page = page.map_err(|error| Trouble::Busy(error.to_string()))?;
        let Some(last) = page.last() else { return Ok(told) };
        cursor = last.number;
        for said in page.into_iter().filter(|said| said.run == scene.lease.seq) {
            if let AgentEvent::ToolCall(call) = said.event
                && call.kind == ToolKind::Execute
            {
                told.push(command(&call.input.unwrap_or(call.title)));
            }
        }
    }
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
