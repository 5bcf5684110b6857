//! One thing that wants to leave, and its one report.
//!
//! **Invariant:** an exchange that was begun is reported exactly once, however it ends: the report is sent when the value goes away.
//! Only a connection whose requests are asked about one by one is let go without.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::sandbox::{Origin, Sandbox};
use crate::{
    ask::{Answer, Exchange, Grant, Outcome, Question, Refusal, Report, Usage},
    readers::target::Authority,
};

/// An open exchange.
#[derive(Debug)]
pub(super) struct Open {
    sandbox: Arc<Sandbox>,
    number: Exchange,
    counts: Arc<Counts>,
    /// `None` once it is not to be reported.
    report: Option<Report>,
}

/// Bytes of one exchange, counted by whoever moves them.
#[derive(Debug)]
pub(super) struct Counts {
    since: Instant,
    up: AtomicU64,
    down: AtomicU64,
    /// Milliseconds and one; zero while nothing has come.
    first_byte: AtomicU64,
}

impl Counts {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            first_byte: AtomicU64::new(0),
        }
    }

    /// The host has begun to answer.
    pub(super) fn first_byte(&self) {
        self.first_byte.store(self.millis().saturating_add(1), Ordering::Relaxed);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn add_up(&self, count: usize) -> u64 {
        let count = count as u64;
        self.up.fetch_add(count, Ordering::Relaxed).saturating_add(count)
    }

    pub(super) fn add_down(&self, count: usize) -> u64 {
        let count = count as u64;
        self.down.fetch_add(count, Ordering::Relaxed).saturating_add(count)
    }

    pub(super) fn up(&self) -> u64 {
        self.up.load(Ordering::Relaxed)
    }

    pub(super) fn down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }
}

impl Open {
    /// Begins one. `host` is the canonical name, or what stood in its place.
    pub(super) fn begin(sandbox: &Arc<Sandbox>, host: &str, port: u16, origin: Origin) -> Self {
        let report = Report {
            host: host.to_owned(),
            port,
            way: origin.way,
            request: None,
            outcome: Outcome::Broken { reason: "it was cut off".to_owned() },
            bytes_up: 0,
            bytes_down: 0,
            address: None,
            millis: 0,
            first_byte_millis: None,
            usage: None,
            peer: origin.peer,
            generation: None,
            rule: None,
        };
        Self {
            sandbox: Arc::clone(sandbox),
            number: sandbox.broker().number(),
            counts: Arc::new(Counts::new()),
            report: Some(report),
        }
    }

    pub(super) fn begin_at(sandbox: &Arc<Sandbox>, place: &Authority, origin: Origin) -> Self {
        Self::begin(sandbox, place.host.as_str(), place.port, origin)
    }

    pub(super) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    pub(super) async fn ask(&self, question: Question) -> Answer {
        self.sandbox.ask(self.number, question).await
    }

    /// Method and path, for the report.
    pub(super) fn set_request(&mut self, method: &str, path: &str) {
        self.change(|report| report.request = Some((method.to_owned(), path.to_owned())));
    }

    pub(super) fn set_grant(&mut self, grant: &Grant) {
        self.change(|report| {
            report.generation = Some(grant.generation);
            report.rule = Some(grant.rule.clone());
        });
    }

    pub(super) fn set_address(&mut self, address: IpAddr) {
        self.change(|report| report.address = Some(address));
    }

    pub(super) fn set_usage(&mut self, usage: Option<Usage>) {
        self.change(|report| report.usage = usage);
    }

    pub(super) async fn done(self, status: Option<u16>) {
        self.end(Outcome::Done { status }).await;
    }

    pub(super) async fn refused(self, refusal: Refusal) {
        self.end(Outcome::Refused(refusal)).await;
    }

    pub(super) async fn broken(self, reason: impl Into<String>) {
        self.end(Outcome::Broken { reason: reason.into() }).await;
    }

    /// Lets it go without a report: each request has its own.
    pub(super) fn forget(mut self) {
        self.report = None;
    }

    /// The outcome is set first, so that it is told even if nobody waits for the rest of this.
    async fn end(mut self, outcome: Outcome) {
        self.change(|report| report.outcome = outcome);
        self.sandbox.broker().room().await;
    }

    fn change(&mut self, change: impl FnOnce(&mut Report)) {
        if let Some(report) = &mut self.report {
            change(report);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(mut report) = self.report.take() else { return };
        report.bytes_up = self.counts.up();
        report.bytes_down = self.counts.down();
        report.millis = self.counts.millis();
        report.first_byte_millis = self.counts.first_byte.load(Ordering::Relaxed).checked_sub(1);
        self.sandbox.broker().report(self.number, self.sandbox.whose(), report);
    }
}
