//! What runs of a sandbox: a first process, its control group, its ids, and the link to the guest.
//!
//! A sandbox has one body at a time, and none while it rests. A waiting member of the pool is a body that
//! belongs to nobody yet. A body that was used is never used again.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use guest::protocol::{Ask, ChannelId, ChannelState};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use tokio::io::{Interest, unix::AsyncFd};
use tokio_util::task::TaskTracker;

use crate::{
    control_groups::Group,
    link::{Link, LinkError},
    record::BodyRecord,
    slots::Slot,
};

#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) record: BodyRecord,
    pub(crate) group: Group,
    pub(crate) link: Link,
    /// Where the guest listens.
    pub(crate) control: PathBuf,
    /// Jobs that were begun over an earlier connection, until somebody asks for them again.
    pub(crate) left_over: tokio::sync::Mutex<Vec<ChannelState>>,
    /// Jobs that ended, the oldest first. The guest keeps their endings for a server that comes after this one.
    over: Mutex<VecDeque<ChannelId>>,
    process: AsyncFd<OwnedFd>,
    out_of_memory_seen: AtomicU64,
    /// How often something was killed by ourselves for its memory, and the most that was held then.
    relieved: AtomicU64,
    held_at_most: AtomicU64,
    /// Held for as long as anything may still have its ids.
    _slot: Option<Slot>,
}

/// How many ended jobs a guest remembers.
const REMEMBERED: usize = 256;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("its first process is gone")]
    Gone,
    #[error("{0}")]
    Link(#[from] LinkError),
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Body {
    /// Takes hold of a first process that was launched, just now or by a server before this one. Its ids are taken only
    /// when that succeeds: until then something may still have them.
    pub(crate) async fn hold(
        record: BodyRecord,
        group: Group,
        slot: &mut Option<Slot>,
        control: PathBuf,
        tracker: &TaskTracker,
    ) -> Result<Self, BodyError> {
        let process = process(record.pid, record.started)?.ok_or(BodyError::Gone)?;
        #[expect(
            deprecated,
            reason = "it is sound for a descriptor that we own; its successor is `unsafe`"
        )]
        let process = AsyncFd::with_interest(process, Interest::READABLE)?;
        let link = Link::connect(&control, tracker).await?;
        let out_of_memory_seen = AtomicU64::new(0);
        let left_over = tokio::sync::Mutex::default();
        Ok(Self {
            record,
            group,
            link,
            control,
            left_over,
            over: Mutex::default(),
            process,
            out_of_memory_seen,
            relieved: AtomicU64::new(0),
            held_at_most: AtomicU64::new(0),
            _slot: slot.take(),
        })
    }

    /// Asks the guest what it still does for a server before this one.
    pub(crate) async fn find_left_over(&self) -> Result<(), BodyError> {
        *self.left_over.lock().await = self.link.channels().await?;
        Ok(())
    }

    /// A job has ended. The guest forgets those that ended long ago.
    pub(crate) fn ended(&self, job: ChannelId) {
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        over.push_back(job);
        if over.len() > REMEMBERED
            && let Some(oldest) = over.pop_front()
        {
            // If the link is lost, there is nothing left to forget.
            let _ = self.link.send(&Ask::Forget { channel: oldest });
        }
    }

    /// Returns when its first process, and so everything in it, has ended.
    pub(crate) async fn death(&self) {
        // Nobody else takes this readiness away, so an error can only mean that the runtime ends.
        drop(self.process.readable().await);
    }

    /// Whether it runs, asked of the kernel now: the task that reads the link may learn of an end later than somebody who
    /// wants to use it. A dying process closes its sockets first, and its own end is told last. That we have hung up ourselves
    /// says nothing.
    pub(crate) fn is_alive(&self) -> bool {
        let mut signs = [
            PollFd::from_borrowed_fd(self.link.socket(), PollFlags::RDHUP),
            PollFd::new(self.process.get_ref(), PollFlags::IN),
        ];
        let at_once = Timespec::default();
        // An interrupted or refused look says nothing either way; using it then tells.
        matches!(poll(&mut signs, Some(&at_once)), Ok(0) | Err(_))
    }

    /// Ends everything in it. Where the first process dies, the kernel ends all the others.
    pub(crate) fn kill(&self) -> io::Result<()> {
        match pidfd_send_signal(self.process.get_ref(), Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// How often the memory ran out so far.
    pub(crate) fn memory_kills(&self) -> u64 {
        self.group.reading().oom_kills + self.relieved.load(Ordering::Relaxed)
    }

    /// What was held at most, if the memory ran out since this was last asked.
    pub(crate) fn out_of_memory(&self) -> Option<u64> {
        let counters = self.group.reading();
        let kills = counters.oom_kills + self.relieved.load(Ordering::Relaxed);
        let before = self.out_of_memory_seen.swap(kills, Ordering::Relaxed);
        let peak = counters.memory_peak_bytes.max(self.held_at_most.load(Ordering::Relaxed));
        (kills > before).then_some(peak)
    }

    /// Something in it is about to be killed by ourselves, because all together hold `bytes`.
    pub(crate) fn ran_out_of_memory(&self, bytes: u64) {
        self.held_at_most.fetch_max(bytes, Ordering::Relaxed);
        self.relieved.fetch_add(1, Ordering::Relaxed);
    }
}

/// A process by the name that is never used twice.
pub(crate) fn process(pid: u32, started: u64) -> io::Result<Option<OwnedFd>> {
    let Some(pid_number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let process = match pidfd_open(pid_number, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Looked at after it was opened: if it is the right one now, it was the right one then.
    let is_it = started_at(Path::new("/proc").join(pid.to_string()).join("stat")) == Some(started);
    Ok(is_it.then_some(process))
}

/// The 22nd field; the second may hold anything, so counting begins after it.
pub(crate) fn started_at(stat: PathBuf) -> Option<u64> {
    let text = std::fs::read_to_string(stat).ok()?;
    let (_, after) = text.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_when_it_started() {
        let own = std::process::id();
        let started = started_at("/proc/self/stat".into()).unwrap();
        assert!(process(own, started).unwrap().is_some());
        assert!(process(own, started + 1).unwrap().is_none());
        assert!(process(0, started).unwrap().is_none());
        assert!(process(u32::MAX, started).unwrap().is_none());
    }
}
