//! One task of a scene: hands it over, follows its stream, and does what people do.
//!
//! Every event is seen once and in order, or the scene fails: that is a promise of the stream, also across a restart.

use tokio::time::{Instant, timeout_at};
use wire::{
    agent::AgentEvent,
    client::TaskStream,
    pull::{MergePull, Pull},
    task::{
        ask::Approve,
        event::{PauseReason, RecordedEvent, TaskEvent},
        new::{NewRepository, NewTask},
        plan::{Conditions, Plan},
        shown::{Failure, Task},
        stream::{Cursor, StreamItem},
        transcript::PageQuery,
    },
};

use crate::{
    house::{House, PATIENCE},
    repository::Repository,
};

pub(crate) struct Play<'a> {
    pub(crate) house: &'a House,
    pub(crate) id: String,
    pub(crate) repository: Repository,
    stream: TaskStream,
    /// All that has happened so far.
    pub(crate) events: Vec<RecordedEvent>,
}

impl<'a> Play<'a> {
    /// Hands over a request for the actor.
    pub(crate) async fn begin(house: &'a House, repository: Repository, request: &str) -> Self {
        Self::begin_as(house, repository, &wish("actor", request)).await
    }

    pub(crate) async fn begin_as(house: &'a House, repository: Repository, wish: &NewTask) -> Self {
        let used = NewRepository {
            name: repository.name.clone(),
            url: repository.path.to_str().unwrap().to_owned(),
            revision: None,
            access: None,
        };
        let wish = NewTask { repositories: vec![used], ..wish.clone() };
        // Scenes have repositories of different names, and requests of different lengths for one of them, so this is new.
        let key = format!("journey-{}-{}", repository.name, wish.text.len());
        let begun = house.client.begin_task(&wish, &key).await.unwrap();
        let id = begun.into_iter().next().unwrap().id;
        let stream = house.client.watch_task(&id, Cursor::default());
        Self { house, id, repository, stream, events: Vec::new() }
    }

    /// The next event, whatever it is.
    pub(crate) async fn next(&mut self) -> Option<&RecordedEvent> {
        // Heartbeats are nothing that happens.
        let end = Instant::now() + PATIENCE;
        loop {
            let next = timeout_at(end, self.stream.next()).await;
            let next = next.unwrap_or_else(|_| panic!("nothing happens any more: {self}"));
            match next {
                Ok(Some(StreamItem::Event { event, .. })) => {
                    let expected = self.events.len() + 1;
                    assert_eq!(event.number, expected as u64, "a lost or doubled event: {self}");
                    self.events.push(*event);
                    return self.events.last();
                }
                Ok(Some(StreamItem::End { .. }) | None) => return None,
                Ok(Some(_)) => {}
                Err(error) => panic!("{error}: {self}"),
            }
        }
    }

    /// Goes on until something happens that `wanted` takes. Whatever stops the task before that is a failure of the scene.
    pub(crate) async fn until<T>(
        &mut self,
        what: &str,
        wanted: impl Fn(&TaskEvent) -> Option<T>,
    ) -> T {
        loop {
            let Some(recorded) = self.next().await else {
                panic!("the task is over before {what}: {self}");
            };
            if let Some(found) = wanted(&recorded.event) {
                return found;
            }
            let stopped = stopped_by(&recorded.event).cloned();
            assert!(stopped.is_none(), "stopped before {what}: {stopped:#?} {self}");
        }
    }

    /// What stops the task.
    pub(crate) async fn failure(&mut self) -> Failure {
        self.until("a failure", |event| stopped_by(event).cloned()).await
    }

    pub(crate) async fn plan(&mut self) -> Plan {
        self.until("a plan", |event| {
            let TaskEvent::PlanSubmitted { plan, .. } = event else { return None };
            Some(plan.clone())
        })
        .await
    }

    /// Waits for the plan, and says yes to it.
    pub(crate) async fn approve(&mut self) -> Plan {
        self.approve_on(Conditions::default()).await
    }

    pub(crate) async fn approve_on(&mut self, conditions: Conditions) -> Plan {
        let plan = self.plan().await;
        let wish = Approve { plan: plan.hash.clone(), conditions };
        self.house.client.approve(&self.id, &wish).await.unwrap();
        plan
    }

