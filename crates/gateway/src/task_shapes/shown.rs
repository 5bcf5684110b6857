//! A task, as lists and pages show it.

use domain::{
    id::PersonId,
    queue::Position,
    request::Request,
    task::{Event, PauseReason, Resting, Stage, Standing, Task},
};
use engine::record::{ChecksRecord, Dismissal};
use store::{Blobs, History, TaskView};
use wire::task::shown;

use super::{
    event, found, headline, money,
    next::{Around, Checks, next},
    spent::spent,
    time,
};
use crate::task_ids;

pub(crate) fn summary(
    view: &TaskView,
    name: &dyn Fn(PersonId) -> shown::Person,
) -> shown::TaskSummary {
    shown::TaskSummary {
        id: view.task.to_string(),
        short: task_ids::short(view.task),
        state: view.stage.clone(),
        title: view.title.clone(),
        repository: view.repository.to_string(),
        requester: name(view.person),
        agent: view.agent.clone(),
        channel: view.channel.clone(),
        parent: view.parent.map(|parent| parent.to_string()),
        plan_waiting: view.plan.clone(),
        failure: view.failure.clone(),
        pull_request: view.pull_request,
        spent: money(view.spent),
        created_at: time(view.created_at),
        changed_at: time(view.changed_at),
        since: time(view.since),
    }
}

/// What a task's page is made of.
pub(crate) struct Told<'a> {
    pub(crate) view: &'a TaskView,
    pub(crate) history: &'a History,
    /// What its events name.
    pub(crate) documents: &'a Blobs,
    pub(crate) task: &'a Task,
    pub(crate) request: &'a Request,
    pub(crate) dismissals: Vec<Dismissal>,
    pub(crate) branch: Option<String>,
    pub(crate) position: Option<Position>,
    pub(crate) siblings: &'a [TaskView],
}

pub(crate) fn detail(told: Told<'_>, name: &dyn Fn(PersonId) -> shown::Person) -> shown::Task {
    let Told { view, history, documents, task, request, dismissals, branch, position, siblings } =
        told;
    let stage = &task.stage;
    let short = task_ids::short(view.task);
    let queue = position.map(|at| shown::QueuePlace {
        place: u64::try_from(at.place).unwrap_or(u64::MAX),
        reason: at.reason.to_string(),
    });
    let reason = queue.as_ref().map(|queue| queue.reason.as_str());
    let commit = commit(history);
    let around = Around {
        short: &short,
        queue: reason,
        repository: view.repository.as_str(),
        checks: checks(history),
    };
    let next = next(task, &around);
    shown::Task {
        id: view.task.to_string(),
        state: stage.name().to_owned(),
        standing: standing(stage),
        phase: stage
            .work()
            .map(domain::task::Work::phase)
            .or_else(|| stage.phase())
            .map(|it| it.name().to_owned()),
        title: view.title.clone(),
        text: request.text.clone(),
        requester: name(request.author),
        channel: view.channel.clone(),
        repositories: event::repositories(&request.repositories),
        agent: request.agent.to_string(),
        model: request.model.clone(),
        branch: commit.is_some().then_some(branch).flatten(),
        commit,
        pull_request: task.pull_request.map(|number| number.0),
        headline: checked(history, documents),
        sandbox: task.workspace.as_ref().map(|it| it.sandbox.to_string()),
        plan_waiting: stage.waiting_plan().map(|plan| plan.to_string()),
        plan_approved: stage.mandate().map(|it| it.approval().plan.to_string()),
        question: question(history, stage),
        failure: failure(stage),
        done_because: match stage {
            Stage::Done { because } => Some(event::done(*because).to_owned()),
            Stage::Queued { .. }
            | Stage::Preparing { .. }
            | Stage::Working(_)
            | Stage::AwaitingAnswer { .. }
            | Stage::AwaitingApproval { .. }
            | Stage::Paused { .. }
            | Stage::PullRequestOpen { .. }
            | Stage::Waking { .. }
            | Stage::Failed { .. }
            | Stage::Cancelled { .. } => None,
        },
        attempt: stage.mandate().map(domain::task::Mandate::attempt),
        review_round: stage.mandate().map(domain::task::Mandate::review_round),
        dismissed: dismissals.into_iter().map(|it| found::dismissed(it, name)).collect(),
        spent: spent(task.spent),
        budget: money(task.budget()),
        next,
        short,
        queue,
        parent: request.parent.map(|parent| parent.to_string()),
        siblings: siblings.iter().map(sibling).collect(),
        events: history.seq(),
        created_at: time(view.created_at),
        changed_at: history.events.last().map_or(time(view.changed_at), |newest| time(newest.at)),
        since: time(view.since),
    }
}

fn sibling(view: &TaskView) -> shown::Sibling {
    shown::Sibling {
        id: view.task.to_string(),
        short: task_ids::short(view.task),
        state: view.stage.clone(),
        agent: view.agent.clone(),
        pull_request: view.pull_request,
    }
}

const fn standing(stage: &Stage) -> shown::Standing {
    match stage.standing() {
        Standing::NeedsPlace => shown::Standing::Queued,
        Standing::HoldsPlace => shown::Standing::Works,
        Standing::Rests => shown::Standing::WaitsForPerson,
        Standing::Over => shown::Standing::Over,
    }
}

fn checks(history: &History) -> Checks {
    let ran = history.events.iter().any(|recorded| {
        matches!(recorded.event, Event::ChecksPassed { .. } | Event::ChecksFailed { .. })
    });
    if ran { Checks::Ran } else { Checks::Never }
}

/// What the checks of its newest commit say together.
fn checked(history: &History, documents: &Blobs) -> Option<wire::task::checks::Headline> {
    let since_change = |event: &&Event| !matches!(event, Event::Implemented { .. });
    let newest_first = history.events.iter().rev().map(|recorded| &recorded.event);
    let evidence = newest_first.take_while(since_change).find_map(|event| {
        let (Event::ChecksPassed { evidence } | Event::ChecksFailed { evidence, .. }) = event
        else {
            return None;
        };
        Some(*evidence)
    });
    let record = ChecksRecord::read(&documents.get(evidence?).ok()?).ok()?;
    Some(headline::headline(&record))
}

/// The newest commit of its work.
fn commit(history: &History) -> Option<String> {
    history.events.iter().rev().find_map(|recorded| {
        let Event::Implemented { commit, .. } = &recorded.event else { return None };
        Some(commit.to_string())
    })
}

fn question(history: &History, stage: &Stage) -> Option<shown::Question> {
    let (Stage::AwaitingAnswer { question: open, .. }
    | Stage::Paused { at: Resting::Question { question: open, .. }, .. }) = stage
    else {
        return None;
    };
    history.events.iter().rev().find_map(|recorded| {
        let Event::QuestionAsked { question, .. } = &recorded.event else { return None };
        (question.id == *open).then(|| event::question_out(question))
    })
}

fn failure(stage: &Stage) -> Option<shown::Failure> {
    match stage {
        Stage::Failed { failure, .. }
        | Stage::Paused { why: PauseReason::Failure(failure), .. } => Some(event::failure(failure)),
        Stage::Queued { .. }
        | Stage::Preparing { .. }
        | Stage::Working(_)
        | Stage::AwaitingAnswer { .. }
        | Stage::AwaitingApproval { .. }
        | Stage::Paused { .. }
        | Stage::PullRequestOpen { .. }
        | Stage::Waking { .. }
        | Stage::Done { .. }
        | Stage::Cancelled { .. } => None,
    }
}
