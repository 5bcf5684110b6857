//! What processes have: each page shared out among those who map it, so that sums are right.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use fs_err as fs;

/// A process, and who started it.
#[derive(Debug, Clone, Copy)]
struct Process {
    id: u32,
    parent: u32,
}

/// Of a process and all below it, in KiB.
pub fn of_tree(first: u32) -> anyhow::Result<u64> {
    let kib = family(first)?.into_iter().map(proportional).sum();
    ensure!(kib > 0, "process {first} has no memory");
    Ok(kib)
}

/// Of all that are in the same namespace as this one, in KiB.
pub fn of_namespace(first: u32) -> anyhow::Result<u64> {
    let inside = namespace(first).context("its first process is gone")?;
    let kib = all()?
        .into_iter()
        .filter(|process| namespace(process.id).as_ref() == Some(&inside))
        .map(|process| proportional(process.id))
        .sum();
    ensure!(kib > 0, "process {first} has no memory");
    Ok(kib)
}

/// What is resident of a process and of those below it that are no sandbox's, in KiB.
pub fn resident_outside(first: u32) -> anyhow::Result<u64> {
    let own = namespace(first).context("the server is gone")?;
    let outside = family(first)?.into_iter().filter(|id| namespace(*id).as_ref() == Some(&own));
    Ok(outside.filter_map(|id| number(&format!("/proc/{id}/status"), "VmRSS:")).sum())
}

/// What is resident of one process alone, in KiB.
pub fn resident(id: u32) -> anyhow::Result<u64> {
    number(&format!("/proc/{id}/status"), "VmRSS:")
        .with_context(|| format!("process {id} has no memory"))
}

/// What of that is its own, and no page of a file such as its program, in KiB.
pub fn anonymous(id: u32) -> anyhow::Result<u64> {
    number(&format!("/proc/{id}/status"), "RssAnon:")
        .with_context(|| format!("process {id} has no memory"))
}

/// The most that was ever resident of it, in KiB.
pub fn most_resident(id: u32) -> anyhow::Result<u64> {
    number(&format!("/proc/{id}/status"), "VmHWM:")
        .with_context(|| format!("process {id} has no memory"))
}

/// The process below this one that was started with this word.
pub fn below(first: u32, word: &str) -> anyhow::Result<u32> {
    let is_called = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    };
    let found = family(first)?.into_iter().find(is_called);
    found.with_context(|| format!("no process below {first} is called `{word}`"))
}

/// What a process has; nothing when it has ended meanwhile.
fn proportional(id: u32) -> u64 {
    number(&format!("/proc/{id}/smaps_rollup"), "Pss:").unwrap_or_default()
}

fn family(first: u32) -> anyhow::Result<BTreeSet<u32>> {
    let all = all()?;
    let mut family = BTreeSet::from([first]);
    loop {
        let known = family.len();
        let children = all.iter().filter(|process| family.contains(&process.parent));
        let children: Vec<u32> = children.map(|process| process.id).collect();
        family.extend(children);
        if family.len() == known {
            return Ok(family);
        }
    }
}

fn all() -> anyhow::Result<Vec<Process>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let parent = number(&format!("/proc/{id}/status"), "PPid:");
        if let Some(parent) = parent.and_then(|parent| u32::try_from(parent).ok()) {
            processes.push(Process { id, parent });
        }
    }
    Ok(processes)
}

fn namespace(id: u32) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{id}/ns/pid")).ok()
}

/// The number behind `key`, at the beginning of a line.
fn number(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_a_child_adds_to_it() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(family(own).unwrap().contains(&child.id()));
        assert!(of_tree(own).unwrap() > proportional(child.id()));
        assert!(of_namespace(own).unwrap() >= proportional(own));
        assert!(resident_outside(own).unwrap() > 0);
        assert_eq!(below(own, "60").unwrap(), child.id());
        assert!(below(own, "no-such-word").is_err());
        assert!(anonymous(own).unwrap() < resident(own).unwrap());
        assert!(most_resident(own).unwrap() >= resident(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
