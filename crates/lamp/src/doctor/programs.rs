//! The programs that lamp uses, or is compared with.

use super::{
    finding::{Finding, Topic},
    host::{Found, Host, Program},
};
use crate::data_directory::Account;

pub(crate) fn examine(host: &Host) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Program::ALL
        .into_iter()
        .filter(|program| *program != Program::Newuidmap)
        .map(|program| judge(program, host.programs.get(&program).unwrap_or(&Found::Nowhere)))
        .collect();
    findings.extend(uid_ranges(host));
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
        Program::Newuidmap => {
            (Topic::UidRanges, "a sandbox of an ordinary user has a single uid", "install `uidmap`")
        }
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

/// Ranges of uids need both the program and a line in `/etc/subuid`. Root needs neither.
fn uid_ranges(host: &Host) -> Option<Finding> {
    if host.account == Account::Root {
        return None;
    }
    let found = host.programs.get(&Program::Newuidmap).unwrap_or(&Found::Nowhere);
    let finding = judge(Program::Newuidmap, found);
    let is_there = matches!(found, Found::Runs { .. } | Found::There { .. });
    Some(match &host.subordinate_uids {
        Some(range) if is_there => {
            Finding::ok(Topic::UidRanges, format!("{}, with uids {range}", finding.measured))
        }
        None if is_there => Finding::limited(
            Topic::UidRanges,
            "installed, but `/etc/subuid` has no line for this user",
            "a sandbox of an ordinary user has a single uid",
            "`usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER`",
        ),
        Some(_) | None => finding,
    })
}
