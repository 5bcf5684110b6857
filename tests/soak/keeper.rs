//! Starts servers, kills them and what they made, and looks whether each new one has cleared away what the one before left.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    cycles::Cycles,
    dice::Dice,
    host::{self, Place, Process, Rank},
    server_process::{Desk, Program, Server},
    storm::Orders,
};

/// How long what was killed may take to be gone, on a busy host.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Who was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Victim {
    Server,
    /// A server that was not ready yet.
    StartingServer,
    /// The first process of a sandbox.
    Guest,
    Launcher,
}

impl Victim {
    pub(crate) const ALL: [Self; 4] =
        [Self::Server, Self::StartingServer, Self::Guest, Self::Launcher];
}

#[derive(Debug)]
pub(crate) struct Keeper {
    program: Program,
    pub(crate) desk: Desk,
    pub(crate) place: Place,
    server: Option<Server>,
    /// Whom only we wait for.
    spared: Arc<AtomicU32>,
    pub(crate) kills: BTreeMap<Victim, u32>,
    pub(crate) leaks: Vec<String>,
    pub(crate) slowest_start: Duration,
    pub(crate) namespaces: usize,
}

impl Keeper {
    pub(crate) fn new(orders: &Orders, directory: &Path, desk: Desk) -> Self {
        Self {
            program: Program { path: orders.server.clone(), waiting: orders.waiting },
            desk,
            place: Place { directory: directory.to_owned(), groups: None },
            server: None,
            spared: Arc::default(),
            kills: BTreeMap::new(),
            leaks: Vec::new(),
            slowest_start: Duration::ZERO,
            namespaces: 0,
        }
    }

    /// The process that nobody else may bury.
    pub(crate) fn spared(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.spared)
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut server = self.begin()?;
        server.until_ready()?;
        self.slowest_start = self.slowest_start.max(started.elapsed());
        self.server = Some(server);
        Ok(())
    }

    fn begin(&self) -> anyhow::Result<Server> {
        let server = self.program.start(&self.place.directory, &self.desk)?;
        self.spared.store(server.id(), Ordering::Relaxed);
        Ok(server)
    }

    /// Lets the server remove everything.
    pub(crate) fn end(&mut self) -> anyhow::Result<()> {
        self.server.take().context("there is no server")?.close()
    }

    pub(crate) fn kill_server(&mut self) -> anyhow::Result<()> {
        self.server.take().context("there is no server")?.kill()?;
        self.count(Victim::Server);
        Ok(())
    }

    /// Starts one, and kills it when this has passed.
    pub(crate) fn kill_while_it_starts(&mut self, after: Duration) -> anyhow::Result<()> {
        let mut server = self.begin()?;
        let victim =
            if server.is_ready_within(after) { Victim::Server } else { Victim::StartingServer };
        server.kill()?;
        self.count(victim);
        Ok(())
    }

    pub(crate) fn kill_launcher(&mut self) -> anyhow::Result<()> {
        let launcher = self.launcher(&host::descendants());
        if let Some(launcher) = launcher {
            self.kill(launcher, Victim::Launcher)?;
        }
        Ok(())
    }

    pub(crate) fn kill_guest(&mut self, dice: &mut Dice) -> anyhow::Result<()> {
        let all = host::descendants();
        self.namespaces = self.namespaces.max(host::namespaces(&all).len());
        let is_guest = |one: &&Process| {
            one.rank == Rank::First && one.program == "lamp-guest" && one.state != 'Z'
        };
        let guests: Vec<_> = all.iter().filter(is_guest).map(|one| one.pid).collect();
        match dice.pick(&guests) {
            Some(guest) => self.kill(*guest, Victim::Guest),
            None => Ok(()),
        }
    }

    fn kill(&mut self, pid: i32, victim: Victim) -> anyhow::Result<()> {
        let pid = Pid::from_raw(pid).context("a process has a number")?;
        // It may have ended by itself, and then nobody was killed.
        if kill_process(pid, Signal::KILL).is_ok() {
            self.count(victim);
        }
        Ok(())
    }

    pub(crate) fn killed(&self, victim: Victim) -> u32 {
        self.kills.get(&victim).copied().unwrap_or_default()
    }

    fn count(&mut self, victim: Victim) {
        *self.kills.entry(victim).or_default() += 1;
    }

    /// The launcher of the server that lives.
    fn launcher(&self, all: &[Process]) -> Option<i32> {
        let server = self.server_id()?;
        let is_it = |one: &&Process| one.parent == server && one.program == "lamp-launcher";
        all.iter().find(is_it).map(|one| one.pid)
    }

    fn server_id(&self) -> Option<i32> {
        self.server.as_ref().and_then(|server| i32::try_from(server.id()).ok())
    }

    pub(crate) fn listed(&self) -> anyhow::Result<Vec<u128>> {
        let listed = self.desk.ask_first("list")?;
        listed.split_ascii_whitespace().map(|id| Ok(id.parse()?)).collect()
    }

    /// Nothing is there that no sandbox owns, and no sandbox that was destroyed. Nobody else may ask meanwhile.
    pub(crate) fn look_after_start(&mut self, cycles: &Cycles) -> anyhow::Result<()> {
        let listed = self.listed()?;
        let back = listed.iter().filter(|id| cycles.is_destroyed(**id));
        self.leaks.extend(back.map(|id| format!("{id} was destroyed, and came back")));
        let server = self.server_id();
        self.within("after a start", |place| {
            orphans(place).unwrap_or_else(|error| Some(format!("{error:#}")))
        });
        self.within("after a start", |place| {
            let all = host::descendants();
            let launcher =
                all.iter().find(|one| Some(one.parent) == server && one.program == "lamp-launcher");
            let launcher = launcher.map(|one| one.pid);
            let (bodies, _) = place.recorded().ok()?;
            let has_owner = |one: &&Process| {
                Some(one.pid) == server
                    || Some(one.pid) == launcher
                    || Some(one.parent) == launcher
                    || one.body.as_ref().is_some_and(|body| bodies.contains(body))
            };
            let orphan = all.iter().find(|one| !has_owner(one));
            orphan.map(|one| format!("a process that nobody owns: {one}"))
        });
        Ok(())
    }

    /// Looks until there is nothing to complain about; what there still is in the end is a leak.
    pub(crate) fn within(
        &mut self,
        when: &str,
        mut complaint: impl FnMut(&Place) -> Option<String>,
    ) {
        let deadline = Instant::now() + PATIENCE;
        while let Some(wrong) = complaint(&self.place) {
            if Instant::now() > deadline {
                self.leaks.push(format!("{when}: {wrong}"));
                return;
            }
            host::bury(self.spared.load(Ordering::Relaxed));
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// What the records, the control groups, the sockets and the disks do not agree on.
fn orphans(place: &Place) -> anyhow::Result<Option<String>> {
    let (bodies, disks) = place.recorded()?;
    let differs = |what: &str, found: &BTreeSet<String>, owned: &BTreeSet<String>| {
        let orphans: Vec<_> = found.difference(owned).collect();
        let missing: Vec<_> = owned.difference(found).collect();
        (found != owned)
            .then(|| format!("{what}: nobody owns {orphans:?}, and {missing:?} is missing"))
    };
    Ok(differs("control groups", &place.grouped(), &bodies)
        .or_else(|| differs("sockets", &place.sockets(), &bodies))
        .or_else(|| differs("disks", &place.disks().0, &disks)))
}
