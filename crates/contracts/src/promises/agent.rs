//! The promises of an agent driver.

use std::time::Duration;

use domain::{agent::AgentName, cost::Cost, id::SandboxId, money::Money};
use tokio::sync::mpsc;

use super::{Kept, TASK, keep, key, succeed};
use crate::{
    agent::{AgentError, AgentEvent, Agents, Answer, Brief, Mode, Outcome, Run},
    secret::SecretSource,
};

/// Plays with `agent` in a sandbox that is open.
pub async fn kept(
    agents: &impl Agents,
    secrets: &impl SecretSource,
    agent: AgentName,
    sandbox: SandboxId,
) -> Kept {
    let run = |seq, mode| Run {
        key: key(seq),
        task: TASK,
        sandbox,
        agent: agent.clone(),
        mode,
        directories: vec![crate::sandbox::WORKSPACE.to_owned()],
        base: None,
        brief: Brief { request: "say hello".to_owned(), ..Brief::default() },
        session: None,
        limit: Duration::from_mins(1),
        budget: Money::from_dollars(1),
    };
    succeed("the sandbox is granted", secrets.grant(key(1), sandbox).await)?;
    let first = answer(agents, run(1, Mode::Research)).await?;
    keep(
        "research ends in notes or a question",
        matches!(first, Answer::Notes(_) | Answer::Question { .. }),
    )?;
    let bill = succeed("a task has a bill", agents.bill(TASK).await)?;
    let again = answer(agents, run(1, Mode::Research)).await?;
    keep("a repeated key gets the first answer", first == again)?;
    let plan = answer(agents, run(2, Mode::Plan)).await?;
    keep(
        "planning ends in a plan or a question",
        matches!(plan, Answer::Plan(_) | Answer::Question { .. }),
    )?;
    let review = answer(agents, run(3, Mode::Review)).await?;
    keep("a review ends in findings", matches!(review, Answer::Review(_)))?;
    let later = succeed("a task has a bill", agents.bill(TASK).await)?;
    keep("a bill never decreases", bill.since(later) == Cost::ZERO)?;
    succeed("the grant is withdrawn", secrets.revoke(key(4)).await)?;
    let last = succeed("a task has a last bill", agents.bill(TASK).await)?;
    let refused = play(agents, run(5, Mode::Plan)).await;
    keep("without a grant an agent does not come far", refused.is_err())?;
    let after = succeed("a task has a last bill", agents.bill(TASK).await)?;
    keep("without a grant nothing is spent", after == last)
}

async fn answer(agents: &impl Agents, run: Run) -> Result<Answer, super::Broken> {
    let outcome = play(agents, run).await;
    succeed("a run ends with an outcome", outcome).map(|outcome| outcome.answer)
}

async fn play(agents: &impl Agents, run: Run) -> Result<Outcome, AgentError> {
    let (_words, listening) = mpsc::channel(1);
    let (events, mut told) = mpsc::channel::<AgentEvent>(16);
    let reading = async { while told.recv().await.is_some() {} };
    let (outcome, ()) = tokio::join!(agents.run(&run, listening, events), reading);
    outcome
}
