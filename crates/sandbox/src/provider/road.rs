//! The way out of a sandbox: its doors, and what programs inside need to find them.
//!
//! A sandbox that was opened without a network has no doors and reaches nothing. One that has a network is joined to the
//! road before anything of its owner's runs in it, and leaves it when its body ends. A new server joins those
//! that it finds; what they may reach is remembered by the road, not here.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contracts::{
    egress::{Door, DoorKind, EgressError, Inside, InsideFile, Network, Road, When},
    sandbox::{SandboxError, User},
};
use domain::id::SandboxId;
use guest::protocol::Ending;
use launcher::plan::{Doors, Doorway, Reached, Transport};
use tokio::time::Instant;

use super::{
    Identity, Inner, Provider, Sandbox, busy,
    errand::{self, Errand},
};
use crate::{body::Body, oci::Builder};

/// Everybody inside may read what is put there.
const MODE: u32 = 0o644;

const ENOENT: i32 = 2;

/// Longer than a gateway needs to notice that its server is gone.
const LINGERS: Duration = Duration::from_secs(2);

/// Puts `$file` aside, if it is there.
const KEEP: &str = r#"[ -e "$file" ] && cp -p "$file" "$file.lamp" || true"#;

/// Puts it back.
const BACK: &str = r#"[ -e "$file.lamp" ] && mv "$file.lamp" "$file" || true"#;

/// The network of a setup, and what was put inside for it.
#[derive(Debug)]
pub(crate) struct SetupRoad {
    id: SandboxId,
    pub(crate) variables: BTreeMap<String, String>,
    files: Vec<InsideFile>,
}

impl SetupRoad {
    /// Paths of ours, which need no quotes.
    fn paths(&self, when: When) -> String {
        let files = self.files.iter().filter(|file| file.when == when);
        files.map(|file| file.path.as_str()).collect::<Vec<_>>().join(" ")
    }
}

impl Provider {
    /// The first process of a sandbox that runs, as this host numbers it, in whose network its doors are. `None` where what runs inside
    /// are no processes of this host: gVisor keeps them to itself.
    pub fn first_process(&self, id: SandboxId) -> Option<u32> {
        let sandbox = self.inner.known().get(&id).cloned()?;
        let tier = sandbox.lock().record.spec.tier;
        match self.inner.builders.of(tier).ok()? {
            Builder::Launcher => Some(sandbox.body().ok()?.record.pid),
            Builder::Runtime { .. } => None,
        }
    }
}

impl Inner {
    /// Joins a body that has just been made, and puts inside what its programs need.
    pub(super) async fn join(
        &self,
        sandbox: &Sandbox,
        body: &Body,
        network: Option<&Network>,
    ) -> Result<(), SandboxError> {
        let ports = match network {
            Some(network) => network.ports().into_iter().collect(),
            None => match sandbox.lock().record.ports.clone() {
                Some(ports) => ports,
                None => return Ok(()),
            },
        };
        let inside = self.open_road(sandbox.id, body, network, &ports).await?;
        self.put_inside(body, &inside.files).await?;
        let mut entry = sandbox.lock();
        entry.record.ports = Some(ports);
        entry.road = inside.variables;
        Ok(())
    }

    /// Puts another network in the place of the one that a running sandbox has.
    pub(super) async fn renew(
        &self,
        sandbox: &Sandbox,
        network: Option<&Network>,
    ) -> Result<(), SandboxError> {
        match network {
            Some(_) => self.join(sandbox, &*sandbox.body()?, network).await,
            None => Ok(()),
        }
    }

    /// Joins a body that a server before this one made. What it needs is inside already. Until `end`, doors that somebody stands in are tried
    /// again.
    async fn join_again(&self, sandbox: &Sandbox, end: Instant) {
        let Some(ports) = sandbox.lock().record.ports.clone() else { return };
        let Ok(body) = sandbox.body() else { return };
        let joined = async {
            let road = self.road()?;
            let doors = self.doors_after_another(&body, &ports, end).await?;
            road.join(sandbox.id, None, doors).await.map_err(|error| closed(&error))
        };
        match joined.await {
            Ok(inside) => sandbox.lock().road = inside.variables,
            Err(error) => {
                tracing::warn!(sandbox = %sandbox.id, %error, "a sandbox reaches nothing");
            }
        }
    }

