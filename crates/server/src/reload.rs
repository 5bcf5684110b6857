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
use contracts::{
    clock::{Clock as _, SystemClock},
    egress::{ListName, NetworkError, Reloaded, RuleChange, Turn},
};
use domain::policy::{EgressPhase, Layer, Rule};
use egress::broker::Broker;
use provision::{layers::Layers, server_files::ServerFiles, way_out};
use store::{AuditEntry, Store};

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
    said: Arc<ServerFiles>,
    layers: Arc<Layers>,
}

impl Reloader {
    pub(crate) fn new(
        (said, layers): (ServerFiles, Layers),
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
    pub(crate) fn said(&self) -> Arc<ServerFiles> {
        self.held().said
    }

    /// What definitions of agents stand for, by hash.
    pub(crate) fn texts(&self) -> &store::Blobs {
        self.store.blobs()
    }

    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files again, and says what changed. `by` is who wants it.
    pub(crate) async fn reload(&self, by: &str) -> Result<Reloaded, NetworkError> {
        let _turn = self.turn.lock().await;
        let old = self.held();
        let Some(file) = old.said.file.clone() else {
            return Err(NetworkError::NoFile);
        };
        match self.read(file, &old).await {
            Ok((held, standing)) => {
                let told = difference(&old, &held);
                *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
                let sandboxes = self.broker.reload(standing).await as u64;
                let told = Reloaded { sandboxes, ..told };
                self.write_down(by, &told).await;
                Ok(told)
            }
            Err(error) => {
                let reason = format!("{error:#}");
                self.broker.alarm(
                    None,
                    format!("the files are wrong, so what held before holds: {reason}"),
                );
                Err(NetworkError::WrongFiles { reason })
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
            let said = ServerFiles::read(&file)?;
            let layers = Layers::of(&said)?;
            // Package managers take their time, and are asked again only if they may have another say, and somebody has to know.
            let registries = if said.server.registries == before.server.registries {
                registries
            } else {
                way_out::registries_when_needed(&said.server, home)
            };
            let standing = gatekeeper::standing(&said, &layers, registries)?;
            Ok((Held { said: Arc::new(said), layers: Arc::new(layers) }, standing))
        });
        reading.await?
    }

    /// What holds already is not taken back because it cannot be written down; a person is told.
    async fn write_down(&self, by: &str, told: &Reloaded) {
        let entry = AuditEntry {
            at: SystemClock.now(),
            actor: by.to_owned(),
            action: "policy.reloaded".to_owned(),
            subject: "the server's files".to_owned(),
            detail: detail(told).to_string(),
        };
        if let Err(error) = self.store.audit(entry).await {
            self.broker
                .alarm(None, format!("that the policy changed is not in the audit log: {error}"));
        }
    }
}

fn difference(old: &Held, new: &Held) -> Reloaded {
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
    let after_restart = later(&old.said.server, &new.said.server);
    Reloaded { changes, others, after_restart, sandboxes: 0 }
}

/// As the audit log keeps it.
fn detail(told: &Reloaded) -> serde_json::Value {
    let changes = told.changes.iter().map(|it| {
        serde_json::json!({
            "layer": it.layer.to_string(),
            "phase": it.phase.to_string(),
            "list": it.list.as_str(),
            "change": it.turn.as_str(),
            "rule": it.rule.to_string(),
        })
    });
    serde_json::json!({
        "changes": changes.collect::<Vec<_>>(),
        "others": told.others,
        "after_restart": told.after_restart,
        "sandboxes": told.sandboxes,
    })
}

fn rules(old: &Layer, new: &Layer) -> Vec<RuleChange> {
    let mut changes = Vec::new();
    for phase in EgressPhase::ALL {
        let none = BTreeSet::new();
        let lists = |layer: &Layer| {
            let rules = layer.egress.get(&phase);
            let of = |list: fn(&domain::policy::Rules) -> &BTreeSet<Rule>| {
                rules.map_or(&none, list).clone()
            };
            [(ListName::Allow, of(|it| &it.allow)), (ListName::Deny, of(|it| &it.deny))]
        };
        for ((list, before), (_, after)) in lists(old).into_iter().zip(lists(new)) {
            let change = |turn: Turn| {
                let layer = new.kind;
                move |rule: &Rule| RuleChange { layer, phase, list, turn, rule: rule.clone() }
            };
            changes.extend(before.difference(&after).map(change(Turn::Removed)));
            changes.extend(after.difference(&before).map(change(Turn::Added)));
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
