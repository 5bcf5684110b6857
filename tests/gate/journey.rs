//! One task of a house: what it is asked, where it comes to, and what its agent says that it has seen.

use serde_json::{Value, json};
use wire::{
    client::ClientError,
    error::{Code, Problem},
    task::{
        ask::Approve,
        event::TaskEvent,
        new::{NewRepository, NewTask},
        plan::Conditions,
        shown::{Standing, Task},
        stream::Cursor,
        transcript::PageQuery,
    },
};

use crate::house::House;

/// What the agent does in each phase, as Python; honest work where nothing is said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script<'a> {
    pub(crate) research: &'a str,
    pub(crate) plan: &'a str,
    pub(crate) implement: &'a str,
    pub(crate) review: &'a str,
}

impl Script<'_> {
    /// The request: a line for people, and the rest for the agent.
    pub(crate) fn text(&self) -> String {
        let phases = [
            ("research", self.research),
            ("plan", self.plan),
            ("implement", self.implement),
            ("review", self.review),
        ];
        let said = phases.into_iter().filter(|(_, code)| !code.is_empty());
        let said: serde_json::Map<String, Value> =
            said.map(|(phase, code)| (phase.to_owned(), json!(code))).collect();
        format!("Mend the sums\n\n{}", Value::Object(said))
    }
}

/// One thing that the agent tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) mode: String,
    pub(crate) name: String,
    pub(crate) worked: bool,
    pub(crate) detail: String,
}

impl Tried {
    /// What was told in lines that begin with `REPORT`.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        let told = text.lines().filter_map(|line| line.strip_prefix("REPORT "));
        told.map(|line| {
            let told: Value = serde_json::from_str(line).unwrap();
            let word = |key: &str| told[key].as_str().unwrap().to_owned();
            let worked = told["worked"].as_bool().unwrap();
            Self { mode: word("mode"), name: word("name"), worked, detail: word("detail") }
        })
        .collect()
    }
}

pub(crate) struct Journey<'h> {
    pub(crate) house: &'h House,
    pub(crate) id: String,
}

impl<'h> Journey<'h> {
    pub(crate) fn begin(house: &'h House, script: &Script<'_>) -> Self {
        let wish = NewTask {
            text: script.text(),
            repositories: vec![NewRepository {
                name: "sums".to_owned(),
                url: house.path("sums").display().to_string(),
                revision: None,
                access: None,
            }],
            ..NewTask::default()
        };
        let key = format!("gate-{:x}", rand_bits());
        let begun = house.wait(house.client.begin_task(&wish, &key)).unwrap();
        Self { house, id: begun[0].id.clone() }
    }

    /// From the beginning to where somebody has to say something, or all is over.
    pub(crate) fn to_rest(house: &'h House, script: &Script<'_>) -> (Self, Task) {
        let journey = Self::begin(house, script);
        let task = journey.rest();
        (journey, task)
    }

    /// To a plan that waits, which has to come.
    pub(crate) fn to_gate(house: &'h House, script: &Script<'_>) -> (Self, String) {
        let (journey, task) = Self::to_rest(house, script);
        assert_eq!(task.state, "awaiting approval", "{:?}\n{}", task.failure, journey.said());
        (journey, task.plan_waiting.unwrap())
    }

    /// Through the gate without conditions, to where it rests.
    pub(crate) fn through(house: &'h House, script: &Script<'_>) -> (Self, Task) {
        Self::through_on(house, script, Conditions::default())
    }

    pub(crate) fn through_on(
        house: &'h House,
        script: &Script<'_>,
        conditions: Conditions,
    ) -> (Self, Task) {
        let (journey, plan) = Self::to_gate(house, script);
        journey.approve(&plan, conditions).unwrap();
        let task = journey.rest();
        (journey, task)
    }

    pub(crate) fn approve(&self, plan: &str, conditions: Conditions) -> Result<Task, Problem> {
        let wish = Approve { plan: plan.to_owned(), conditions };
        refusal(self.house.wait(self.house.client.approve(&self.id, &wish)))
    }

    pub(crate) fn look(&self) -> Task {
        self.house.wait(self.house.client.task(&self.id)).unwrap()
    }

    /// Where it comes to rest: somebody is waited for, or all is over.
    pub(crate) fn rest(&self) -> Task {
        let client = &self.house.client;
        self.house.wait(async {
            let mut stream = client.watch_task(&self.id, Cursor::default());
            loop {
                let task = client.task(&self.id).await.unwrap();
                match task.standing {
                    Standing::WaitsForPerson | Standing::Over => return task,
                    Standing::Queued | Standing::Works => {}
                }
                stream.next().await.unwrap();
            }
        })
    }

    /// Until its agents have said this.
    pub(crate) fn until_said(&self, words: &str) {
        let mut stream = self.house.client.watch_task(&self.id, Cursor::default());
        while !self.said().contains(words) {
            self.house.wait(stream.next()).unwrap();
        }
    }

    pub(crate) fn events(&self) -> Vec<TaskEvent> {
        let query = PageQuery { after: None, limit: Some(500) };
        let page = self.house.wait(self.house.client.task_events(&self.id, query)).unwrap();
        page.events.into_iter().map(|it| it.event).collect()
    }

    /// What happened, by name.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let kind = |event: &TaskEvent| {
            let told = serde_json::to_value(event).unwrap();
            told["kind"].as_str().unwrap().to_owned()
        };
        self.events().iter().map(kind).collect()
    }

    /// How many events are so.
    pub(crate) fn count(&self, is_so: impl Fn(&TaskEvent) -> bool) -> usize {
        self.events().iter().filter(|event| is_so(event)).count()
    }

    pub(crate) fn approvals(&self) -> usize {
        self.count(|event| matches!(event, TaskEvent::Approved { .. }))
    }

    /// The sandboxes of its workspace, in the order in which they were opened.
    pub(crate) fn sandboxes(&self) -> Vec<String> {
        let prepared = |event| {
            let TaskEvent::Prepared { sandbox, .. } = event else { return None };
            Some(sandbox)
        };
        self.events().into_iter().filter_map(prepared).collect()
    }

    /// All that its agents said, as one text.
    pub(crate) fn said(&self) -> String {
        let client = &self.house.client;
        self.house.wait(async {
            let (mut said, mut after) = (String::new(), None);
            loop {
                let query = PageQuery { after, limit: Some(500) };
                let page = client.task_transcript(&self.id, query).await.unwrap();
                for item in page.items {
                    if let wire::agent::AgentEvent::Message { text, .. } = item.event {
                        said.push_str(&text);
                    }
                }
                if !page.more {
                    return said;
                }
                after = Some(page.next);
            }
        })
    }

    pub(crate) fn tried(&self) -> Vec<Tried> {
        Tried::all(&self.said())
    }

    /// What stopped it: the stable name and the sentence.
    pub(crate) fn failure(task: &Task) -> (String, String) {
        let failure = task.failure.as_ref();
        failure.map(|it| (it.kind.clone(), it.message.clone())).unwrap_or_default()
    }
}

/// The server's own words, where it said no.
pub(crate) fn refusal<T>(answered: Result<T, ClientError>) -> Result<T, Problem> {
    answered.map_err(|error| match error {
        ClientError::Refused(problem) => problem,
        other @ (ClientError::NoServer { .. }
        | ClientError::Broken { .. }
        | ClientError::Strange { .. }) => panic!("it was not refused: {other}"),
    })
}

pub(crate) fn code<T: std::fmt::Debug>(answered: Result<T, Problem>) -> Code {
    answered.expect_err("it is not refused").code
}

/// So that no two calls have the same key.
fn rand_bits() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}
