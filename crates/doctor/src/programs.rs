//! The programs that lamp uses, or is compared with.

use terminal::data_directory::Account;

use super::{
    finding::{Finding, Topic},
    host::{Found, Host, Program},
};

pub(crate) fn examine(host: &Host) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Program::ALL
        .into_iter()
        .filter(|program| *program != Program::MkfsBtrfs)
        .map(|program| judge(program, host.programs.get(&program).unwrap_or(&Found::Nowhere)))
        .collect();
    findings.push(disk_limits(host));
    findings.push(toolchains(host));
    findings
}

/// What follows from its absence, and how to get it.
const fn absence(program: Program) -> (Topic, &'static str, &'static str) {
    match program {
        Program::Git => (Topic::Git, "no repository can be read or changed", "install `git`"),
        Program::Runsc => (
            Topic::Gvisor,
            "no gVisor; tier `untrusted` is not available unless microVMs are",
            "install `runsc` (gVisor)",
        ),
        Program::MkfsBtrfs => (Topic::DiskLimits, UNLIMITED, "install `btrfs-progs`"),
        Program::Postgres => (
            Topic::Postgres,
            "nothing for one machine, because SQLite is inside lamp; several replicas need a server somewhere",
            "install `postgresql`, if you want the server here",
        ),
        Program::Runc => (
            Topic::Runc,
            "nothing; lamp works without it",
            "install `runc`, if you want to compare sandboxes with it",
        ),
        Program::Bwrap => (
            Topic::Bubblewrap,
            "nothing; lamp works without it",
            "install `bubblewrap`, if you want to compare sandboxes with it",
        ),
    }
}

fn judge(program: Program, found: &Found) -> Finding {
    let (topic, follows, remedy) = absence(program);
    match found {
        Found::Runs { version } => Finding::ok(topic, version),
        Found::There { path } => Finding::ok(topic, path.display().to_string()),
        Found::Nowhere => Finding::missing(topic, "not on the `PATH`", follows, remedy),
        Found::Broken { path, error } => {
            let measured = format!("`{}` does not run: {error}", path.display());
            Finding::missing(topic, measured, follows, remedy)
        }
    }
}

/// Those of the system are there anyway.
fn toolchains(host: &Host) -> Finding {
    if host.toolchains.is_empty() {
        return Finding::ok(Topic::Toolchains, "no version manager in the home: the system's own");
    }
    Finding::ok(Topic::Toolchains, host.toolchains.join(", "))
}

const UNLIMITED: &str =
    "disk limits of sandboxes are watched, not enforced, and a fork copies its disk";

/// The disks of sandboxes lie in a pool with quotas, which only root can mount.
fn disk_limits(host: &Host) -> Finding {
    let found = host.programs.get(&Program::MkfsBtrfs).unwrap_or(&Found::Nowhere);
    match host.account {
        Account::Root if matches!(found, Found::Nowhere) => {
            let (topic, follows, remedy) = absence(Program::MkfsBtrfs);
            Finding::missing(topic, "`mkfs.btrfs` is not on the `PATH`", follows, remedy)
        }
        Account::Root => judge(Program::MkfsBtrfs, found),
        Account::Ordinary { .. } => Finding::limited(
            Topic::DiskLimits,
            "only root can mount a pool with quotas",
            UNLIMITED,
            "run lamp as root",
        ),
    }
}
