//! First processes that wait for a plan.
//!
//! What is the same for every sandbox, above all the namespaces, is done before anybody asks: a first process is made
//! ahead, and waits on its line. It has no identity, no files of a sandbox and no ids. When the launcher goes, it goes.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
};

use launcher::plan::{Failure, IDS, MOUNTER};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, Uid, pidfd_send_signal},
    thread::set_thread_res_uid,
};

use crate::{
    failure::{Step, refused},
    inside::{self, Newcomer},
    line,
    mounts::furniture::{self, Nodes},
    seccomp::Filters,
    syscalls::{self, Side},
    users,
};

const NAMESPACES: [i32; 5] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
];

/// The first of the ids that own the user namespaces. Nobody's, as all ids there.
pub(crate) const OWNERS: u32 = MOUNTER + 1;

/// How long a killed process may take to go.
const FAREWELL: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

pub(crate) use crate::power::Power;

/// A first process that waits. It is killed when this is dropped, unless it is let go.
#[derive(Debug)]
pub(crate) struct Standby {
    pub(crate) pid: Pid,
    handle: OwnedFd,
    /// In clock ticks since boot.
    pub(crate) started: u64,
    pub(crate) line: OwnedFd,
    /// Made by us where only the host's root can.
    pub(crate) furniture: Option<OwnedFd>,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Ours,
    ItsOwn,
}

impl Standby {
    pub(crate) fn is_alive(&self) -> bool {
        let mut polled = [PollFd::new(&self.handle, PollFlags::IN)];
        matches!(poll(&mut polled, Some(&Timespec::default())), Ok(0))
    }

    /// It is a sandbox now.
    pub(crate) fn let_go(mut self) {
        self.life = Life::ItsOwn;
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        if self.life == Life::Ours {
            // It may be gone already. Whoever hears of a failure finds nothing left, so we see it go.
            let _ended = pidfd_send_signal(&self.handle, Signal::KILL);
            let mut polled = [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)];
            let _gone = poll(&mut polled, Some(&FAREWELL));
        }
    }
}

/// Makes first processes.
#[derive(Debug)]
pub(crate) struct Nursery {
    pub(crate) power: Power,
    guest: OwnedFd,
    filters: Filters,
    born: u32,
}

impl Nursery {
    pub(crate) fn new(power: Power, guest: OwnedFd, filters: Filters) -> Self {
        Self { power, guest, filters, born: 0 }
    }

    /// Makes one.
    pub(crate) fn bear(&mut self) -> Result<Standby, Failure> {
        let furniture = match self.power {
            Power::Root => Some(furniture::make(Nodes::New)?),
            Power::Ordinary => None,
        };
        let (ours, theirs) = line::open().step("make a line")?;
        let (pid, handle) = match self.clone()? {
            Side::Parent { pid, handle } => (pid, handle),
            Side::Child => {
                let (power, guest, filters) = (self.power, &self.guest, &self.filters);
                inside::live(theirs, Newcomer { power, guest, furniture, filters })
            }
        };
        let mut standby =
            Standby { pid, handle, started: 0, line: ours, furniture, life: Life::Ours };
        if self.power == Power::Ordinary {
            users::give_own(pid)?;
            line::nod(&standby.line).step("map the users")?;
        }
        standby.started = started(pid)?;
        // A sandbox dies before anything of the host's does.
        users::write(pid, "oom_score_adj", "500")?;
        Ok(standby)
    }

    /// Each user namespace has an owner of its own, because the kernel counts watches, pending signals and the like of
    /// all namespaces of one owner together, and one sandbox could use up what the others need.
    fn clone(&mut self) -> Result<Side, Failure> {
        let step = "make the namespaces";
        match self.power {
            Power::Ordinary => Self::clone_as_we_are().step(step),
            Power::Root => {
                self.born = self.born.wrapping_add(1);
                let owner = Uid::from_raw(OWNERS + self.born % IDS);
                set_thread_res_uid(None, owner, None).step(step)?;
                let side = Self::clone_as_we_are();
                if !matches!(side, Ok(Side::Child)) {
                    set_thread_res_uid(None, Uid::ROOT, None).step(step)?;
                }
                side.step(step)
            }
        }
    }

    fn clone_as_we_are() -> std::io::Result<Side> {
        let flags =
            NAMESPACES.iter().fold(0, |all, &one| all | u64::try_from(one).unwrap_or_default());
        let time = u64::try_from(libc::CLONE_NEWTIME).unwrap_or_default();
        match syscalls::clone_into(flags | time) {
            // A kernel without time namespaces.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => syscalls::clone_into(flags),
            other => other,
        }
    }
}

/// When a process has started, in clock ticks since boot: field 22 of its `stat`.
pub(crate) fn started(pid: Pid) -> Result<u64, Failure> {
    let step = "read when the first process has started";
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = fs::read_to_string(&path).step_on(step, &path)?;
    // The name may hold spaces and brackets; what follows the last bracket is plain, and begins with field 3.
    let after_name = stat.rsplit_once(')').map(|(_name, rest)| rest);
    after_name
        .and_then(|rest| rest.split_ascii_whitespace().nth(19))
        .and_then(|ticks| ticks.parse().ok())
        .ok_or_else(|| refused(step, "its `stat` cannot be read"))
}
