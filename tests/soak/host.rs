//! What of a server and its sandboxes is on this host, as the kernel tells it.
//!
//! This process becomes the parent of everything that its children leave behind, so whatever was started by a server, also by
//! one that is dead, is among our descendants, and is found whatever it is called.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

/// One descendant.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) state: char,
    /// What it runs: `lamp-guest`, `lamp-launcher`, or a path.
    pub(crate) program: String,
    /// Whether it is the first of its namespace.
    pub(crate) rank: Rank,
    /// The name of its sandbox's control group.
    pub(crate) body: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    First,
    Other,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, parent, state, program, body, .. } = self;
        write!(f, "{pid} ({program}, {state}, child of {parent}, in {body:?})")
    }
}

/// Becomes the parent of whatever our children leave behind.
pub(crate) fn adopt_orphans() -> anyhow::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Buries our dead but `spared`, which somebody else waits for, as the first process of a host does.
pub(crate) fn bury(spared: u32) {
    let own = getpid().as_raw_nonzero().get();
    let dead = descendants().into_iter().filter(|one| one.state == 'Z' && one.parent == own);
    for one in dead.filter(|one| u32::try_from(one.pid) != Ok(spared)) {
        // Gone already, or not ours: both are fine.
        let _ = waitpid(Pid::from_raw(one.pid), WaitOptions::NOHANG);
    }
}

/// Everything that we started, and that those started.
pub(crate) fn descendants() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let all: BTreeMap<i32, (i32, char)> =
        names.filter_map(|name| Some((name.parse().ok()?, parent(&name)?))).collect();
    let own = getpid().as_raw_nonzero().get();
    let is_ours = |pid: i32| {
        let mut at = pid;
        while let Some((parent, _)) = all.get(&at) {
            if *parent == own {
                return true;
            }
            at = *parent;
        }
        false
    };
    let ours = all.iter().filter(|(pid, _)| is_ours(**pid));
    ours.map(|(pid, (parent, state))| look(*pid, *parent, *state)).collect()
}

/// The parent and the state of a process.
fn parent(pid: &str) -> Option<(i32, char)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = words.next()?.chars().next()?;
    Some((words.next()?.parse().ok()?, state))
}

fn look(pid: i32, parent: i32, state: char) -> Process {
    let text = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.to_string_lossy().into_owned();
    let program = program.trim_start_matches("/memfd:").trim_end_matches(" (deleted)").to_owned();
    let first =
        text("status").lines().any(|line| line.starts_with("NSpid:") && line.ends_with("\t1"));
    let groups = text("cgroup");
    let body = groups.lines().find_map(|line| {
        let (_, below) = line.split_once("/lamplighter-")?;
        Some(below.split('/').nth(1)?.to_owned())
    });
    let rank = if first { Rank::First } else { Rank::Other };
    Process { pid, parent, state, program, rank, body }
}

/// The namespaces of our descendants that are not our own.
pub(crate) fn namespaces(of: &[Process]) -> BTreeSet<PathBuf> {
    let kinds = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];
    let read = |pid: &str, kind: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok();
    let own: BTreeSet<_> = kinds.iter().filter_map(|kind| read("self", kind)).collect();
    let theirs = of.iter().flat_map(|one| {
        let pid = one.pid.to_string();
        kinds.into_iter().filter_map(move |kind| read(&pid, kind))
    });
    theirs.filter(|namespace| !own.contains(namespace)).collect()
}

/// What is in a pool of disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) subvolumes: Vec<String>,
    pub(crate) quota_groups: usize,
}

/// Where one server keeps its things.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    /// What its control groups are below, once it is known.
    pub(crate) groups: Option<String>,
}

impl Place {
    /// The name of the parent of our control groups, learned from a sandbox that runs.
    pub(crate) fn learn(&mut self, of: &[Process]) {
        let group = |one: &Process| {
            let groups = fs::read_to_string(format!("/proc/{}/cgroup", one.pid)).ok()?;
            let (_, below) = groups.lines().find_map(|line| line.split_once("/lamplighter-"))?;
            Some(format!("lamplighter-{}", below.split('/').next()?))
        };
        if self.groups.is_none() {
            self.groups = of.iter().find_map(group);
        }
    }

    /// The directories of our control groups' parent, in every hierarchy that is mounted.
    fn parents(&self) -> Vec<PathBuf> {
        let Some(groups) = &self.groups else { return Vec::new() };
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mounts = mounts.lines().filter(|line| line.contains(" - cgroup"));
        let places: BTreeSet<PathBuf> = mounts
            .filter_map(|line| Some(Path::new(line.split(' ').nth(4)?).join(groups)))
            .filter(|place| place.is_dir())
            .collect();
        places.into_iter().collect()
    }

