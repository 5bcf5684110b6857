//! Ours, as `lamp up` has it: the broker in this process, with its log on disk, and the gateway in one of its own.
//!
//! The gateway's process is `lamp-proxy`, started from memory as `lamp up` does.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use contracts::{
    clock::{Clock as _, SystemClock},
    egress::{Door, DoorKind, Internal, Network, Road as _},
    sandbox::Owner,
};
use domain::{
    id::SandboxId,
    policy::{Access, Bundle, Egress, EgressPhase, HostPattern, LayerKind, Rule, Rules},
};
use egress::{
    broker::{
        self, Broker, Gateways, ServeError,
        credentials::Seal,
        ledger::{FileLedger, Rotation},
        standing::{SpendingLimits, Standing},
        traffic::Allowances,
    },
    bundles::{Known, github::GithubHosts, model::Models},
    model::prices::Prices,
    trust::Roots,
};
use futures::future::BoxFuture;
use tokio::{
    process::{Child, Command},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    clients::{Route, Way},
    nobody::{NoCauses, NoCredentials},
    race::Lane,
    upstream::{BLIND, SEEN, Upstream},
    watch::Watched,
};

/// How long the gateway may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// The broker, its gateway, and sandboxes that have joined.
#[derive(Debug)]
pub struct Ours {
    broker: Arc<Broker>,
    process: Arc<Process>,
    stop: CancellationToken,
    serving: JoinSet<Result<(), ServeError>>,
    doors: Vec<(SocketAddr, String)>,
}

impl Ours {
    /// With so many sandboxes, each of which may reach the host in both ways.
    pub async fn start(at: &Path, upstream: &Upstream, sandboxes: u128) -> anyhow::Result<Self> {
        let directory = at.join("egress");
        fs_err::create_dir_all(&directory)?;
        let ledger = FileLedger::open(&directory.join("log.jsonl"), Rotation::default())?;
        let broker = Arc::new(Broker::open(broker::Settings {
            standing: Standing {
                known: Arc::new(known()?),
                registries: Arc::default(),
                above: None,
                money: SpendingLimits::default(),
                allowances: Allowances::default(),
            },
            prices: Prices::shipped()?,
            roots: Roots::default(),
            credentials: Arc::new(NoCredentials),
            seal: Arc::new(Unsealed),
            ledger: Arc::new(ledger),
            causes: Arc::new(NoCauses),
            now: Arc::new(|| SystemClock.now()),
            directory,
        })?);
        let (process, stop) = (Arc::new(Process::default()), CancellationToken::new());
        let mut serving = JoinSet::new();
        let (held, gateways, until) = (Arc::clone(&broker), Arc::clone(&process), stop.clone());
        serving.spawn(async move { held.serve(gateways.as_ref(), &until).await });
        let mut ours = Self { broker, process, stop, serving, doors: Vec::new() };
        tokio::time::timeout(PATIENCE, ours.broker.serving())
            .await
            .context("the gateway does not serve")?;
        let network = network(upstream)?;
        for number in 1..=sandboxes {
            ours.join(SandboxId::from_u128(number), &network).await?;
        }
        Ok(ours)
    }

    async fn join(&mut self, sandbox: SandboxId, network: &Network) -> anyhow::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let door = Door { kind: DoorKind::Proxy, socket: OwnedFd::from(listener) };
        let inside = self.broker.join(sandbox, Some(network), vec![door]).await?;
        let believed = inside.files.iter().find(|file| file.path == egress::trust::AUTHORITY);
        let believed = believed.context("the sandbox has no authority")?.bytes.clone();
        self.doors.push((address, String::from_utf8(believed)?));
        Ok(())
    }

    /// One way through it, by the doors of all sandboxes.
    pub fn lane(&self, way: Way, upstream: &Upstream) -> anyhow::Result<Lane> {
        let host = if way == Way::OursSpliced { BLIND } else { SEEN };
        let authority = format!("{host}:{}", upstream.address.port());
        let route = |(door, believed): &(SocketAddr, String)| {
            let believed = if way == Way::OursSpliced { &upstream.authority } else { believed };
            Ok(Route::direct(upstream.address, host, believed)?.through(*door, &authority))
        };
        let routes = self.doors.iter().map(route).collect::<anyhow::Result<_>>()?;
        Ok(Lane { way, routes, process: Some(self.process.watched()?) })
    }

    /// Ends the gateway, and waits until it has ended.
    pub async fn close(mut self) -> anyhow::Result<()> {
        self.stop.cancel();
        while let Some(served) = self.serving.join_next().await {
            served??;
        }
        let child = self.process.take();
        if let Some(mut child) = child {
            child.start_kill()?;
            child.wait().await?;
        }
        Ok(())
    }
}

/// What holds for every sandbox of a server that nobody has set up.
pub fn known() -> anyhow::Result<Known> {
    Ok(Known {
        models: Models::new(Vec::new())?,
        githubs: vec![GithubHosts::public()?],
        clouds: BTreeMap::new(),
    })
}

/// The host by two names: by the one each request is looked at, by the other nobody looks.
fn network(upstream: &Upstream) -> anyhow::Result<Network> {
    let port = upstream.address.port();
    let internal = |host: &str| {
        anyhow::Ok(Internal {
            host: host.parse()?,
            ports: vec![port],
            addresses: vec![IpAddr::from(Ipv4Addr::LOCALHOST)],
            authority: Some(upstream.authority.clone()),
        })
    };
    let blind = Rule::Host {
        host: HostPattern::Exactly(BLIND.parse()?),
        ports: BTreeSet::from([port]),
        access: Access::Opaque,
    };
    let allow = BTreeSet::from([Rule::Bundle(Bundle::Internal("seen".to_owned())), blind]);
    let rules = Rules { layer: LayerKind::Organisation, allow, deny: BTreeSet::new() };
    Ok(Network {
        egress: Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)])),
        internal: BTreeMap::from([
            ("seen".to_owned(), internal(SEEN)?),
            ("blind".to_owned(), internal(BLIND)?),
        ]),
        ..Network::closed(Owner::Person("bench".to_owned()))
    })
}

/// One gateway, which is not started again: a figure of two would be none.
#[derive(Debug, Default)]
struct Process(Mutex<Option<Child>>);

impl Process {
    fn spawn(&self) -> anyhow::Result<UnixStream> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_some() {
            bail!("the gateway has ended");
        }
        let (ours, theirs) = UnixStream::pair()?;
        let program = programs::proxy()?;
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command
            .arg0("lamp-proxy")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .kill_on_drop(true);
        *held = Some(command.spawn()?);
        Ok(ours)
    }

    fn take(&self) -> Option<Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn watched(&self) -> anyhow::Result<Watched> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = held.as_ref().and_then(Child::id);
        Ok(Watched(id.context("the gateway has ended")?))
    }
}

impl Gateways for Process {
    fn start(&self) -> BoxFuture<'_, Result<UnixStream, String>> {
        Box::pin(async { self.spawn().map_err(|error| error.to_string()) })
    }

    fn fresh_doors(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// What is kept here is kept for a minute.
struct Unsealed;

impl Seal for Unsealed {
    fn seal(&self, _context: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        Ok(plain.to_vec())
    }

    fn open(&self, _context: &str, sealed: &[u8]) -> Result<Vec<u8>, String> {
        Ok(sealed.to_vec())
    }
}