    /// Joins every sandbox that has a network and runs: the gateway is a new one.
    pub(super) async fn join_all_again(&self) {
        let known: Vec<_> = self.known().values().cloned().collect();
        // For all of them together: whoever stands in their own way inside does not keep the server from starting.
        let end = Instant::now() + LINGERS;
        for sandbox in known {
            self.join_again(&sandbox, end).await;
        }
    }

    /// Doors in the place of those of a gateway that has ended, or is about to: one whose server was killed holds its own a moment longer,
    /// and a door that is left out then would stay shut.
    async fn doors_after_another(
        &self,
        body: &Body,
        ports: &[u16],
        end: Instant,
    ) -> Result<Vec<Door>, SandboxError> {
        let mut again = tokio::time::interval(Duration::from_millis(10));
        let (mut wanted, mut doors) = (kinds(ports), Vec::new());
        loop {
            again.tick().await;
            let opened = self.doors(body, &wanted).await?;
            wanted.retain(|kind| !opened.iter().any(|door| door.kind == *kind));
            doors.extend(opened);
            if wanted.is_empty() || Instant::now() >= end {
                return Ok(doors);
            }
        }
    }

    async fn open_road(
        &self,
        id: SandboxId,
        body: &Body,
        network: Option<&Network>,
        ports: &[u16],
    ) -> Result<Inside, SandboxError> {
        let road = self.road()?;
        let doors = self.doors(body, &kinds(ports)).await?;
        road.join(id, network, doors).await.map_err(|error| closed(&error))
    }

    fn road(&self) -> Result<&Arc<dyn Road>, SandboxError> {
        self.settings.road.as_ref().ok_or_else(|| SandboxError::Unsupported {
            reason: "there is no gateway here, and so no network".to_owned(),
        })
    }

    /// Those of them that nobody stands in.
    async fn doors(&self, body: &Body, kinds: &[DoorKind]) -> Result<Vec<Door>, SandboxError> {
        let wanted: BTreeMap<Doorway, DoorKind> =
            kinds.iter().map(|kind| (doorway(*kind), *kind)).collect();
        let order = Doors {
            pid: body.record.pid,
            started: body.record.started,
            doors: wanted.keys().copied().collect(),
        };
        let opened = self.spawner.doors(order).await.map_err(busy)?;
        let door = |(doorway, socket)| Some(Door { kind: *wanted.get(&doorway)?, socket });
        Ok(opened.into_iter().filter_map(door).collect())
    }

    pub(crate) async fn put_inside(
        &self,
        body: &Body,
        files: &[InsideFile],
    ) -> Result<(), SandboxError> {
        let user = self.own_user();
        for file in files {
            let lost = |error: crate::link::LinkError| busy(error);
            if file.when == When::IfThere
                && !errand::is_there(body, &file.path, user).await.map_err(lost)?
            {
                continue;
            }
            let outcome = errand::write_as(body, user, &file.path, &file.bytes, MODE).await;
            let outcome = outcome.map_err(lost)?;
            let unmissed = file.when == When::IfThere
                && matches!(outcome.ending, Ending::Failed { errno: ENOENT, .. });
            if let (Some(trouble), false) = (outcome.trouble(), unmissed) {
                return Err(busy(format!("cannot write {} inside: {trouble}", file.path)));
            }
        }
        Ok(())
    }

    /// Joins the body of a setup, which no record names.
    pub(crate) async fn join_setup(
        &self,
        body: &Body,
        network: Option<&Network>,
    ) -> Result<Option<SetupRoad>, SandboxError> {
        let Some(network) = network else { return Ok(None) };
        let id = SandboxId::from_u128(self.settings.ids.next());
        let ports: Vec<u16> = network.ports().into_iter().collect();
        let Inside { variables, files } = self.open_road(id, body, Some(network), &ports).await?;
        let road = SetupRoad { id, variables, files };
        let kept = format!("for file in {}; do {KEEP}; done", road.paths(When::IfThere));
        self.tidy(body, &kept).await?;
        self.put_inside(body, &road.files).await?;
        Ok(Some(road))
    }

