//! Which ids of the host stand behind the ids inside.

use std::fs;

use launcher::plan::{AGENT, Failure, IDS};
use rustix::process::{Pid, getegid, geteuid};

use crate::failure::Step;

/// Gives a new user namespace its range of ids.
pub(crate) fn give_range(pid: Pid, base: u32) -> Result<(), Failure> {
    let line = format!("0 {base} {IDS}\n");
    write(pid, "uid_map", &line)?;
    write(pid, "gid_map", &line)
}

/// Gives a new user namespace our own user, as the agent.
pub(crate) fn give_own(pid: Pid) -> Result<(), Failure> {
    // Without this, an ordinary user may not write a map of groups.
    write(pid, "setgroups", "deny")?;
    write(pid, "uid_map", &format!("{AGENT} {} 1\n", geteuid().as_raw()))?;
    write(pid, "gid_map", &format!("{AGENT} {} 1\n", getegid().as_raw()))
}

/// Writes a file of a process in one piece, as the kernel wants it.
pub(crate) fn write(pid: Pid, file: &str, text: &str) -> Result<(), Failure> {
    let path = format!("/proc/{}/{file}", pid.as_raw_nonzero());
    fs::write(&path, text).step_on("map the users", &path)
}
