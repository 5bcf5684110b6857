//! One task, lived through the store, command by command.

use domain::{
    approval::Conditions,
    digest::Digest,
    id::{PersonId, SandboxId, TaskId},
    limits::Limits,
    people::Person,
    plan::{Estimate, FileChange, Plan},
    queue::Places,
    request::Request,
    task::{Ask, Command, Event, Report, Task, decide},
    time::Timestamp,
};
use store::{Append, Lease, Store, StoreError};
use testkit::{ann, bob};

/// Places for everyone.
pub(crate) const ROOM: Places = Places { total: 1_000, per_repository: 1_000, per_person: 1_000 };

pub(crate) const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) const fn id(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) id: TaskId,
    pub(crate) seq: u64,
    pub(crate) task: Task,
}

/// What work begins from.
pub(crate) fn base() -> domain::code::CommitId {
    "a".repeat(40).parse().unwrap()
}

pub(crate) fn request(repository: &str, person: u128) -> Request {
    let mut request = testkit::request(repository, "fix the flaky login test").unwrap();
    request.author = PersonId::from_u128(person);
    request
}

pub(crate) fn requested(request: Request) -> Event {
    Event::Requested { request, limits: Limits::default() }
}

/// The first append of a task.
pub(crate) fn beginning(id: TaskId, first: Event, when: i64) -> Append {
    Append { task: id, seq: 0, before: None, events: vec![first], at: at(when), settles: None }
}

pub(crate) fn plan(number: u32) -> Plan {
    let file = FileChange { path: "src/login.rs".to_owned(), why: "here".to_owned() };
    Plan {
        summary: format!("plan {number}"),
        files: vec![file],
        tests: vec!["login twice".to_owned()],
        expected_behaviour: "it passes".to_owned(),
        commands: Vec::new(),
        hosts: Vec::new(),
        risks: Vec::new(),
        estimate: Estimate::default(),
    }
}

impl Life {
    /// Ann asks for something in `acme/web`.
    pub(crate) async fn begin(store: &Store, number: u128, when: i64) -> Self {
        Self::begin_as(store, number, request("acme/web", 1), when).await
    }

    pub(crate) async fn begin_as(store: &Store, number: u128, request: Request, when: i64) -> Self {
        let append = beginning(id(number), requested(request), when);
        let appended = store.append(append).await.unwrap();
        Self { id: id(number), seq: appended.seq, task: appended.task }
    }

    pub(crate) fn decide(&self, command: Command) -> Event {
        decide(&self.task, command).unwrap()
    }

    pub(crate) fn next(&self, events: Vec<Event>, when: i64) -> Append {
        let before = Some(self.task.clone());
        Append { task: self.id, seq: self.seq, before, events, at: at(when), settles: None }
    }

    pub(crate) async fn add(&mut self, store: &Store, append: Append) -> Result<(), StoreError> {
        let appended = store.append(append).await?;
        self.seq = appended.seq;
        self.task = appended.task;
        Ok(())
    }

    pub(crate) async fn report(&mut self, store: &Store, report: Report, when: i64) {
        let event = self.decide(Command::Report(report));
        self.add(store, self.next(vec![event], when)).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, store: &Store, by: Person, ask: Ask, when: i64) {
        let event = self.decide(Command::Ask { by, ask });
        self.add(store, self.next(vec![event], when)).await.unwrap();
    }

    /// Words from Ann, which change nothing else.
    pub(crate) fn message(&self, text: &str) -> Event {
        let ask = Ask::Message { text: text.to_owned() };
        self.decide(Command::Ask { by: ann(), ask })
    }

    pub(crate) async fn settle(
        &mut self,
        store: &Store,
        lease: Lease,
        report: Report,
        when: i64,
    ) -> Result<(), StoreError> {
        let event = self.decide(Command::Report(report));
        let append = Append { settles: Some(lease), ..self.next(vec![event], when) };
        self.add(store, append).await
    }

    /// Until its plan waits for a person.
    pub(crate) async fn reach_the_gate(&mut self, store: &Store, when: i64) {
        let sandbox = SandboxId::from_u128(1);
        let notes = Digest::of(b"notes");
        for report in [
            Report::Admitted,
            Report::Prepared { sandbox, commit: base(), left: domain::task::Leftovers::default() },
            Report::Researched { notes, session: None },
            Report::PlanWritten { plan: plan(1), session: None },
        ] {
            self.report(store, report, when).await;
        }
    }

    pub(crate) async fn approve(&mut self, store: &Store, when: i64) {
        let conditions = Conditions::default();
        let ask = Ask::Approve { plan: plan(1).hash(), conditions };
        self.ask(store, bob(), ask, when).await;
    }
}
