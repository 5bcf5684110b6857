//! One task on a real server, as `lamp run` has it: handed over by the typed client, followed through its stream, approved at once.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource as _,
};
use testkit::ids::SystemIds;
use tokio::time::{timeout, timeout_at};
use wire::{
    agent::AgentEvent,
    client::{Client, TaskStream},
    task::{
        ask::Approve,
        event::{RecordedEvent, TaskEvent},
        new::{NewRepository, NewTask},
        plan::Conditions,
        stream::{Cursor, StreamItem},
        transcript::TranscriptItem,
    },
    time::Time,
};

use super::shares::{self, Share};

/// The longest that one task may take.
const LONGEST: Duration = Duration::from_secs(40);

/// What is asked for. Nobody who works here looks at it.
const REQUEST: &str = "The sum is wrong: 2 and 3 should be 5.";

/// The name by which servers know the repository.
const REPOSITORY: &str = "sums";

/// A task that went from a sentence to a pull request.
#[derive(Debug)]
pub struct Played {
    /// From handing it over until the agent's first words are here.
    pub first_word: Duration,
    pub shares: Vec<Share>,
}

/// A whole task. It is over when this returns: its pull request was closed, so that the next begins from the same commit.
pub async fn whole(client: &Client, agent: &str, repository: &Path) -> anyhow::Result<Played> {
    let mut task = Task::begin(client, agent, repository).await?;
    let played = timeout(LONGEST, task.until_delivered()).await;
    let number = played.context("the task took too long")??;
    client.close_pull(REPOSITORY, number).await?;
    timeout(LONGEST, task.until_over()).await.context("the task does not end")??;
    Ok(Played {
        first_word: task.first_word.context("the agent said nothing")?,
        shares: shares::of(task.begun_at, &task.events, &task.transcript)?,
    })
}

/// Only until the agent's first words; then it is cancelled.
pub async fn first_word(
    client: &Client,
    agent: &str,
    repository: &Path,
) -> anyhow::Result<Duration> {
    let mut task = Task::begin(client, agent, repository).await?;
    let end = tokio::time::Instant::now() + LONGEST;
    let spoke = loop {
        ensure!(
            timeout_at(end, task.next()).await.context("the agent says nothing")??,
            "the task is over before its agent said anything"
        );
        if let Some(spoke) = task.first_word {
            break spoke;
        }
    };
    client.cancel_task(&task.id).await?;
    timeout(LONGEST, task.until_over()).await.context("the task does not end")??;
    Ok(spoke)
}

/// A task that is followed.
struct Task<'a> {
    client: &'a Client,
    id: String,
    stream: TaskStream,
    begun: Instant,
    begun_at: Time,
    first_word: Option<Duration>,
    events: Vec<RecordedEvent>,
    transcript: Vec<TranscriptItem>,
}

impl<'a> Task<'a> {
    async fn begin(client: &'a Client, agent: &str, repository: &Path) -> anyhow::Result<Self> {
        let repository = NewRepository {
            name: REPOSITORY.to_owned(),
            url: repository.to_string_lossy().into_owned(),
            revision: None,
            access: None,
        };
        let wish = NewTask {
            text: REQUEST.to_owned(),
            repositories: vec![repository],
            agent: Some(agent.to_owned()),
            ..NewTask::default()
        };
        let key = format!("bench-{:x}", SystemIds.next());
        let begun = Instant::now();
        let begun_at = Time::from_millis(SystemClock.now().as_millis());
        let id = client.begin_task(&wish, &key).await?.into_iter().next();
        let id = id.context("nothing was begun")?.id;
        let stream = client.watch_task(&id, Cursor::default());
        let (events, transcript) = (Vec::new(), Vec::new());
        Ok(Self { client, id, stream, begun, begun_at, first_word: None, events, transcript })
    }

    /// Takes in what comes next; `false` when nothing more will.
    async fn next(&mut self) -> anyhow::Result<bool> {
        match self.stream.next().await? {
            Some(StreamItem::Event { event, .. }) => self.events.push(*event),
            Some(StreamItem::Transcript { item, .. }) => {
                if matches!(item.event, AgentEvent::Message { .. }) {
                    self.first_word.get_or_insert(self.begun.elapsed());
                }
                self.transcript.push(item);
            }
            Some(StreamItem::Heartbeat { .. } | StreamItem::Failed { .. }) => {}
            Some(StreamItem::End { .. }) | None => return Ok(false),
        }
        Ok(true)
    }

    /// Says yes to the plan as soon as it is there, and gives the pull request's number.
    async fn until_delivered(&mut self) -> anyhow::Result<u64> {
        let mut seen = 0;
        while self.next().await? {
            let Some(recorded) = self.events.get(seen) else { continue };
            seen += 1;
            if let TaskEvent::PlanSubmitted { plan, .. } = &recorded.event {
                let wish = Approve { plan: plan.hash.clone(), conditions: Conditions::default() };
                self.client.approve(&self.id, &wish).await?;
            }
            if let TaskEvent::PullRequestOpened { number, .. } = recorded.event {
                return Ok(number);
            }
            if let TaskEvent::Paused { .. } | TaskEvent::Failed { .. } = recorded.event {
                bail!("the task was stopped: {}", serde_json::to_string(&recorded.event)?);
            }
        }
        bail!("the task was over before it was delivered")
    }

    async fn until_over(&mut self) -> anyhow::Result<()> {
        while self.next().await? {}
        Ok(())
    }
}
