//! Which machine this is, and what else it was doing.

use std::process::Command;

use contracts::clock::{Clock as _, SystemClock};
use fs_err as fs;

/// The lines above the figures.
pub fn header() -> String {
    let name = rustix::system::uname();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "Lamplighter's benches, {date}\n\
         machine  {node}: {cores} cores ({model}), {memory} GiB, {system} {release}\n\
         commit   {commit}\n\
         load     {load} before (1, 5 and 15 minutes)",
        date = date(),
        node = name.nodename().to_string_lossy(),
        system = name.sysname().to_string_lossy(),
        release = name.release().to_string_lossy(),
        model = first("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        memory = memory_gib(),
        commit = commit(),
        load = load(),
    )
}

pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn date() -> String {
    let now = jiff::Timestamp::from_millisecond(SystemClock.now().as_millis());
    now.map_or_else(|_wrong| String::new(), |now| now.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

fn memory_gib() -> u64 {
    let total = first("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kib: u64 = total.split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or_default();
    // The kernel keeps a little for itself: 23.5 is a machine of 24.
    kib.div_ceil(1024 * 1024)
}

/// The commit that is checked out, and whether the tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match git(&["status", "--porcelain", "--untracked-files=no"]).as_deref() {
        Some("") => commit,
        Some(_) | None => format!("{commit}, with changes that are not committed"),
    }
}

/// The value of the first line of `file` that begins with `key`.
fn first(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