    /// Waits for the pull request.
    pub(crate) async fn delivered(&mut self) -> Pull {
        let number = self
            .until("a pull request", |event| {
                let TaskEvent::PullRequestOpened { number, .. } = event else { return None };
                Some(*number)
            })
            .await;
        self.house.client.pull(&self.repository.name, number).await.unwrap()
    }

    pub(crate) async fn merge(&mut self, pull: &Pull) {
        let wish = MergePull { head: pull.delivered.clone(), base: pull.base.clone() };
        let client = &self.house.client;
        client.merge_pull(&self.repository.name, pull.number, &wish).await.unwrap();
        self.done("merged").await;
    }

    /// Waits for the end, which has to be a good one.
    pub(crate) async fn done(&mut self, because: &str) {
        let done = self
            .until("the end", |event| {
                let TaskEvent::Done { because } = event else { return None };
                Some(because.clone())
            })
            .await;
        assert_eq!(done, because, "{self}");
    }

    /// The usual way from here: yes to the plan, the pull request, merged, and what the scene was about is true.
    pub(crate) async fn finish(&mut self) -> Pull {
        self.approve().await;
        self.land().await
    }

    /// From an approved plan to the end.
    pub(crate) async fn land(&mut self) -> Pull {
        let pull = self.delivered().await;
        self.merge(&pull).await;
        assert!(self.repository.is_mended(), "{self}");
        let pulls = self.house.client.pulls(&self.repository.name).await.unwrap();
        assert_eq!(pulls.len(), 1, "exactly one pull request: {pulls:#?}");
        pull
    }

    pub(crate) async fn cancel(&mut self) {
        self.house.client.cancel_task(&self.id).await.unwrap();
        while self.next().await.is_some() {}
        assert_eq!(self.task().await.state, "cancelled", "{self}");
    }

    /// Waits for the approval, whether or not the plan's time is over once more before it.
    pub(crate) async fn until_approved(&mut self) {
        loop {
            let Some(recorded) = self.next().await else {
                panic!("over before its approval: {self}")
            };
            if matches!(recorded.event, TaskEvent::Approved { .. }) {
                return;
            }
        }
    }

    /// Waits until an agent has said this.
    pub(crate) async fn until_said(&self, words: &str) {
        let said = async || self.transcript().await.contains(words);
        self.house.soon(&format!("an agent says `{words}`"), said).await;
    }

    /// Goes on with a task that was over, and was retried.
    pub(crate) fn again(&mut self) {
        self.stream = self.house.client.watch_task(&self.id, self.stream.cursor());
    }

    pub(crate) async fn task(&self) -> Task {
        self.house.client.task(&self.id).await.unwrap()
    }

    /// All that agents were told and said, joined.
    pub(crate) async fn transcript(&self) -> String {
        let mut all = String::new();
        let mut after = None;
        loop {
            let query = PageQuery { after, limit: Some(500) };
            let page = self.house.client.task_transcript(&self.id, query).await.unwrap();
            for item in &page.items {
                if let AgentEvent::Briefed { text, .. } | AgentEvent::Message { text, .. } =
                    &item.event
                {
                    all.push_str(text);
                }
            }
            after = Some(page.next);
            if !page.more {
                return all;
            }
        }
    }

    pub(crate) fn count(&self, wanted: impl Fn(&TaskEvent) -> bool) -> usize {
        self.events.iter().filter(|it| wanted(&it.event)).count()
    }
}

impl std::fmt::Display for Play<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{} ({})", self.repository.name, self.id)?;
        for recorded in &self.events {
            let told = serde_json::to_string(&recorded.event).unwrap_or_default();
            write!(f, "\n  {} {}", recorded.number, told.chars().take(700).collect::<String>())?;
        }
        Ok(())
    }
}

/// A request for one of the actors.
pub(crate) fn wish(agent: &str, request: &str) -> NewTask {
    NewTask { text: request.to_owned(), agent: Some(agent.to_owned()), ..NewTask::default() }
}

fn stopped_by(event: &TaskEvent) -> Option<&Failure> {
    if let TaskEvent::ChecksFailed { stopped_by, .. }
    | TaskEvent::ReviewFoundFaults { stopped_by, .. }
    | TaskEvent::Charged { stopped_by, .. } = event
    {
        return stopped_by.as_ref();
    }
    if let TaskEvent::Paused { why: PauseReason::Failure { failure } }
    | TaskEvent::Failed { failure } = event
    {
        return Some(failure);
    }
    None
}
