//! Why is this line there? From blame to the commit's note, and from the note to the task, its plan, its approval and what was said.
//!
//! A note is in the repository, where anybody who may push can write one. So it only says where to look: a line is a task's when the
//! task's own events say that it made the commit.

use std::sync::Arc;

use contracts::forge::{ForgeError, PullError};
use domain::{
    code::{CommitId, RepositoryName},
    id::{PersonId, TaskId},
    plan::Plan,
    request::Request,
    task::Event,
    transcript::AgentEvent,
};
use evidence::commit::{Note, title};
use forges::Blamed;
use provision::OWNER;
use store::{History, Said, Store};
use wire::{
    error::{Code, Problem},
    task::shown::Person,
    time::Time,
    why::{Why, WhyApproval, WhyOrigin, WhyPlan, WhyQuery},
};

use super::{house::PlainForge, tasks::unread};

/// How much of what was said last is looked at, and how many messages are told.
const LOOKED_AT: i64 = 200;
const TOLD: usize = 5;

pub(super) async fn why(
    forge: &PlainForge,
    (store, owner): (&Arc<Store>, PersonId),
    query: &WhyQuery,
) -> Result<Why, Problem> {
    let repository: RepositoryName = query
        .repository
        .parse()
        .map_err(|error: domain::code::CodeNameError| bad(error.to_string()))?;
    let WhyQuery { path, line, .. } = query;
    if *line == 0 {
        return Err(bad("lines are counted from 1".to_owned()));
    }
    let blamed = forge.blame(&repository, path, *line).await;
    let Blamed { commit, text, subject } = blamed.map_err(|error| no_line(&error))?;
    let noted = noted(forge, &repository, &commit).await?;
    let origin = match noted {
        Some(task) => origin((store, owner), task, &commit, path).await?,
        None => None,
    };
    Ok(Why {
        repository: repository.to_string(),
        path: path.clone(),
        line: *line,
        commit: commit.to_string(),
        text: Some(text),
        subject: Some(subject),
        origin,
    })
}

/// A line that there is not is the asker's mistake, in words of its own: nothing was to leave a sandbox here.
fn no_line(error: &ForgeError) -> Problem {
    if let ForgeError::Refused { reason } = error {
        return bad(reason.clone())
            .with_help("name a line of a file as it is on the default branch");
    }
    unread(error)
}

/// The task that a commit's note names. One that is not ours says nothing.
async fn noted(
    forge: &PlainForge,
    repository: &RepositoryName,
    commit: &CommitId,
) -> Result<Option<TaskId>, Problem> {
    let note = forge.note_on(repository, commit).await;
    let note = note.map_err(|error: PullError| Problem::new(Code::Busy, error.to_string()))?;
    Ok(note.and_then(|bytes| Note::read(&bytes).ok()).map(|note| note.task))
}

async fn origin(
    (store, owner): (&Arc<Store>, PersonId),
    task: TaskId,
    commit: &CommitId,
    path: &str,
) -> Result<Option<WhyOrigin>, Problem> {
    let internal = |error: store::StoreError| Problem::new(Code::Internal, error.to_string());
    let history = store.history(task).await.map_err(internal)?;
    let Some(told) = of_history((task, owner), &history, commit, path) else { return Ok(None) };
    let said = match maker(&history, commit) {
        Some(run) => store.run_end((task, run), LOOKED_AT).await.map_err(internal)?,
        None => Vec::new(),
    };
    Ok(Some(WhyOrigin { reasoning: reasoning(&said), ..told }))
}

/// The run that made the commit. What reviewers and later rounds said is about something else.
fn maker(history: &History, commit: &CommitId) -> Option<u64> {
    let made = history.events.iter().find(|it| is_made(&it.event, commit))?;
    let mut newest_first = engine::change_runs(history).into_iter().rev();
    newest_first.find(|run| run.seq < made.seq).map(|run| run.seq)
}

fn is_made(event: &Event, commit: &CommitId) -> bool {
    matches!(event, Event::Implemented { commit: made, .. } if made == commit)
}

/// What the events say, if the commit is one of the task's own.
fn of_history(
    (task, owner): (TaskId, PersonId),
    history: &History,
    commit: &CommitId,
    path: &str,
) -> Option<WhyOrigin> {
    let events = &history.events;
    let made = events.iter().position(|it| is_made(&it.event, commit))?;
    // What was approved before it was made, and the newest of that.
    let before = || events.iter().take(made).rev();
    let approved = before().find_map(|it| {
        let Event::Approved { plan, by, .. } = &it.event else { return None };
        Some((*plan, *by, it.at))
    });
    let plan = approved.and_then(|(hash, ..)| {
        before().find_map(|it| {
            let Event::PlanSubmitted { plan, .. } = &it.event else { return None };
            (plan.hash() == hash).then_some(plan)
        })
    });
    let request: &Request = events.iter().find_map(|it| {
        let Event::Requested { request, .. } = &it.event else { return None };
        Some(request)
    })?;
    Some(WhyOrigin {
        task: task.to_string(),
        title: title(&request.text),
        requester: person(request.author, owner),
        pull_request: history.task().and_then(|task| task.pull_request).map(|number| number.0),
        plan: plan.map(|plan| told(plan, path)),
        approval: approved.map(|(_, by, at)| WhyApproval {
            by: person(by, owner),
            at: Time::from_millis(at.as_millis()),
        }),
        reasoning: Vec::new(),
    })
}

fn told(plan: &Plan, path: &str) -> WhyPlan {
    let of_file = plan.files.iter().find(|file| file.path == path);
    WhyPlan {
        hash: plan.hash().to_string(),
        summary: plan.summary.clone(),
        of_file: of_file.map(|file| file.why.clone()),
    }
}