    /// Takes out of a setup's disk what was put there for its network: an image knows nobody's authority.
    pub(crate) async fn leave_setup(
        &self,
        body: &Body,
        road: &SetupRoad,
    ) -> Result<(), SandboxError> {
        let back = format!("for file in {}; do {BACK}; done", road.paths(When::IfThere));
        let removed = format!("{back}; rm -f {}", road.paths(When::Always));
        self.tidy(body, &removed).await
    }

    /// A setup's sandbox is gone.
    pub(crate) async fn forget_setup(&self, road: &SetupRoad) {
        if let Ok(way) = self.road() {
            tell(road.id, &way.forget(road.id).await);
        }
    }

    async fn tidy(&self, body: &Body, script: &str) -> Result<(), SandboxError> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        let user = self.own_user();
        let environment = BTreeMap::new();
        let errand = Errand {
            argv: &argv,
            directory: "/",
            environment: &environment,
            user,
            limit: Duration::from_secs(30),
        };
        let outcome = errand::run(body, &errand, None).await.map_err(busy)?;
        outcome.trouble().map_or(Ok(()), |trouble| Err(busy(trouble)))
    }

    pub(super) fn own_user(&self) -> User {
        match self.identity {
            Identity::Root => User::Root,
            Identity::Ordinary => User::Agent,
        }
    }

    /// Its body is gone: so are its connections and its credentials.
    pub(super) fn leave(self: &Arc<Self>, sandbox: &Sandbox) {
        let (Some(road), id) = (self.joined_road(sandbox), sandbox.id) else { return };
        self.work.spawn(async move { tell(id, &road.leave(id).await) });
    }

    /// The same, to its end: another body of it is about to join.
    pub(super) async fn leave_now(&self, sandbox: &Sandbox) {
        if let Some(road) = self.joined_road(sandbox) {
            tell(sandbox.id, &road.leave(sandbox.id).await);
        }
    }

    /// It is gone for good.
    pub(super) fn forget(self: &Arc<Self>, sandbox: &Sandbox) {
        let (Some(road), id) = (self.joined_road(sandbox), sandbox.id) else { return };
        self.work.spawn(async move { tell(id, &road.forget(id).await) });
    }

    fn joined_road(&self, sandbox: &Sandbox) -> Option<Arc<dyn Road>> {
        sandbox.lock().record.ports.as_ref()?;
        self.settings.road.clone()
    }
}

/// Its doors are closed with its network, whatever the gateway knows.
fn tell(id: SandboxId, left: &Result<(), EgressError>) {
    if let Err(error) = left {
        tracing::warn!(sandbox = %id, %error, "a sandbox has not left the road");
    }
}

/// All doors of a sandbox that reaches these ports.
fn kinds(ports: &[u16]) -> Vec<DoorKind> {
    let own = [DoorKind::Proxy, DoorKind::Socks, DoorKind::Names, DoorKind::NamesOverTcp];
    ports.iter().copied().map(DoorKind::Port).chain(own).collect()
}

fn doorway(kind: DoorKind) -> Doorway {
    let loopback = |transport, port| Doorway { transport, reached: Reached::Loopback, port };
    match kind {
        DoorKind::Proxy => loopback(Transport::Tcp, DoorKind::PROXY_PORT),
        DoorKind::Socks => loopback(Transport::Tcp, DoorKind::SOCKS_PORT),
        DoorKind::Names => loopback(Transport::Udp, DoorKind::NAMES_PORT),
        DoorKind::NamesOverTcp => loopback(Transport::Tcp, DoorKind::NAMES_PORT),
        DoorKind::Port(port) => {
            Doorway { transport: Transport::Tcp, reached: Reached::AnyAddress, port }
        }
    }
}

fn closed(error: &EgressError) -> SandboxError {
    match error {
        EgressError::Gone { .. } => busy(error),
        EgressError::Unknown(_) | EgressError::Invalid(_) => {
            SandboxError::Unsupported { reason: error.to_string() }
        }
    }
}
