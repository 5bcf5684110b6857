//! What a process has used, as the kernel counts it.

use std::{process::Command, time::Duration};

use anyhow::Context as _;
use fs_err as fs;

/// In what processor time is told, on every machine that we run on.
const TICK: Duration = Duration::from_millis(10);

/// A process that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched(pub u32);

impl Watched {
    /// The processor time of all its threads, in its own code and in the kernel.
    pub fn processor(self) -> anyhow::Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // The name stands in parentheses, and may have some of its own.
        let (_, rest) = text.rsplit_once(')').context("the kernel does not say what is used")?;
        let ticks: u64 = rest
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(str::parse::<u64>)
            .sum::<Result<u64, _>>()?;
        Ok(TICK * u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    /// The memory that it has now.
    pub fn resident_kib(self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        Ok(kib.context("the kernel does not say how much memory is used")?.parse()?)
    }

    /// What the kernel holds in its connections: what came and was not read, and what was written and not taken. Nothing where
    /// `ss` does not tell.
    pub fn sockets_kib(self) -> Option<u64> {
        let told = Command::new("ss").args(["-tmnpHO"]).output().ok()?;
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let mark = format!("pid={},", self.0);
        let held = |line: &str| -> Option<u64> {
            let (_, memory) = line.split_once("skmem:(")?;
            let number = |part: &str| memory_of(memory, part);
            Some(number("r")? + number("w")?)
        };
        let mut lines = told.lines().filter(|line| line.contains(&mark)).peekable();
        lines.peek()?;
        lines.map(held).sum::<Option<u64>>().map(|bytes| bytes / 1_024)
    }
}

/// One number of `r6144,rb131072,t0,…`: the one that begins with these letters and has no others.
fn memory_of(memory: &str, letters: &str) -> Option<u64> {
    memory.split([',', ')']).find_map(|part| part.strip_prefix(letters)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sockets_hold_is_read() {
        let memory = "r6144,rb131072,t0,tb87040,f2048,w4096,o0,bl0,d0)";
        assert_eq!(memory_of(memory, "r"), Some(6_144));
        assert_eq!(memory_of(memory, "w"), Some(4_096));
        assert_eq!(memory_of(memory, "x"), None);
    }

    #[test]
    fn a_process_has_memory_and_processor_time() {
        let own = Watched(std::process::id());
        assert!(own.resident_kib().unwrap() > 0);
        assert!(own.processor().is_ok());
    }
}