/// Whoever is no owner of this server is known by their id alone.
fn person(id: PersonId, owner: PersonId) -> Person {
    let name = (id == owner).then(|| OWNER.to_owned());
    Person { id: id.to_string(), name }
}

/// The last messages, whole: parts of one have one number.
fn reasoning(said: &[Said]) -> Vec<String> {
    let mut messages: Vec<((u64, u32), String)> = Vec::new();
    for one in said {
        let AgentEvent::Message { number, text } = &one.event else { continue };
        let of = (one.attempt, *number);
        match messages.last_mut() {
            Some((last, whole)) if *last == of => whole.push_str(text),
            Some(_) | None => messages.push((of, text.clone())),
        }
    }
    let first = messages.len().saturating_sub(TOLD);
    messages.into_iter().skip(first).map(|(_, text)| text).collect()
}

fn bad(what: String) -> Problem {
    Problem::new(Code::BadRequest, what)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use domain::{digest::Digest, limits::Limits, time::Timestamp};
    use engine::Engine;
    use store::{Place, Recorded};
    use testkit::{clock::AnyClock, ledger::Ledger, people, world::World};
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn history(events: Vec<Event>) -> History {
        let recorded = |(seq, event)| Recorded { seq, at: Timestamp::from_millis(7), event };
        History { events: (1..).zip(events).map(recorded).collect() }
    }

    fn implemented(commit: &CommitId) -> Event {
        Event::Implemented {
            base: "b".repeat(40).parse().unwrap(),
            commit: commit.clone(),
            difference: Digest::of(b"difference"),
            record: Digest::of(b"record"),
            session: None,
        }
    }

    #[test]
    fn a_line_is_a_tasks_only_when_the_tasks_own_events_say_so() {
        let (task, owner) = (TaskId::from_u128(1), testkit::ann().id);
        let [made, other] = ["a", "c"].map(|it| it.repeat(40).parse::<CommitId>().unwrap());
        let request = testkit::request("web", "fix the sum\nplease").unwrap();
        let events =
            vec![Event::Requested { request, limits: Limits::default() }, implemented(&made)];
        let told = of_history((task, owner), &history(events), &made, "calc.py").unwrap();
        assert_eq!((&*told.title, told.plan, told.approval), ("fix the sum", None, None));
        let forged =
            of_history((task, owner), &history(vec![implemented(&made)]), &other, "calc.py");
        assert_eq!(forged, None, "a note that anybody wrote is not enough");
        assert_eq!(of_history((task, owner), &history(Vec::new()), &made, "calc.py"), None);
    }

    /// A task with two rounds of work, each reviewed, as the engine plays it.
    async fn played(directory: &Path) -> (Arc<Store>, TaskId) {
        let place = Place::new(directory.join("data"));
        let store = Arc::new(store::open(&place.sqlite_url(), &place).await.unwrap());
        let ledger = Ledger::open(directory.join("outside")).unwrap();
        let world = Arc::new(World::new(ledger, AnyClock::System));
        let engine = Engine::new(Arc::clone(&store), world, World::settings("engine"));
        let trigger = testkit::trigger("acme/web", "faults 1").unwrap();
        let task = engine.submit(trigger, Limits::default()).await.unwrap();
        let stop = CancellationToken::new();
        let deciding = people::decide_until(&engine, &AnyClock::System, stop.clone());
        let mut changes = store.subscribe();
        let waiting = async {
            while store.history(task).await.unwrap().task().unwrap().pull_request.is_none() {
                changes.next().await;
            }
            stop.cancel();
        };
        tokio::join!(engine.run(stop.clone()), deciding, waiting);
        (store, task)
    }

    #[tokio::test]
    async fn a_line_leads_to_request_plan_approval_and_the_words_of_the_run_that_made_it() {
        let directory = tempfile::tempdir().unwrap();
        let (store, task) = played(directory.path()).await;
        let history = store.history(task).await.unwrap();
        let events = || history.events.iter();
        let made = events().find_map(|it| {
            let Event::Implemented { commit, .. } = &it.event else { return None };
            Some(commit.clone())
        });
        let approved = events().find(|it| matches!(it.event, Event::Approved { .. })).unwrap();
        let Event::Approved { plan, by, .. } = approved.event else { unreachable!() };
        let owner = testkit::ann().id;
        let told = origin((&store, owner), task, &made.unwrap(), "src/login.rs").await;
        let told = told.unwrap().unwrap();
        assert_eq!(told.title, "faults 1");
        assert_eq!(told.requester, person(owner, owner));
        assert_eq!(told.plan.as_ref().unwrap().hash, plan.to_string());
        assert_eq!(told.plan.unwrap().of_file.unwrap(), "the race is here");
        let approval = told.approval.unwrap();
        assert_eq!(
            (approval.by, approval.at.as_millis()),
            (person(by, owner), approved.at.as_millis())
        );
        assert_eq!(told.reasoning, ["Implement as the script says"], "not those of the reviewer");
    }

    #[test]
    fn messages_are_told_whole_and_the_last_few() {
        let said = |number: u64, message: u32, text: &str| Said {
            number,
            run: 1,
            attempt: 1,
            at: Timestamp::from_millis(7),
            event: AgentEvent::Message { number: message, text: text.to_owned() },
        };
        let mut all = vec![said(1, 1, "one "), said(2, 1, "whole")];
        assert_eq!(reasoning(&all), ["one whole"]);
        all.extend((2..9).map(|number| said(u64::from(number) + 1, number, "more")));
        assert_eq!(reasoning(&all), ["more"; TOLD]);
    }
}
