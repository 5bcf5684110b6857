//! Commands from outside: read the task, decide, append; and again if someone was faster.

use contracts::order::Orders as _;
use domain::{
    id::TaskId,
    limits::Limits,
    people::Person,
    request::{Request, Trigger, TriggerRefusal, Triggerer},
    task::{Ask, Command, Event, Refusal, Task, decide},
};
use store::{Append, AuditEntry, StoreError};

use crate::{Engine, Hands, witness::Moment};

#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    NotStarted(#[from] TriggerRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How often to decide anew when others keep changing the task. More means a fault of ours.
const TRIES: usize = 32;

pub(crate) async fn begin<H: Hands>(
    engine: &Engine<H>,
    task: TaskId,
    trigger: Trigger,
    limits: Limits,
) -> Result<(), SubmitError> {
    let by = match &trigger.by {
        Triggerer::Person(person) => person.id.to_string(),
        Triggerer::Bot { name, .. } => format!("bot {name}"),
    };
    let request = match Request::freeze(trigger, &engine.settings.bots) {
        Ok(request) => request,
        Err(refusal) => {
            remember_refusal(engine, task, by, "start a task", &refusal.to_string()).await?;
            return Err(refusal.into());
        }
    };
    let requested = Event::Requested { request, limits };
    let append = Append {
        task,
        seq: 0,
        before: None,
        events: vec![requested.clone()],
        at: engine.now(),
        settles: None,
    };
    match engine.store.append(append).await {
        Ok(appended) => {
            engine.settings.witness.sees(Moment::Appended { task, seq: appended.seq });
            Ok(())
        }
        // The caller repeats a call whose answer was lost; another request must not pass for it.
        Err(error @ StoreError::Exists { .. }) => {
            let history = engine.store.history(task).await?;
            let first = history.events.first().map(|first| &first.event);
            let same = is_same(first, &requested);
            if same { Ok(()) } else { Err(error.into()) }
        }
        Err(error) => Err(error.into()),
    }
}

fn is_same(first: Option<&Event>, again: &Event) -> bool {
    let Some(Event::Requested { request: before, limits: allowed }) = first else { return false };
    let Event::Requested { request, limits } = again else { return false };
    before.asks_the_same(request) && allowed == limits
}

/// What a person asks for. A budget grows to what the policy lets any task spend, and what works now may spend it at once.
pub(crate) async fn ask<H: Hands>(
    engine: &Engine<H>,
    task: TaskId,
    by: Person,
    ask: Ask,
) -> Result<Task, SubmitError> {
    let Ask::RaiseBudget { to } = ask else {
        return Box::pin(command(engine, task, Command::Ask { by, ask })).await;
    };
    let orders = engine.hands.orders();
    let most = orders.largest_budget();
    if to > most {
        let refusal = Refusal::BudgetTooLarge { to, most };
        let (by, why) = (by.id.to_string(), refusal.to_string());
        remember_refusal(engine, task, by, ask.name(), &why).await?;
        return Err(refusal.into());
    }
    let raised = Box::pin(command(engine, task, Command::Ask { by, ask })).await?;
    orders.allow(task, raised.budget());
    Ok(raised)
}

pub(crate) async fn command<H: Hands>(
    engine: &Engine<H>,
    task: TaskId,
    command: Command,
) -> Result<Task, SubmitError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let history = engine.store.history(task).await?;
        let before = history.task().ok_or(StoreError::NoTask { task })?;
        let event = match decide(&before, command.clone()) {
            Ok(event) => event,
            Err(refusal) => {
                if let Command::Ask { by, ask } = &command {
                    let (by, why) = (by.id.to_string(), refusal.to_string());
                    remember_refusal(engine, task, by, ask.name(), &why).await?;
                }
                return Err(refusal.into());
            }
        };
        let append = Append {
            task,
            seq: history.seq(),
            before: Some(before),
            events: vec![event],
            at: engine.now(),
            settles: None,
        };
        match engine.store.append(append).await {
            Ok(appended) => {
                engine.settings.witness.sees(Moment::Appended { task, seq: appended.seq });
                return Ok(appended.task);
            }
            Err(StoreError::Conflict { .. }) if tries < TRIES => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Someone who was refused tried something: the audit log says what.
async fn remember_refusal<H: Hands>(
    engine: &Engine<H>,
    task: TaskId,
    actor: String,
    wish: &str,
    why: &str,
) -> Result<(), StoreError> {
    let entry = AuditEntry {
        at: engine.now(),
        actor,
        action: "refused".to_owned(),
        subject: task.to_string(),
        detail: format!("to {wish}: {why}"),
    };
    engine.store.audit(entry).await
}
