//! Lives of tasks, made up but whole: every event follows from the one before by the real rules.

use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource as _,
};
use domain::{
    approval::Conditions,
    code::PullRequestNumber,
    digest::Digest,
    id::{PersonId, SandboxId, TaskId},
    limits::Limits,
    plan::{Estimate, FileChange, Plan},
    task::{DoneBecause, Event, Task},
};
use store::{Append, Appended, Store, StoreError};
use testkit::ids::SystemIds;

/// A task that is being lived.
#[derive(Debug, Clone)]
pub struct Life {
    pub id: TaskId,
    seq: u64,
    now: Option<Task>,
}

impl Life {
    pub fn new() -> Self {
        Self { id: TaskId::from_u128(SystemIds.next()), seq: 0, now: None }
    }

    /// Appends `events` in one operation.
    pub async fn append(&mut self, store: &Store, events: Vec<Event>) -> Result<(), StoreError> {
        let append = Append {
            task: self.id,
            seq: self.seq,
            before: self.now.take(),
            events,
            at: SystemClock.now(),
            settles: None,
        };
        let Appended { seq, task } = store.append(append).await?;
        self.seq = seq;
        self.now = Some(task);
        Ok(())
    }
}

impl Default for Life {
    fn default() -> Self {
        Self::new()
    }
}

/// Who asks, and for which repository.
#[derive(Debug, Clone)]
pub struct Asker {
    pub person: PersonId,
    pub repository: String,
}

/// What tasks begin from.
const BASE: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn prepared(sandbox: u128) -> anyhow::Result<Event> {
    let (sandbox, left) = (SandboxId::from_u128(sandbox), domain::task::Leftovers::default());
    Ok(Event::Prepared { sandbox, commit: BASE.parse()?, left })
}

/// From the request to a plan that waits.
pub fn until_approval(asker: &Asker) -> anyhow::Result<Vec<Event>> {
    let session = Some("session".to_owned());
    Ok(vec![
        requested(asker)?,
        Event::Admitted,
        prepared(1)?,
        Event::Researched { notes: Digest::of(b"notes"), session: session.clone() },
        Event::PlanSubmitted { plan: plan(), session },
    ])
}

/// From the request to the merged pull request: 13 events.
pub fn until_merged(asker: &Asker) -> anyhow::Result<Vec<Event>> {
    let (plan, by) = (plan().hash(), testkit::bob().id);
    let implemented = Event::Implemented {
        base: BASE.parse()?,
        commit: "a".repeat(40).parse()?,
        difference: Digest::of(b"difference"),
        record: Digest::of(b"record"),
        session: Some("session".to_owned()),
    };
    let mut events = until_approval(asker)?;
    events.extend([
        Event::Approved { plan, by, conditions: Conditions::default() },
        Event::Admitted,
        prepared(2)?,
        implemented,
        Event::ChecksPassed { evidence: Digest::of(b"log") },
        Event::ReviewPassed { evidence: Digest::of(b"review") },
        Event::PullRequestOpened { number: PullRequestNumber(7), receipt: Digest::of(b"receipt") },
        Event::Done { because: DoneBecause::Merged },
    ]);
    Ok(events)
}

/// A request that its author took back: two events.
pub fn until_cancelled(asker: &Asker) -> anyhow::Result<Vec<Event>> {
    Ok(vec![requested(asker)?, Event::Cancelled { by: asker.person }])
}

pub fn requested(asker: &Asker) -> anyhow::Result<Event> {
    let text = "fix the flaky login test: it fails about once in twenty runs, always after lunch";
    let mut request = testkit::request(&asker.repository, text)?;
    request.author = asker.person;
    Ok(Event::Requested { request, limits: Limits::default() })
}

fn plan() -> Plan {
    let file = |path: &str, why: &str| FileChange { path: path.to_owned(), why: why.to_owned() };
    Plan {
        summary: "Wait for the session before asserting that the person is signed in".to_owned(),
        files: vec![
            file("tests/login.rs", "asserts before the session exists"),
            file("src/session.rs", "tells when the session is there"),
        ],
        tests: vec!["sign in twice at once".to_owned()],
        expected_behaviour: "the test passes a thousand times in a row".to_owned(),
        commands: vec!["cargo test login".to_owned()],
        hosts: Vec::new(),
        risks: vec!["none known".to_owned()],
        estimate: Estimate::default(),
    }
}
