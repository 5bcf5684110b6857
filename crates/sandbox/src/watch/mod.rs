//! What no control group counts, read from `/proc`: for users to whom none were delegated.
//!
//! Everything in a sandbox descends from its first process, because its guest adopts what loses its parent. So the members are
//! found from there, by files that a process cannot hide however it marks itself.

use std::path::Path;

use rustix::process::{Signal, pidfd_send_signal};

use crate::body;

/// More than any limit of processes allows: a walk that gets here runs after a tree that changes under it.
const MOST_MEMBERS: usize = 1 << 17;

/// One process of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pid: u32,
    started: u64,
    /// What only memory holds: neither on a disk nor given back when others need it.
    bytes: u64,
}

/// What a sandbox holds in memory, with the process that holds most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) bytes: u64,
    pub(crate) largest: Option<Member>,
}

/// Looks at everything below `first`. Memory that processes share after a fork counts once, but for processes that do not let
/// themselves be read: these pay in full. Exactness costs time, and is asked for only above `most`.
pub(crate) fn footprint(proc: &Path, first: u32, most: u64) -> Footprint {
    let mut members = members(proc, first);
    let quick = sum(&members);
    if quick > most {
        for member in &mut members {
            let rollup = text(&proc.join(member.pid.to_string()).join("smaps_rollup"));
            let shares = [field(&rollup, "Pss_Anon:"), field(&rollup, "Pss_Shmem:")];
            if let [Some(anonymous), Some(shared)] = shares {
                member.bytes = anonymous.saturating_add(shared);
            }
        }
    }
    let largest = members.iter().filter(|member| member.pid != first).max_by_key(|one| one.bytes);
    Footprint { bytes: sum(&members), largest: largest.copied() }
}

impl Member {
    /// Ends it, if it is still the one that was looked at.
    pub(crate) fn kill(&self) {
        if let Ok(Some(process)) = body::process(self.pid, self.started) {
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
}

fn sum(members: &[Member]) -> u64 {
    members.iter().fold(0, |sum: u64, member| sum.saturating_add(member.bytes))
}

fn members(proc: &Path, first: u32) -> Vec<Member> {
    let mut members = Vec::new();
    let mut waiting = vec![first];
    while let Some(pid) = waiting.pop().filter(|_| members.len() < MOST_MEMBERS) {
        let place = proc.join(pid.to_string());
        let Some(started) = body::started_at(place.join("stat")) else { continue };
        let status = text(&place.join("status"));
        let held = |name| field(&status, name).unwrap_or_default();
        let bytes = held("RssAnon:").saturating_add(held("RssShmem:"));
        members.push(Member { pid, started, bytes });
        let Ok(threads) = std::fs::read_dir(place.join("task")) else { continue };
        for thread in threads.flatten() {
            let children = text(&thread.path().join("children"));
            waiting.extend(
                children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
    }
    members
}

/// What cannot be read any more is empty: its process has ended.
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// `Name:   12 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        process::{Child, Command, Stdio},
    };

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A shell that holds 32 MiB, with a child that holds as much again, shared after the fork.
    fn family() -> Child {
        let script = "kept=$(head -c 33554432 /dev/zero | tr '\\0' x); (echo ready; read line) ; :";
        let mut shell = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        shell
    }

    #[test]
    fn a_family_is_found_from_its_first_and_shared_memory_counts_once() {
        let mut shell = family();
        let proc = Path::new("/proc");
        let quick = footprint(proc, shell.id(), u64::MAX);
        let exact = footprint(proc, shell.id(), 0);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(quick.bytes >= 64 * MIB, "both hold all of it: {quick:?}");
        assert!((32 * MIB..64 * MIB).contains(&exact.bytes), "{exact:?}");
        assert!(quick.largest.is_some());
    }

    #[test]
    fn a_process_that_is_another_now_is_not_killed() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let started = body::started_at(format!("/proc/{}/stat", child.id()).into()).unwrap();
        Member { pid: child.id(), started: started + 1, bytes: 0 }.kill();
        assert!(child.try_wait().unwrap().is_none());
        Member { pid: child.id(), started, bytes: 0 }.kill();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn what_is_gone_holds_nothing() {
        let told = footprint(Path::new("/nowhere"), 1, 0);
        assert_eq!(told, Footprint { bytes: 0, largest: None });
    }
}
