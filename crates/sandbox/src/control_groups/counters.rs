//! What a group has counted.

use std::path::Path;

use super::{Duty, Group, Version, files};

/// As the kernel counts, since the group was made. All but memory and processes only grow; bytes of io may shrink
/// where members are asked and one is gone (see [`super`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub cpu_micros: u64,
    /// Now, with the files of the page cache.
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    /// How often something was killed because the memory ran out.
    pub oom_kills: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Now, threads included.
    pub processes: u64,
}

impl Group {
    /// What was counted so far. Zero where there is nothing to read.
    pub fn reading(&self) -> Counters {
        read(self)
    }
}

fn read(group: &Group) -> Counters {
    let mut counters = Counters::default();
    if let Some((version, directory)) = group.at(Duty::CpuTime) {
        counters.cpu_micros = cpu_micros(version, &directory);
    }
    if let Some((version, directory)) = group.at(Duty::Memory) {
        memory(version, &directory, &mut counters);
    }
    match group.at(Duty::Io) {
        Some((_, directory)) => io(&files::text(&directory.join("io.stat")), &mut counters),
        None => io_of_members(group, &mut counters),
    }
    if let Some((_, directory)) = group.at(Duty::Pids) {
        counters.processes = files::number(&directory.join("pids.current"));
    }
    counters
}

fn cpu_micros(version: Version, directory: &Path) -> u64 {
    match version {
        Version::One => files::number(&directory.join("cpuacct.usage")) / 1_000,
        Version::Two => files::keyed(&files::text(&directory.join("cpu.stat")), "usage_usec"),
    }
}

fn memory(version: Version, directory: &Path, counters: &mut Counters) {
    let (now, peak, kills) = match version {
        Version::One => {
            ("memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control")
        }
        Version::Two => ("memory.current", "memory.peak", "memory.events"),
    };
    counters.memory_bytes = files::number(&directory.join(now));
    // Older kernels have no peak on version 2; what is used now is the least that it can be.
    counters.memory_peak_bytes = files::number(&directory.join(peak)).max(counters.memory_bytes);
    counters.oom_kills = files::keyed(&files::text(&directory.join(kills)), "oom_kill");
}

/// `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`, a line for each device.
fn io(stat: &str, counters: &mut Counters) {
    for (key, value) in stat.split_whitespace().filter_map(|word| word.split_once('=')) {
        let value: u64 = value.parse().unwrap_or_default();
        match key {
            "rbytes" => counters.read_bytes = counters.read_bytes.saturating_add(value),
            "wbytes" => counters.written_bytes = counters.written_bytes.saturating_add(value),
            _ => {}
        }
    }
}

/// A process's own counters hold those of the children that it has buried, so the first process ends up with
/// nearly all.
fn io_of_members(group: &Group, counters: &mut Counters) {
    let Some(directory) = group.directories().into_iter().next() else { return };
    for pid in files::text(&directory.join("cgroup.procs")).lines() {
        let told = files::text(&group.proc().join(pid).join("io"));
        let add = |sum: &mut u64, key| *sum = sum.saturating_add(files::keyed(&told, key));
        add(&mut counters.read_bytes, "read_bytes");
        add(&mut counters.written_bytes, "write_bytes");
    }
}
