//! What runs below us, and how it ends.
//!
//! A command may start what outlives it: another group, another session, a child whose parent is gone. Orphans become our children
//! ([`adopt_orphans`]), so whatever is new below us since a command began is that command's. One command runs at a time.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group,
    set_child_subreaper, set_dumpable_behavior, waitpid,
};

use crate::stop::Stop;

/// A process, told apart from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pid: i32,
    begun: u64,
}

/// How long it is tried to end what does not want to end.
const LONGEST: Duration = Duration::from_millis(800);
const PAUSE: Duration = Duration::from_millis(5);

/// From now on, who loses its parent below us becomes our child.
pub fn adopt_orphans() -> std::io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// From now on, other processes of our user cannot look into us.
pub fn hide() -> std::io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Everything below us.
pub fn below() -> BTreeSet<Process> {
    let all = all();
    let mut found = BTreeSet::new();
    let mut waiting = vec![getpid().as_raw_nonzero().get()];
    while let Some(parent) = waiting.pop() {
        for seen in all.iter().filter(|seen| seen.parent == parent) {
            if found.insert(seen.process) {
                waiting.push(seen.process.pid);
            }
        }
    }
    found
}

/// Ends the group, and all that is below us and was not there `before`.
pub fn end_since(before: &BTreeSet<Process>, group: Pid) {
    let until = Instant::now() + LONGEST;
    let nobody_stops_this = Stop::default();
    loop {
        // The group may be gone already.
        let _gone = kill_process_group(group, Signal::KILL);
        let new: Vec<Process> = below().difference(before).copied().collect();
        let mut alive = 0;
        for process in &new {
            if end(*process) {
                alive += 1;
            }
        }
        // The leader is waited for by who started it.
        if alive == 0 || Instant::now() > until {
            return;
        }
        // It cannot be stopped, so it waits.
        let _waited = nobody_stops_this.wait(PAUSE);
    }
}

/// Ends everything below us. The last thing that is done.
pub fn end_all() {
    let until = Instant::now() + LONGEST;
    let nobody_stops_this = Stop::default();
    loop {
        let mut alive = 0;
        for process in below() {
            if end(process) {
                alive += 1;
            }
        }
        if alive == 0 || Instant::now() > until {
            return;
        }
        let _waited = nobody_stops_this.wait(PAUSE);
    }
}

/// Takes the dead orphans off the list of processes, but not `but`, who is waited for elsewhere.
pub fn bury(before: &BTreeSet<Process>, but: Pid) {
    for seen in all().iter().filter(|seen| seen.is_dead) {
        let is_ours = seen.parent == getpid().as_raw_nonzero().get();
        let pid = Pid::from_raw(seen.process.pid).filter(|pid| *pid != but);
        if let Some(pid) = pid.filter(|_| is_ours && !before.contains(&seen.process)) {
            let _gone = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Kills one; whether it was still alive.
fn end(process: Process) -> bool {
    let Some(pid) = Pid::from_raw(process.pid) else { return false };
    let is_dead = look(process.pid).is_none_or(|seen| seen.is_dead || seen.process != process);
    if !is_dead {
        // It may end by itself in this moment.
        let _gone = kill_process(pid, Signal::KILL);
    }
    !is_dead
}

struct Seen {
    process: Process,
    parent: i32,
    is_dead: bool,
}

fn all() -> Vec<Seen> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(look).collect()
}

/// What `/proc/PID/stat` tells. The name in it is in brackets, and may contain anything.
fn look(pid: i32) -> Option<Seen> {
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // The start is field 22; state and parent were 3 and 4.
    let begun = fields.nth(17)?.parse().ok()?;
    let is_dead = matches!(state, "Z" | "X" | "x");
    Some(Seen { process: Process { pid, begun }, parent, is_dead })
}
