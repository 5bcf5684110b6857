//! The gateway gives up what it does not need, before it reads the first hostile byte.
//!
//! No new rights, no core file, nobody looks into its memory, no file but those that name resolution reads; and as root it
//! becomes somebody who owns nothing.
//!
//! Call it while the process has one thread: what is given up by one thread is given up by those that it starts, not by those that are.

use std::{fs, path::PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
};
use rustix::{
    process::{
        DumpableBehavior, Gid, Resource, Rlimit, Uid, geteuid, getrlimit, set_dumpable_behavior,
        setrlimit,
    },
    thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

/// Somebody who owns nothing: `nobody`, on every system.
pub const NOBODY: u32 = 65_534;

/// What name resolution reads.
const READ: [&str; 6] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
];

/// How far the gateway is shut in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutIn {
    /// Files are out of reach too.
    Whole,
    /// The kernel has no Landlock; file rights are all that keeps files out of reach.
    WithoutLandlock,
}

#[derive(Debug, thiserror::Error)]
pub enum ShutInError {
    #[error("the gateway cannot {what}")]
    Step { what: &'static str, source: std::io::Error },
    #[error("the gateway cannot put files out of reach")]
    Landlock(#[from] landlock::RulesetError),
}

/// Gives it up. As root the process becomes `user`, in the group of the same number.
pub fn shut_in(user: u32) -> Result<ShutIn, ShutInError> {
    let step = |what: &'static str| {
        move |error: rustix::io::Errno| ShutInError::Step { what, source: error.into() }
    };
    raise_descriptors();
    if geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
        set_thread_groups(&[]).map_err(step("leave its groups"))?;
        set_thread_res_gid(gid, gid, gid).map_err(step("change its group"))?;
        set_thread_res_uid(uid, uid, uid).map_err(step("change its user"))?;
    }
    set_no_new_privs(true).map_err(step("give up new rights"))?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(step("give up core files"))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(step("hide its memory"))?;
    without_files()
}

/// As many connections as the system lets us have. With fewer there are fewer connections.
fn raise_descriptors() {
    let now = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}

fn without_files() -> Result<ShutIn, ShutInError> {
    let all = AccessFs::from_all(ABI::V5);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .create()?;
    for path in readable() {
        // What is not there is not read.
        if let Ok(opened) = PathFd::new(&path) {
            let access = if path.is_dir() { read } else { AccessFs::ReadFile.into() };
            rules = rules.add_rule(PathBeneath::new(opened, access))?;
        }
    }
    let status = rules.restrict_self()?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(ShutIn::Whole),
        RulesetStatus::NotEnforced => Ok(ShutIn::WithoutLandlock),
    }
}

/// The files, and where one is a link out of `/etc` the directory that it leads to: it is replaced there, not written.
fn readable() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = READ.iter().map(PathBuf::from).collect();
    let real = READ.iter().filter_map(|path| fs::canonicalize(path).ok());
    let elsewhere = real.filter(|path| !path.starts_with("/etc"));
    paths.extend(elsewhere.filter_map(|path| path.parent().map(PathBuf::from)));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_out_of_reach_but_for_those_that_names_need() {
        // In a thread of its own: what it gives up, the others keep.
        let shut = std::thread::spawn(|| {
            assert!(fs::read("/etc/passwd").is_ok(), "the control");
            let shut = shut_in(NOBODY).unwrap();
            let nobody = rustix::process::getuid();
            (shut, nobody, fs::read("/etc/passwd").is_ok(), fs::read("/etc/hosts").is_ok())
        });
        let (shut, user, passwords, hosts) = shut.join().unwrap();
        let expected = if geteuid().is_root() { Uid::from_raw(NOBODY) } else { geteuid() };
        assert_eq!(user, expected);
        assert!(hosts, "names can be looked up still");
        assert_eq!(passwords, shut == ShutIn::WithoutLandlock);
    }
}
