//! The server's files, read again while it runs: at once, all or nothing.
//!
//! ```text
//!  lamp.yaml, policy.yaml, agents/*.yaml ── read, checked ──▶ layers, standing ──▶ broker and networks, together
//!                                               └── wrong: the last valid ones hold, and an alarm is raised
//! ```

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use config::server::ServerFile;
use contracts::clock::{Clock as _, SystemClock};
use domain::policy::{Ecosystem, EgressPhase, Layer, Rule};
use egress::broker::Broker;
use provision::{layers::Layers, server_files::Said, way_out};
use store::{AuditEntry, Store};
use wire::{
    egress::{PolicyChange, ReloadedPolicy, RuleChange},
    error::{Code, Problem},
};

use crate::gatekeeper;

/// Holds what the files said last, and reads them again.
#[derive(Debug)]
pub(crate) struct Reloader {
    held: RwLock<Held>,
    broker: Arc<Broker>,
    store: Arc<Store>,
    home: Option<PathBuf>,
    /// One after the other: what was read last is what holds.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Held {
    said: Arc<Said>,
    layers: Arc<Layers>,
}

impl Reloader {
    pub(crate) fn new(
        (said, layers): (Said, Layers),
        broker: Arc<Broker>,
        store: Arc<Store>,
        home: Option<PathBuf>,
    ) -> Self {
        let held = RwLock::new(Held { said: Arc::new(said), layers: Arc::new(layers) });
        Self { held, broker, store, home, turn: tokio::sync::Mutex::default() }
    }

    pub(crate) fn layers(&self) -> Arc<Layers> {
        self.held().layers
    }

    /// What `lamp.yaml` says now.
    pub(crate) fn said(&self) -> Arc<Said> {
        self.held().said
    }

    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files again, and says what changed. `by` is who wants it.
    pub(crate) async fn reload(&self, by: &str) -> Result<ReloadedPolicy, Problem> {
        let _turn = self.turn.lock().await;
        let old = self.held();
        let Some(file) = old.said.file.clone() else {
            let none = "this server was started without a file, so there is none to read again";
            return Err(Problem::new(Code::Unsupported, none)
                .with_help("start it with `lamp up --config lamp.yaml`"));
        };
        match self.read(file, &old).await {
            Ok((held, standing)) => {
                let told = difference(&old, &held);
                *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
                let sandboxes = self.broker.reload(standing).await as u64;
                let told = ReloadedPolicy { sandboxes, ..told };
                self.write_down(by, &told).await;
                Ok(told)
            }
            Err(error) => {
                let reason = format!("{error:#}");
                self.broker.alarm(
                    None,
                    format!("the files are wrong, so what held before holds: {reason}"),
                );
                Err(Problem::new(Code::BadRequest, reason).with_help(
                    "nothing has changed: what held before holds until the files are right",
                ))
            }
        }
    }

    async fn read(
        &self,
        file: PathBuf,
        old: &Held,
    ) -> anyhow::Result<(Held, egress::broker::standing::Standing)> {
        let (before, registries) = (Arc::clone(&old.said), self.broker.registries());
        let home = self.home.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let said = Said::read(&file)?;
            let layers = Layers::of(&said)?;
            // Package managers take their time, and are asked again only if they may have another say.
            let registries = if said.server.registries == before.server.registries {
                registries
            } else {
                let home = home.as_deref();
                Arc::new(way_out::registries_of_host(&said.server, Ecosystem::ALL, home))
            };
            let standing = gatekeeper::standing(&said, &layers, registries)?;
            Ok((Held { said: Arc::new(said), layers: Arc::new(layers) }, standing))
        });
        reading.await?
    }

    /// What holds already is not taken back because it cannot be written down; a person is told.
    async fn write_down(&self, by: &str, told: &ReloadedPolicy) {
        let entry = AuditEntry {
            at: SystemClock.now(),
            actor: by.to_owned(),
            action: "policy.reloaded".to_owned(),
            subject: "the server's files".to_owned(),
            detail: serde_json::to_string(told).unwrap_or_default(),
        };
        if let Err(error) = self.store.audit(entry).await {
            self.broker
                .alarm(None, format!("that the policy changed is not in the audit log: {error}"));
        }
    }
}

fn difference(old: &Held, new: &Held) -> ReloadedPolicy {
    let layers = [
        (&old.layers.organisation, &new.layers.organisation),
        (&old.layers.platform, &new.layers.platform),
    ];
    let changes = layers.into_iter().flat_map(|(old, new)| rules(old, new)).collect();
    let mut others = now(&old.said.server, &new.said.server);
    if old.layers.internal != new.layers.internal {
        others.push("internal");
    }
    let budgets = |held: &Held| held.layers.policy().budgets;
    if budgets(old) != budgets(new) {
        others.push("budgets");
    }
    if old.said.staff != new.said.staff {
        others.push("agents");
    }
    let named = |keys: Vec<&str>| keys.into_iter().map(str::to_owned).collect();
    ReloadedPolicy {
        changes,
        others: named(others),
        after_restart: named(later(&old.said.server, &new.said.server)),
        sandboxes: 0,
    }
}

fn rules(old: &Layer, new: &Layer) -> Vec<PolicyChange> {
    let mut changes = Vec::new();
    for phase in EgressPhase::ALL {
        let none = BTreeSet::new();
        let lists = |layer: &Layer| {
            let rules = layer.egress.get(&phase);
            let of = |list: fn(&domain::policy::Rules) -> &BTreeSet<Rule>| {
                rules.map_or(&none, list).clone()
            };
            [("allow", of(|it| &it.allow)), ("deny", of(|it| &it.deny))]
        };
        for ((list, before), (_, after)) in lists(old).into_iter().zip(lists(new)) {
            let change = |change: RuleChange| {
                move |rule: &Rule| PolicyChange {
                    layer: new.kind.to_string(),
                    phase: phase.to_string(),
                    list: list.to_owned(),
                    change,
                    rule: rule.to_string(),
                }
            };
            changes.extend(before.difference(&after).map(change(RuleChange::Removed)));
            changes.extend(after.difference(&before).map(change(RuleChange::Added)));
        }
    }
    changes
}

/// Keys that hold as soon as they are read.
fn now(old: &ServerFile, new: &ServerFile) -> Vec<&'static str> {
    let all = [
        ("models", old.models != new.models),
        ("registries", old.registries != new.registries),
        ("clouds", old.clouds != new.clouds),
        ("github_servers", old.github_servers != new.github_servers),
        ("traffic", old.traffic != new.traffic),
        ("limits.budget", old.limits.budget != new.limits.budget),
        ("defaults.budget", old.defaults.budget != new.defaults.budget),
    ];
    all.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect()
}

/// Keys that are read once, when the server starts.
fn later(old: &ServerFile, new: &ServerFile) -> Vec<&'static str> {
    let all = [
        ("listen", old.listen != new.listen),
        ("public_url", old.public_url != new.public_url),
        ("data", old.data != new.data),
        ("database", old.database != new.database),
        ("concurrency", old.concurrency != new.concurrency),
        ("retention", old.retention != new.retention),
        ("log", old.log != new.log),
        ("pull_requests", old.pull_requests != new.pull_requests),
        ("sandboxes", old.sandboxes != new.sandboxes),
    ];
    all.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect()
}