    /// Bodies that have a control group, in any hierarchy.
    pub(crate) fn grouped(&self) -> BTreeSet<String> {
        let inside = |parent: &PathBuf| {
            names(parent).into_iter().map(|name| (parent.join(&name), name)).collect::<Vec<_>>()
        };
        let all = self.parents();
        let groups = all.iter().flat_map(inside).filter(|(path, _)| path.is_dir());
        groups.map(|(_, name)| name).collect()
    }

    /// Bodies that have a socket.
    pub(crate) fn sockets(&self) -> BTreeSet<String> {
        let sockets = names(&self.directory.join("run"));
        sockets.into_iter().map(|name| name.trim_end_matches(".sock").to_owned()).collect()
    }

    /// The bodies and the disks that records name.
    pub(crate) fn recorded(&self) -> anyhow::Result<(BTreeSet<String>, BTreeSet<String>)> {
        let directory = self.directory.join("data/records");
        let (mut bodies, mut disks) = (BTreeSet::new(), BTreeSet::new());
        for name in names(&directory) {
            let record: serde_json::Value =
                serde_json::from_slice(&fs::read(directory.join(&name))?)
                    .with_context(|| format!("the record {name}"))?;
            let word =
                |at: &str| record.pointer(at).and_then(|word| word.as_str().map(str::to_owned));
            bodies.extend(word("/body/name"));
            disks.extend(word("/disk"));
        }
        Ok((bodies, disks))
    }

    /// Where disks are, while the server has them mounted.
    fn ground(&self) -> Option<PathBuf> {
        let disks = self.directory.join("data/disks");
        let below = names(&disks).into_iter().map(|name| disks.join(name));
        below.into_iter().find(|place| place.join("trash").is_dir())
    }

    /// Disks of sandboxes and of setups; what is being made or removed beside them.
    pub(crate) fn disks(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let Some(ground) = self.ground() else { return Default::default() };
        let disks = ["disks", "setups"].iter().flat_map(|place| names(&ground.join(place)));
        let passing = ["incoming", "trash"].iter().flat_map(|place| {
            names(&ground.join(place)).into_iter().map(move |name| format!("{place}/{name}"))
        });
        (disks.collect(), passing.collect())
    }

    /// What is in the pool, if the disks are btrfs and its program is there.
    pub(crate) fn pool(&self) -> Option<Pool> {
        let ground = self.ground()?;
        let told = |arguments: &[&str], column: usize| {
            let output = Command::new("btrfs").args(arguments).arg(&ground).output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let words = text.lines().filter_map(|line| line.split_ascii_whitespace().nth(column));
            output.status.success().then(|| words.map(str::to_owned).collect::<Vec<_>>())
        };
        let subvolumes = told(&["subvolume", "list"], 8)?;
        let groups = told(&["qgroup", "show", "--raw"], 0)?;
        let quota_groups = groups.into_iter().filter(|name| name.contains('/')).count();
        Some(Pool { subvolumes, quota_groups })
    }

    /// Has the kernel drop the subvolumes that were destroyed.
    pub(crate) fn hurry_pool(&self) {
        let Some(ground) = self.ground() else { return };
        for what in ["filesystem", "subvolume"] {
            // What did not help is seen by whoever looks next.
            let _ = Command::new("btrfs").args([what, "sync"]).arg(&ground).output();
        }
    }

    /// Every file and directory below, but the rows of the ledger, which stay for ever.
    pub(crate) fn files(&self) -> BTreeSet<PathBuf> {
        let mut all = BTreeSet::new();
        walk(&self.directory, &mut all);
        let is_row = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "json")
                && path.starts_with(self.directory.join("data/ledger"))
        };
        all.into_iter().filter(|path| !is_row(path)).collect()
    }

    /// What the kernel still has of it: mounts, loop devices, control groups.
    pub(crate) fn held(&self) -> Vec<String> {
        let ours = self.directory.to_string_lossy().into_owned();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mounts = mounts.lines().filter(|line| line.contains(&ours));
        let mut held: Vec<String> = mounts.map(|line| format!("a mount: {line}")).collect();
        let devices =
            names(Path::new("/sys/block")).into_iter().filter(|name| name.starts_with("loop"));
        held.extend(devices.filter_map(|name| {
            let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
            file.contains(&ours).then(|| format!("a loop device: {name} of {}", file.trim()))
        }));
        held.extend(
            self.parents().iter().map(|path| format!("a control group: {}", path.display())),
        );
        held
    }
}

/// How many namespaces are kept by a mount of their own.
pub(crate) fn namespace_mounts() -> usize {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter(|line| line.contains(" - nsfs ")).count()
}

fn names(directory: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(directory) else { return BTreeSet::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn walk(directory: &Path, all: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        all.insert(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), all);
        }
    }
}
