//! The way out of the sandboxes of `lamp up`: the broker, the gateway process, and what joins them to secrets and sandboxes.
//!
//! ```text
//!  provider ── doors ──▶ broker ◀── frames over a socket ──▶ `lamp-proxy`
//!                          ├── credentials ──▶ secrets
//!                          └── records ──▶ trail: <data>/egress/log.jsonl, and the audit log
//! ```

mod cause;
mod credentials;
mod process;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use config::server::ServerFile;
use contracts::clock::{Clock as _, SystemClock};
use egress::{
    broker::{
        self, Broker,
        standing::{Above, SpendingLimits, Standing},
        traffic::{Allowance, Allowances},
    },
    bundles::registries::RegistryHosts,
    model::prices::Prices,
    trust::Roots,
};
use provision::{
    layers::Layers,
    server_files::ServerFiles,
    way_out::{self, Certificates},
};
use sandbox::Provider;
use secrets::keeper::Keeper;
use terminal::{environment::Environment, report::Hint};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    cause::Inside,
    credentials::{Handed, Sealed},
    process::{GatewayProcess, Sandboxes},
};
use crate::{kept::unusable, trail::Trail};

/// Where systems keep the certificates of those whom everybody believes.
const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// The broker, and the gateway that it holds.
#[derive(Debug, Clone)]
pub(crate) struct Gatekeeper {
    broker: Arc<Broker>,
    sandboxes: Arc<Sandboxes>,
}

/// What the way out is made of.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) said: &'a ServerFiles,
    pub(crate) layers: &'a Layers,
    pub(crate) keeper: &'a Keeper,
    pub(crate) trail: Trail,
    pub(crate) environment: &'a Environment,
}

impl Gatekeeper {
    /// Opens the broker, starts the gateway, and comes back when it serves.
    pub(crate) async fn start(
        directory: PathBuf,
        plan: Plan<'_>,
        (tasks, stop): (&TaskTracker, &CancellationToken),
    ) -> anyhow::Result<Self> {
        let Plan { said, layers, keeper, trail, environment } = plan;
        let sandboxes = Arc::new(Sandboxes::default());
        let registries = way_out::registries_when_needed(&said.server, environment.home.clone());
        let broker = Broker::open(broker::Settings {
            standing: standing(said, layers, registries)?,
            prices: Prices::shipped()?,
            roots: roots()?,
            credentials: Arc::new(Handed(keeper.clone())),
            seal: Arc::new(Sealed(Arc::clone(keeper.sealer()))),
            ledger: Arc::new(trail),
            causes: Arc::new(Inside { sandboxes: Arc::clone(&sandboxes), keeper: keeper.clone() }),
            now: Arc::new(|| SystemClock.now()),
            directory,
        });
        let broker = Arc::new(broker.context("cannot open the way out")?);
        let process = GatewayProcess::new(Arc::clone(&sandboxes), environment.certificates.clone());
        let (serving, until) = (Arc::clone(&broker), stop.clone());
        tasks.spawn(async move {
            if let Err(error) = serving.serve(&process, &until).await {
                tracing::error!(%error, "sandboxes reach nothing");
            }
        });
        broker.serving().await;
        Ok(Self { broker, sandboxes })
    }

    pub(crate) fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// Those who are asked for fresh doors when there is a new gateway.
    pub(crate) fn serve(&self, provider: Provider) {
        self.sandboxes.serve(provider);
    }

    /// The sandboxes are let go: nobody is asked for doors any more.
    pub(crate) fn let_go(&self) {
        self.sandboxes.let_go();
    }
}

/// What the files say, for every sandbox.
pub(crate) fn standing(
    said: &ServerFiles,
    layers: &Layers,
    registries: Arc<RegistryHosts>,
) -> anyhow::Result<Standing> {
    let policy = layers.policy();
    Ok(Standing {
        known: Arc::new(
            way_out::known(&said.server, Certificates::Beside(&said.beside)).map_err(unusable)?,
        ),
        registries,
        above: Some(Above { egress: policy.egress, internal: layers.internal.clone() }),
        money: SpendingLimits {
            task: Some(said.server.defaults.budget.get()),
            ceiling: Some(policy.ceilings.budget),
            periods: policy.budgets,
        },
        allowances: allowances(&said.server),
    })
}

fn allowances(file: &ServerFile) -> Allowances {
    let traffic = &file.traffic;
    let task = Allowance {
        requests: traffic.requests.get(),
        bytes_up: traffic.upload.bytes(),
        bytes_down: traffic.download.bytes(),
    };
    Allowances { task, ..Allowances::default() }
}

/// Whom programs inside believe besides the sandbox's own authority: whom this host believes.
fn roots() -> anyhow::Result<Roots> {
    let found = BUNDLES.iter().find_map(|path| fs_err::read_to_string(path).ok());
    let pem = found.with_context(|| {
        Hint::new(
            "this host has no certificates of authorities",
            "install `ca-certificates`; without them no host can be believed",
        )
    })?;
    Roots::parse(&pem).context("the certificates of this host cannot be read")
}

#[cfg(test)]
mod tests {
    use domain::{
        money::Money,
        policy::{BudgetPeriod, BudgetScope},
    };

    use super::*;

    #[test]
    fn money_is_the_least_that_the_files_say() {
        let world = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs_err::write(world.path().join(name), text).unwrap();
        write(
            "policy.yaml",
            "version: 1\nlimits: { budget: $20 }\nbudgets:\n  - { scope: person, period: day, limit: $30 }\n",
        );
        write(
            "lamp.yaml",
            "version: 1\nlimits: { budget: $7 }\nbudgets:\n  - { scope: person, period: day, limit: $5 }\n  \
             - { scope: agent, period: month, limit: $100 }\n",
        );
        let said = ServerFiles::read(&world.path().join("lamp.yaml")).unwrap();
        let layers = Layers::of(&said).unwrap();
        let money = standing(&said, &layers, Arc::default()).unwrap().money;
        assert_eq!(money.ceiling, Some(Money::from_dollars(7)));
        let of = |scope, period| money.periods.get(scope, period);
        assert_eq!(of(BudgetScope::Person, BudgetPeriod::Day), Some(Money::from_dollars(5)));
        assert_eq!(of(BudgetScope::Agent, BudgetPeriod::Month), Some(Money::from_dollars(100)));
        let usual = ServerFiles::nothing();
        let money = standing(&usual, &Layers::of(&usual).unwrap(), Arc::default()).unwrap().money;
        assert_eq!(
            money.task,
            Some(Money::from_dollars(10)),
            "what an agent gets that does not say otherwise"
        );
    }
}
