//! The way out of the sandboxes of `lamp up`: the broker, the gateway process, and what joins them to secrets and sandboxes.
//!
//! ```text
//!  provider ── doors ──▶ broker ◀── frames over a socket ──▶ `lamp egress-gateway`
//!                          ├── credentials ──▶ secrets
//!                          └── records ──▶ <data>/egress/log.jsonl
//! ```

mod credentials;
mod process;

use std::{
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use config::server::ServerFile;
use contracts::clock::{Clock as _, SystemClock};
use domain::policy::Ecosystem;
use egress::{
    broker::{
        self, Broker,
        cause::NoCauses,
        ledger::{FileLedger, Rotation},
        standing::{SpendingLimits, Standing},
        traffic::{Allowance, Allowances},
    },
    bundles::registries::RegistryHosts,
    model::prices::Prices,
    trust::Roots,
};
use sandbox::Provider;
use secrets::keeper::Keeper;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    credentials::{Handed, Sealed},
    process::GatewayProcess,
};
use crate::{
    environment::Environment,
    report::Hint,
    way_out::{self, Certificates},
};

/// Where systems keep the certificates of those whom everybody believes.
const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// The broker, and the gateway that it holds.
#[derive(Debug, Clone)]
pub(crate) struct Gatekeeper {
    broker: Arc<Broker>,
    process: Arc<GatewayProcess>,
}

/// What is known of the way out before it is opened.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) server: ServerFile,
    /// Where files that it names stand.
    pub(crate) beside: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

impl Plan {
    pub(crate) fn new(server: ServerFile, beside: &Path, environment: &Environment) -> Self {
        Self { server, beside: beside.to_owned(), home: environment.home.clone() }
    }
}

impl Gatekeeper {
    /// Opens the broker, starts the gateway, and comes back when it serves.
    pub(crate) async fn start(
        data: &Path,
        plan: &Plan,
        keeper: &Keeper,
        (tasks, stop): (&TaskTracker, &CancellationToken),
    ) -> anyhow::Result<Self> {
        let directory = data.join("egress");
        let ledger = directory.join("log.jsonl");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let broker = Broker::open(broker::Settings {
            // Package managers take their time to answer; they are asked meanwhile.
            standing: standing(plan, RegistryHosts::default())?,
            prices: Prices::shipped()?,
            roots: roots()?,
            credentials: Arc::new(Handed(keeper.clone())),
            seal: Arc::new(Sealed(Arc::clone(keeper.sealer()))),
            ledger: Arc::new(FileLedger::open(&ledger, Rotation::default()).with_context(
                || {
                    Hint::new(
                        format!("cannot write `{}`", ledger.display()),
                        "look at the rights of the data directory",
                    )
                },
            )?),
            causes: Arc::new(NoCauses),
            now: Arc::new(|| SystemClock.now()),
            directory,
        });
        let broker = Arc::new(broker.context("cannot open the way out")?);
        let process = Arc::new(GatewayProcess::default());
        let (serving, held, until) = (Arc::clone(&broker), Arc::clone(&process), stop.clone());
        tasks.spawn(async move {
            if let Err(error) = serving.serve(&*held, &until).await {
                tracing::error!(%error, "sandboxes reach nothing");
            }
        });
        broker.serving().await;
        let keeper = Self { broker, process };
        keeper.ask_package_managers(plan.clone(), tasks);
        Ok(keeper)
    }

    pub(crate) fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// Those who are asked for fresh doors when there is a new gateway.
    pub(crate) fn serve(&self, provider: Provider) {
        self.process.serve(provider);
    }

    /// The sandboxes are let go: nobody is asked for doors any more.
    pub(crate) fn let_go(&self) {
        self.process.let_go();
    }

    fn ask_package_managers(&self, plan: Plan, tasks: &TaskTracker) {
        let broker = Arc::clone(&self.broker);
        tasks.spawn(async move {
            let asked = tokio::task::spawn_blocking(move || {
                let home = plan.home.as_deref();
                let hosts = way_out::registries_of_host(&plan.server, Ecosystem::ALL, home);
                standing(&plan, hosts)
            });
            match asked.await {
                Ok(Ok(standing)) => drop(broker.reload(standing).await),
                Ok(Err(error)) => broker.alarm(None, error.to_string()),
                Err(error) => broker.alarm(None, error.to_string()),
            }
        });
    }
}

/// What the files say, for every sandbox.
fn standing(plan: &Plan, registries: RegistryHosts) -> anyhow::Result<Standing> {
    Ok(Standing {
        known: Arc::new(way_out::known(&plan.server, Certificates::Beside(&plan.beside))?),
        registries: Arc::new(registries),
        above: None,
        money: SpendingLimits::default(),
        allowances: allowances(&plan.server),
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
