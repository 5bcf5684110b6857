//! Every dangerous system call, as the agent and as root inside, on every tier.

use std::collections::BTreeMap;

use domain::agent::Tier;

use crate::{
    fixture::{Fixture, outside, users},
    table::{Row, Tally, row},
};

const EPERM: &[&str] = &["denied EPERM"];
const UNKNOWN: &[&str] = &["denied ENOSYS"];
const NO_FAMILY: &[&str] = &["denied EAFNOSUPPORT", "denied EPERM", "denied EPROTONOSUPPORT"];

/// Refused with `EPERM` on every tier.
const FORBIDDEN: [(u16, &str); 63] = [
    (55, "mount"),
    (55, "umount"),
    (55, "pivot-root"),
    (55, "open-tree"),
    (55, "open-tree-attr"),
    (55, "move-mount"),
    (55, "fsopen"),
    (55, "fsconfig"),
    (55, "fsmount"),
    (55, "fspick"),
    (55, "mount-setattr"),
    (55, "statmount"),
    (55, "listmount"),
    (55, "name-to-handle"),
    (55, "shocker"),
    (55, "quotactl"),
    (55, "bpf"),
    (55, "perf"),
    (55, "userfaultfd"),
    (55, "io-uring"),
    (55, "keyctl"),
    (55, "add-key"),
    (55, "request-key"),
    (49, "fanotify"),
    (55, "syslog"),
    (55, "memfd-secret"),
    (55, "personality"),
    (55, "mempolicy"),
    (55, "kexec"),
    (55, "kexec-file"),
    (55, "init-module"),
    (55, "finit-module"),
    (55, "delete-module"),
    (55, "reboot"),
    (55, "swapon"),
    (55, "acct"),
    (62, "settimeofday"),
    (62, "clock-settime"),
    (62, "adjtimex"),
    (62, "sethostname"),
    (62, "setdomainname"),
    (55, "iopl"),
    (55, "ioperm"),
    (55, "modify-ldt"),
    (55, "int80"),
    (55, "tiocsti"),
    (55, "tioclinux"),
    (55, "tiocsetd"),
    (55, "setns-uts"),
    (50, "unshare-user"),
    (50, "unshare-mount"),
    (50, "unshare-pid"),
    (50, "unshare-net"),
    (50, "unshare-ipc"),
    (50, "unshare-uts"),
    (50, "unshare-cgroup"),
    (50, "clone-user"),
    (50, "clone-mount"),
    (50, "clone-pid"),
    (50, "clone-net"),
    (50, "clone-ipc"),
    (50, "clone-uts"),
    (50, "clone-cgroup"),
];

/// As on a kernel that does not have them, so that libraries fall back.
const ABSENT: [(u16, &str); 4] =
    [(50, "clone3-user"), (50, "clone3-mount"), (49, "aio"), (55, "mount-x32")];

/// Kinds of sockets that no agent needs.
const SOCKETS: [(u16, &str); 27] = [
    (5, "packet"),
    (5, "packet-datagram"),
    (5, "raw"),
    (5, "raw6"),
    (4, "ping"),
    (4, "ping6"),
    (5, "sctp"),
    (5, "dccp"),
    (5, "udplite"),
    (5, "mptcp"),
    (5, "vsock"),
    (5, "xdp"),
    (5, "alg"),
    (5, "kcm"),
    (5, "tipc"),
    (5, "rds"),
    (5, "can"),
    (5, "bluetooth"),
    (5, "netlink-diag"),
    (5, "netlink-audit"),
    (5, "netlink-netfilter"),
    (5, "netlink-uevent"),
    (5, "netlink-generic"),
    (5, "netlink-crypto"),
    (5, "netlink-xfrm"),
    (5, "key"),
    (5, "smc"),
];

fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> =
        FORBIDDEN.into_iter().map(|(case, name)| row(case, name, EPERM)).collect();
    rows.extend(ABSENT.map(|(case, name)| row(case, name, UNKNOWN)));
    rows.extend(SOCKETS.map(|(case, name)| row(case, &format!("socket {name}"), NO_FAMILY)));
    // At files that a sandbox shares with the host, these would make the host wait, or tell what it does.
    rows.extend(["lease", "directory-notice"].map(|name| row(45, name, EPERM)));
    rows.push(row(55, "memfd-exec-flag", &["denied EACCES"]));
    rows.push(row(55, "memfd-exec", EPERM));
    let by_path = row(55, "memfd-exec-by-path", &["denied EACCES", "denied EPERM"]);
    rows.push(match memfds_are_data() {
        Knob::Set => by_path,
        Knob::Unset => {
            by_path.unless("the host's `vm.memfd_noexec` is 0, and no sandbox can set it")
        }
    });
    rows.push(row(5, "kernel-tls", &["denied ENOPROTOOPT"]));
    let device = row(5, "rename-device", EPERM).control(&["outside-alone", "rename-device"]);
    rows.push(device);
    rows
}

/// Whether a setting of the host is on.
pub(crate) enum Knob {
    Set,
    Unset,
}

/// A sandbox takes this over from the host. What is run from memory is nothing that could not be run from a file.
fn memfds_are_data() -> Knob {
    let text = std::fs::read_to_string("/proc/sys/vm/memfd_noexec").unwrap_or_default();
    if matches!(text.trim(), "1" | "2") { Knob::Set } else { Knob::Unset }
}

#[tokio::test(flavor = "multi_thread")]
async fn dangerous_system_calls_are_refused() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    let rows = rows();
    play(&fixture, &rows, &mut tally).await;
    fixture.end().await;
    tally.finish("system calls", 320);
}

/// Plays every row on every tier, as every user; the controls once.
pub(crate) async fn play(fixture: &Fixture, rows: &[Row], tally: &mut Tally) {
    let mut controls = BTreeMap::new();
    for row in rows {
        let words: Vec<&str> = row.control.iter().map(String::as_str).collect();
        controls.insert(row.name(), outside(&words));
    }
    let users = users();
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        for row in rows {
            let words: Vec<&str> = row.words.iter().map(String::as_str).collect();
            for &user in &users {
                let what = format!("{:>2} {tier} {user:?} {}", row.case, row.name());
                let outcome = fixture.probe(id, user, &words).await;
                let control = controls.get(&row.name()).map_or("", String::as_str);
                judge(tier, row, &what, &outcome, control, tally);
            }
        }
        if fixture.answers(id).await {
            tally.passed(&format!("{tier} still answers"), "yes");
        } else {
            tally.failed(&format!("{tier} still answers"), "no");
        }
    }
}

fn judge(tier: Tier, row: &Row, what: &str, outcome: &str, control: &str, tally: &mut Tally) {
    let both = format!("{outcome}; outside: {control}");
    let is_expected = row.expected.iter().any(|line| line == outcome);
    // gVisor is a kernel of its own, and refuses in its own words. What it allows, it allows in itself: the host's
    // kernel is not asked, but that is nothing which a probe inside could show.
    let is_denied = is_expected || (tier == Tier::Untrusted && outcome.starts_with("denied "));
    let works_outside = !row.expected.iter().any(|line| line == control);
    match (is_denied, works_outside, &row.residue) {
        _ if outcome == "unknown probe" => tally.unsupported(what, "not on this architecture"),
        (true, true, _) => tally.passed(what, &both),
        (true, false, _) => tally.unsupported(what, &format!("{outcome}, and outside, too")),
        (false, _, _) if tier == Tier::Untrusted => {
            tally.unsupported(what, &format!("answered by gVisor itself: {outcome}"));
        }
        (false, _, Some(why)) => tally.unsupported(what, &format!("{outcome}: {why}")),
        (false, _, None) => tally.failed(what, &both),
    }
}
