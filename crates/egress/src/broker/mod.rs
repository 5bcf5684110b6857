//! The one who decides: rules, money, credentials and the log, for all gateways of a server.
//!
//! ```text
//!               Road (join, leave, forget)          people (explain, learn, change)
//!                         │                                   │
//!  gateway ── question ──▶ Broker ── Ruling: may it? ── Purses: is there money? ── Credentials: with what?
//!          ◀── answer ────   │
//!          ── report ────▶ Ledger: one record
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`compiled`] | rules, laid out for looking up |
//! | [`ruling`] | what holds for one sandbox |
//! | [`judgement`] | what the rules of one sandbox say about one request |
//! | [`refusal`] | the sentences, and what a person can do |
//! | [`explain`], [`learn`] | for people |
//! | `url` | a request as a person writes it |
//! | [`standing`] | what holds for every sandbox, until the server's files change |
//! | [`credentials`] | where values come from |
//! | [`cause`], `looks` | which command wanted it, and how often that is looked for |
//! | [`traffic`] | requests and bytes |
//! | `tally` | what models were asked, for whoever judges an agent's run |
//! | `unsettled` | what models are being asked, for whoever comes after a server that was killed |
//! | [`ledger`] | the log |
//! | [`kept`] | what a restarted server knows again |
//!
//! **Invariants:** an answer comes from one generation of the rules. A sandbox that has left gets no credential, also not for a question
//! that was asked before. Each report becomes one record.

mod answer;
pub mod cause;
pub mod compiled;
pub mod credentials;
pub mod explain;
pub mod judgement;
pub mod kept;
pub mod learn;
pub mod ledger;
mod looks;
mod member;
pub mod refusal;
mod road;
pub mod ruling;
mod serve;
pub mod standing;
mod tally;
pub mod traffic;
mod unsettled;
mod url;

use std::{
    collections::HashMap,
    fmt, io,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use contracts::{egress::Network, sandbox::Owner};
use domain::{
    id::{SandboxId, TaskId},
    money::Money,
    policy::Bundle,
    time::Timestamp,
};

use tokio::sync::{Semaphore, watch};

use self::{
    cause::Causes,
    credentials::{Credentials, Seal},
    explain::Explanation,
    kept::Kept,
    learn::{Proposal, Use},
    ledger::{ExchangeRecord, Ledger, Record, What},
    member::{Member, lock},
    standing::Standing,
};
use crate::{
    bundles::{endpoint::EndpointError, registries::RegistryHosts},
    model::{
        budget::{Account, Purses, Spent, thought_bytes},
        prices::Prices,
    },
    trust::Roots,
};
use proxy::{
    ask::{Exchange, Outcome, Report, Whose},
    link::GatewayLink,
};

pub use serve::{Gateways, ServeError};

#[cfg(test)]
#[path = "broker_tests.rs"]
mod tests;

/// What a broker needs from its server.
pub struct Settings {
    /// Below the server's data; networks and sums are kept here.
    pub directory: PathBuf,
    /// Until [`Broker::reload`].
    pub standing: Standing,
    pub prices: Prices,
    /// What everybody believes, for the bundles inside.
    pub roots: Roots,
    pub credentials: Arc<dyn Credentials>,
    pub seal: Arc<dyn Seal>,
    pub ledger: Arc<dyn Ledger>,
    pub causes: Arc<dyn Causes>,
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Decides for all sandboxes of a server.
pub struct Broker {
    settings: Settings,
    standing: Mutex<Arc<Standing>>,
    kept: Kept,
    members: Mutex<HashMap<SandboxId, Arc<Member>>>,
    purses: Mutex<Purses>,
    /// Held while the sums of an owner change.
    adding: Mutex<()>,
    link: Mutex<Option<GatewayLink>>,
    looking: Arc<Semaphore>,
    /// Whether a gateway serves now.
    serving: watch::Sender<bool>,
}

#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    #[error("the directory of the way out cannot be used")]
    Directory(#[source] io::Error),
    #[error("what was spent cannot be read: {0}")]
    Spent(String),
    #[error("sandbox {0} has no way out now")]
    NotJoined(SandboxId),
    #[error(transparent)]
    Url(#[from] EndpointError),
    #[error(transparent)]
    Kept(#[from] kept::KeptError),
}

/// One thing that a sandbox did or tried, and how often.
pub type SeenUse = (Use, u64);

impl Broker {
    pub fn open(settings: Settings) -> Result<Self, BrokerError> {
        let kept = Kept::open(settings.directory.clone()).map_err(BrokerError::Directory)?;
        let purses = read_spent(&settings.directory)?;
        let broker = Self {
            standing: Mutex::new(Arc::new(settings.standing.clone())),
            kept,
            members: Mutex::default(),
            purses: Mutex::new(purses),
            adding: Mutex::default(),
            link: Mutex::new(None),
            looking: Arc::new(Semaphore::new(cause::LOOKS_AT_ONCE)),
            serving: watch::Sender::new(false),
            settings,
        };
        broker.settle_what_is_left().map_err(BrokerError::Directory)?;
        Ok(broker)
    }

    /// Comes back when a gateway serves. Until then nobody can join.
    pub async fn serving(&self) {
        // We hold the sender, so it does not go away while we wait.
        drop(self.serving.subscribe().wait_for(|serving| *serving).await);
    }

    fn now(&self) -> Timestamp {
        (self.settings.now)()
    }

    fn member(&self, sandbox: SandboxId) -> Option<Arc<Member>> {
        lock(&self.members).get(&sandbox).cloned()
    }

    fn joined(&self, sandbox: SandboxId) -> Result<Arc<Member>, BrokerError> {
        self.member(sandbox).ok_or(BrokerError::NotJoined(sandbox))
    }

    fn standing(&self) -> Arc<Standing> {
        Arc::clone(&lock(&self.standing))
    }

    /// Which rule decides about a request, and why.
    pub fn explain(
        &self,
        sandbox: SandboxId,
        method: &str,
        url: &str,
    ) -> Result<Explanation, BrokerError> {
        let member = self.joined(sandbox)?;
        let mut explanation = member.ruling().explain(method, url)?;
        let request = url::request(method, url)?;
        let tried = lock(&member.seen).tried(&request.host, request.port);
        explanation.notes.extend(tried);
        Ok(explanation)
    }

    /// What the sandbox did and tried since it joined.
    pub fn seen(&self, sandbox: SandboxId) -> Result<Vec<SeenUse>, BrokerError> {
        let member = self.joined(sandbox)?;
        let seen = lock(&member.seen);
        Ok(seen.iter().map(|(seen, times)| (seen.clone(), times)).collect())
    }

    /// The smallest policy for what was seen.
    pub fn learn(&self, sandbox: SandboxId) -> Result<Proposal, BrokerError> {
        let member = self.joined(sandbox)?;
        let ruling = member.ruling();
        let bundle = |seen: &Use| -> Option<Bundle> {
            let (method, path) = seen.request.as_ref()?;
            let scheme = if seen.port == 80 { "http" } else { "https" };
            let url = format!("{scheme}://{}:{}{path}", seen.host, seen.port);
            ruling.bundle_for(method, &url)
        };
        let proposal = lock(&member.seen).propose(ruling.compiled.phase(), bundle);
        Ok(proposal)
    }

    /// The rules of a sandbox are others from now on. Tunnels that they no longer allow are closed.
    pub async fn change(&self, sandbox: SandboxId, network: Network) -> Result<u64, BrokerError> {
        let member = self.joined(sandbox)?;
        let generation = member.ruling().generation + 1;
        self.remember(&member, &network, generation)?;
        let ruling = self.standing().ruling(&network, generation);
        member.replace(Some(network), ruling);
        self.announce(&member, generation).await;
        Ok(generation)
    }

    /// A policy that cannot be used: the last one holds, and somebody should know.
    pub fn alarm(&self, sandbox: Option<SandboxId>, reason: String) {
        tracing::error!(%reason, "the way out needs a person");
        let member = sandbox.and_then(|sandbox| self.member(sandbox));
        self.record(member.as_deref(), What::Alarm { reason });
    }

    /// What holds for every sandbox is something else from now on. Tunnels that it no longer allows are closed. Gives how many sandboxes
    /// that concerns.
    pub async fn reload(&self, standing: Standing) -> usize {
        let standing = Arc::new(standing);
        *lock(&self.standing) = Arc::clone(&standing);
        let members: Vec<Arc<Member>> = lock(&self.members).values().cloned().collect();
        let mut present = 0;
        for member in members {
            let generation = member.ruling().generation + 1;
            member.replace(None, standing.ruling(&member.given(), generation));
            if member.is_present() {
                present += 1;
                self.announce(&member, generation).await;
            }
        }
        present
    }

    /// The registries of this host, as far as they are known.
    pub fn registries(&self) -> Arc<RegistryHosts> {
        Arc::clone(&self.standing().registries)
    }

    /// While `work` runs, what is kept of sandboxes is not written, so that it can be sealed with another key.
    pub fn undisturbed<R>(&self, work: impl FnOnce() -> R) -> R {
        self.kept.undisturbed(work)
    }

    /// What a task may spend in all is `limit` from now on, for each of its sandboxes that is there. One that is opened later says it
    /// itself.
    pub fn allow(&self, task: TaskId, limit: Money) -> Result<(), BrokerError> {
        let of_the_task = |member: &&Arc<Member>| member.owner == Owner::Task(task);
        let members: Vec<_> = lock(&self.members).values().filter(of_the_task).cloned().collect();
        for member in members {
            let network = member.allow(limit);
            self.remember(&member, &network, member.ruling().generation)?;
        }
        Ok(())
    }

    /// What was spent on an account in the period that is now.
    pub fn spent(&self, account: &Account) -> Money {
        lock(&self.purses).spent(account, self.now())
    }

    async fn announce(&self, member: &Member, generation: u64) {
        self.record(Some(member), What::Changed { generation });
        let link = lock(&self.link).clone();
        if let Some(link) = link
            && let Err(error) = link.changed(whose(member.sandbox), generation).await
        {
            tracing::warn!(%error, "the gateway did not hear of a change; it ends");
            link.close();
        }
    }

    fn remember(
        &self,
        member: &Member,
        network: &Network,
        generation: u64,
    ) -> Result<(), BrokerError> {
        let remembered = kept::Remembered {
            network: network.clone(),
            authority: member.authority.clone(),
            generation,
        };
        Ok(self.kept.write(member.sandbox, &remembered, self.settings.seal.as_ref())?)
    }

    fn accounts(&self, member: &Member) -> Vec<Account> {
        self.standing().money.accounts(&member.payers(), member.given().spending.limit)
    }

    /// Whether the command behind it is still to be looked for: the gateway refused it by itself, so nobody was asked before.
    fn wants_a_look(
        &self,
        whose: Whose,
        exchange: Exchange,
        report: &Report,
    ) -> Option<Arc<Member>> {
        let Outcome::Refused(_) = report.outcome else { return None };
        let member = self.member(SandboxId::from_u128(whose.0))?;
        let is_known = lock(&member.causes).contains_key(&exchange);
        (!is_known && report.peer.is_some()).then_some(member)
    }

    /// How an exchange went, once.
    fn ended(&self, whose: Whose, exchange: Exchange, report: &Report) {
        let sandbox = SandboxId::from_u128(whose.0);
        let Some(member) = self.member(sandbox) else {
            let what = What::Exchange(Box::new(ExchangeRecord::new(report, None, None)));
            let mut record = Record::new(self.now(), None, None, what);
            record.sandbox = Some(sandbox.to_string());
            self.write(&record);
            return;
        };
        // It stays under way until all is written down: whoever waits for that must not look too early.
        let open = lock(&member.open)
            .get_mut(&exchange)
            .map(|open| (open.rule.clone(), open.reservation.take()));
        let cause = lock(&member.causes).remove(&exchange).flatten();
        let (rule, reservation) = open.unzip();
        let reservation = reservation.flatten();
        lock(&member.traffic).end(rule.as_deref(), report.bytes_up, report.bytes_down);
        lock(&member.seen).add(report, cause.as_deref());
        let cost = reservation.map(|reservation| {
            let mut purses = lock(&self.purses);
            let down = match report.outcome {
                Outcome::Broken { .. } if report.bytes_up > 0 => {
                    report.bytes_down.max(thought_bytes(report.millis))
                }
                Outcome::Broken { .. } | Outcome::Done { .. } | Outcome::Refused(_) => {
                    report.bytes_down
                }
            };
            let cost = purses.settle(reservation, report.usage.as_ref(), down);
            purses.forget_before(self.now());
            keep_spent(&self.settings.directory, &purses.kept());
            cost
        });
        self.count(&member, report, cost);
        if cost.is_some() {
            self.forget_asking(&member, exchange);
        }
        let record = ExchangeRecord::new(report, cost, cause);
        self.record(Some(&member), What::Exchange(Box::new(record)));
        lock(&member.open).remove(&exchange);
    }

    fn record(&self, member: Option<&Member>, what: What) {
        let whose = member.map(|member| (member.sandbox, &member.owner));
        let phase = member.map(|member| member.ruling().compiled.phase().as_str());
        self.write(&Record::new(self.now(), whose, phase, what));
    }

    /// Whoever keeps the records says so where one is missing; what happened has happened.
    fn write(&self, record: &Record) {
        let _ = self.settings.ledger.write(record);
    }
}

const fn whose(sandbox: SandboxId) -> Whose {
    Whose(sandbox.as_u128())
}

const SPENT: &str = "spent.json";

fn read_spent(directory: &std::path::Path) -> Result<Purses, BrokerError> {
    let wrong = |error: &dyn fmt::Display| BrokerError::Spent(error.to_string());
    match std::fs::read(directory.join(SPENT)) {
        Ok(text) => {
            let rows: Vec<Spent> = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
            Ok(Purses::from_kept(rows))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Purses::default()),
        Err(error) => Err(wrong(&error)),
    }
}

/// A sum that cannot be kept is still right until the server ends.
fn keep_spent(directory: &std::path::Path, rows: &[Spent]) {
    let written = serde_json::to_vec(rows)
        .map_err(io::Error::other)
        .and_then(|text| kept::write_whole(&directory.join(SPENT), &text));
    if let Err(error) = written {
        tracing::error!(%error, "what was spent on models cannot be kept");
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker")
            .field("members", &lock(&self.members).len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("directory", &self.directory).finish_non_exhaustive()
    }
}
