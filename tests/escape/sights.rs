//! What can be seen of the host: files, devices, descriptors, sockets, other processes.

use std::{
    io::Write as _,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddress, UnixListener},
    },
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use contracts::sandbox::User;
use domain::agent::Tier;

use crate::{
    calls::play,
    fixture::{Fixture, PROBE, outside, users},
    table::{Row, Tally, row},
};

const NOT_THERE: &[&str] = &["denied ENOENT"];
const CLOSED: &[&str] = &["denied ENOENT", "denied EACCES", "denied EPERM", "denied EROFS"];
const MASKED: &[&str] =
    &["value nothing", "denied ENOENT", "denied EACCES", "denied EPERM", "denied EIO"];

/// Must not be there at all.
const ABSENT: [&str; 14] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/machine-id",
    "/root/.profile",
    "/var/lib",
    "/var/log",
    "/run/systemd",
    "/run/docker.sock",
    "/boot",
    "/sys/fs/cgroup",
    "/sys/kernel",
];

/// Would change the kernel, or other machines.
const KERNEL: [&str; 33] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/fs/file-max",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/vm/memfd_noexec",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv4/ping_group_range",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/proc/mtrr",
    "/proc/kcore",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/unified/cgroup.procs",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/memory/release_agent",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/dev/kmsg",
    "/dev/loop-control",
    "/dev/loop0",
    "/dev/vda",
    "/dev/sda",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/console",
];

/// Tell about the host, its memory or its hardware.
const TELLING: [&str; 16] = [
    "/proc/kcore",
    "/proc/kallsyms",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/interrupts",
    "/proc/config.gz",
    "/proc/slabinfo",
    "/proc/vmallocinfo",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/sched_debug",
    "/proc/acpi",
    "/proc/driver",
    "/proc/scsi",
    "/proc/asound",
];

/// Of the first process, which is ours.
const OF_THE_FIRST: [&str; 17] = [
    "ptrace 1",
    "process-vm-read 1",
    "process-vm-write 1",
    "process-madvise 1",
    "pidfd-getfd 1",
    "kcmp 1",
    "proc-mem 1",
    "proc-file 1 environ",
    "proc-file 1 maps",
    "proc-file 1 auxv",
    "proc-file 1 pagemap",
    "proc-link 1 exe",
    "proc-link 1 cwd",
    "proc-link 1 root",
    "proc-link 1 fd/3",
    "proc-link 1 ns/net",
    "proc-open-write 1 exe",
];

fn rows(fixture: &Fixture) -> Vec<Row> {
    let mut rows = Vec::new();
    let sentinel = fixture.at.path().join("sentinel");
    std::fs::write(&sentinel, "of the host").unwrap();
    rows.push(row(45, &format!("exists {}", sentinel.display()), NOT_THERE));
    rows.extend(ABSENT.map(|path| row(45, &format!("exists {path}"), NOT_THERE)));
    rows.extend(KERNEL.map(|path| row(55, &format!("open-write {path}"), CLOSED)));
    rows.extend(TELLING.map(|path| row(55, &format!("holds {path}"), MASKED)));
    for words in OF_THE_FIRST {
        let child: Vec<&str> = ["outside"]
            .into_iter()
            .chain(words.split(' ').map(|word| if word == "1" { "child" } else { word }))
            // A descriptor that every process has.
            .map(|word| if word == "fd/3" { "fd/0" } else { word })
            .collect();
        rows.push(row(51, words, CLOSED).control(&child));
    }
    rows.push(row(45, "list /home", &["value lamp"]));
    rows.push(row(45, "list /sys", &["value devices"]));
    let devices = "fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero";
    rows.push(row(45, "list /dev", &[&format!("value {devices}")]));
    rows.push(row(1, "devices", &["value lo"]));
    rows.extend(nodes(fixture));
    rows
}

/// What must not be made, and what must not be changed.
fn nodes(fixture: &Fixture) -> Vec<Row> {
    let place = fixture.at.path().join("made").display().to_string();
    let mut rows = Vec::new();
    for (name, inside) in [
        ("mknod-block", "/home/lamp/made"),
        ("mknod-block", "/dev/shm/made"),
        ("mknod-mem", "/home/lamp/made"),
        ("device-works", "/home/lamp/made"),
        ("device-works", "/dev/shm/made"),
        ("create", "/usr/made"),
        ("create", "/dev/made"),
        ("create", "/sys/made"),
        ("create", "/proc/made"),
    ] {
        let control = format!("{place}-{}", rows.len());
        rows.push(
            row(45, &format!("{name} {inside}"), CLOSED).control(&["outside", name, &control]),
        );
    }
    for (name, inside) in [
        ("open-write", "/usr/lib/os-release"),
        ("remove", "/usr/bin/true"),
        ("overlay-attribute", PROBE),
        ("overlay-attribute", "/usr/bin/true"),
    ] {
        let kept = format!("{place}-kept-{}", rows.len());
        std::fs::write(&kept, "").unwrap();
        rows.push(row(45, &format!("{name} {inside}"), CLOSED).control(&["outside", name, &kept]));
    }
    let immutable = &["denied EPERM", "denied ENOTTY", "denied EOPNOTSUPP", "denied EACCES"];
    let control = format!("{place}-immutable");
    rows.push(row(45, "immutable /tmp/immutable", immutable).control(&[
        "outside",
        "immutable",
        &control,
    ]));
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_host_can_be_seen_or_changed() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    let rows = rows(&fixture);
    play(&fixture, &rows, &mut tally).await;
    only_declared_descriptors(&fixture, &mut tally).await;
    our_own_helpers_are_closed(&fixture, &mut tally).await;
    fixture.end().await;
    tally.finish("sights", 300);
}

async fn only_declared_descriptors(fixture: &Fixture, tally: &mut Tally) {
    // The control: a program that is given one more has one more.
    let script = format!("exec 9</dev/null; {} descriptors", crate::fixture::program().display());
    let control = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    let control = String::from_utf8_lossy(&control.stdout).trim().to_owned();
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        for user in users() {
            let found = fixture.probe(id, user, &["descriptors"]).await;
            let what = format!("56 {tier} {user:?} descriptors at start");
            let holds = found == "value none" && control.contains("9=/dev/null");
            tally.check(&what, &format!("{found}; outside: {control}"), holds.into());
            let place = fixture.probe(id, user, &["directory"]).await;
            let what = format!("56 {tier} {user:?} directory at start");
            tally.check(&what, &place, (place == "value /").into());
        }
    }
}

/// Beside the first process, the guest has helpers that wait for programs. They share its memory.
async fn our_own_helpers_are_closed(fixture: &Fixture, tally: &mut Tally) {
    let find = "for p in /proc/[0-9]*; do \
                [ \"$(cat $p/comm 2>/dev/null)\" = \"$(cat /proc/1/comm)\" ] && echo ${p#/proc/}; done; true";
    for tier in fixture.tiers() {
        if tier == Tier::Untrusted {
            tally.unsupported(
                "51 untrusted helpers of the first process",
                "gVisor shows them to all",
            );
            continue;
        }
        let id = fixture.open(tier).await;
        let helpers = fixture.shell(id, find).await;
        let what = format!("51 {tier} helpers of the first process");
        tally.check(&what, &helpers.replace('\n', " "), (helpers.lines().count() > 1).into());
        for user in users() {
            for name in ["proc-mem", "ptrace", "proc-link"] {
                // The helper of this very command, which is there for as long as it runs.
                let script = format!(
                    "for p in /proc/[0-9]*; do if [ \"$(cat $p/comm 2>/dev/null)\" = \"$(cat /proc/1/comm)\" ]; \
                     then {PROBE} {name} ${{p#/proc/}} exe; fi; done"
                );
                let script =
                    if name == "proc-link" { script } else { script.replace(" exe;", ";") };
                let said = fixture.run(id, user, &["/bin/sh", "-c", &script]).await.unwrap().text();
                let what = format!("51 {tier} {user:?} {name} of helpers");
                let refused =
                    said.lines().all(|line| matches!(line, "denied EPERM" | "denied EACCES"));
                let holds = refused && said.lines().count() > 1;
                tally.check(&what, &said.replace('\n', ", "), holds.into());
            }
        }
    }
}

/// Counts who comes.
struct Canary {
    tcp: u16,
    udp: u16,
    path: String,
    name: String,
    seen: Arc<AtomicU32>,
}

impl Canary {
    /// Listens on all addresses of the host, on a path and on an abstract name. The threads end with the test.
    fn new(fixture: &Fixture) -> Self {
        let seen = Arc::new(AtomicU32::new(0));
        let path = fixture.at.path().join("canary.sock").display().to_string();
        let name = format!("lamplighter-canary-{}", std::process::id());
        let tcp = TcpListener::bind("0.0.0.0:0").unwrap();
        let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
        let abstracted = UnixAddress::from_abstract_name(&name).unwrap();
        let sockets =
            [UnixListener::bind(&path).unwrap(), UnixListener::bind_addr(&abstracted).unwrap()];
        let ports = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let count = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let _gone = stream.and_then(|mut stream| stream.write_all(b"hello"));
            }
        });
        let count = Arc::clone(&seen);
        std::thread::spawn(move || {
            while let Ok((_, from)) = udp.recv_from(&mut [0; 16]) {
                count.fetch_add(1, Ordering::SeqCst);
                let _gone = udp.send_to(b"hello", from);
            }
        });
        for socket in sockets {
            let count = Arc::clone(&seen);
            std::thread::spawn(move || {
                for _stream in socket.incoming() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        Self { tcp: ports.0, udp: ports.1, path, name, seen }
    }
}

/// An address of the host that is not its loopback, if it has one. Nothing is sent.
fn own_address() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_socket_leads_out() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    let canary = Canary::new(&fixture);
    let refused: &[&str] = &["denied ECONNREFUSED", "denied ENETUNREACH", "denied EPERM"];
    let mut rows = vec![
        row(8, &format!("tcp 127.0.0.1:{}", canary.tcp), refused),
        row(8, &format!("tcp [::ffff:127.0.0.1]:{}", canary.tcp), refused),
        row(3, &format!("udp 127.0.0.1:{}", canary.udp), refused),
        row(58, &format!("unix-path {}", canary.path), NOT_THERE),
        row(58, &format!("unix-abstract {}", canary.name), refused),
    ];
    match own_address() {
        Some(address) => {
            rows.push(row(1, &format!("tcp {address}:{}", canary.tcp), refused));
            rows.push(row(2, &format!("tcp [::ffff:{address}]:{}", canary.tcp), refused));
            rows.push(row(3, &format!("udp {address}:{}", canary.udp), refused));
        }
        None => tally.unsupported("1 the host's own address", "it has none but the loopback"),
    }
    // The controls come first, and are the only ones that the canary may see.
    let controls: Vec<String> = rows
        .iter()
        .map(|row| outside(&row.control.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let expected = canary.seen.swap(0, Ordering::SeqCst);
    println!("controls: {controls:?}, seen {expected}");
    play_unseen(&fixture, &rows, &canary, &mut tally).await;
    addresses_of_nobody(&fixture, &mut tally).await;
    neighbours_do_not_meet(&fixture, &mut tally).await;
    fixture.end().await;
    tally.finish("sockets", 60);
}

async fn play_unseen(fixture: &Fixture, rows: &[Row], canary: &Canary, tally: &mut Tally) {
    let mut only_inside = Tally::default();
    play(fixture, rows, &mut only_inside).await;
    // `play` runs each control once more.
    let seen = canary.seen.load(Ordering::SeqCst);
    let controls = u32::try_from(rows.len()).unwrap();
    tally.merge(only_inside);
    tally.check("1 the canary saw only the controls", &seen.to_string(), (seen == controls).into());
}

async fn addresses_of_nobody(fixture: &Fixture, tally: &mut Tally) {
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        for user in users() {
            for (case, words) in [
                (1, ["tcp", "192.0.2.1:80"]),
                (2, ["tcp", "[2001:db8::1]:80"]),
                (2, ["tcp", "[::ffff:192.0.2.1]:80"]),
                (3, ["udp", "192.0.2.1:443"]),
                (7, ["tcp", "169.254.169.254:80"]),
                (13, ["udp", "192.0.2.53:53"]),
            ] {
                let outcome = fixture.probe(id, user, &words).await;
                let what = format!("{case:>2} {tier} {user:?} {}", words.join(" "));
                let holds = matches!(
                    outcome.as_str(),
                    "denied ENETUNREACH" | "denied ECONNREFUSED" | "denied EHOSTUNREACH"
                );
                tally.check(&what, &outcome, holds.into());
            }
        }
    }
}

/// A server in one sandbox is not there for another. The control: it is there for the sandbox itself.
async fn neighbours_do_not_meet(fixture: &Fixture, tally: &mut Tally) {
    for tier in fixture.tiers() {
        let (one, other) = (fixture.open(tier).await, fixture.open(tier).await);
        let serve = "perl -MIO::Socket::INET -e '\
                     my $s = IO::Socket::INET->new(Listen => 1, LocalPort => 4711); \
                     exit if fork; setpgrp; close STDOUT; close STDERR; \
                     while (my $c = $s->accept) { print $c qq(hello) }'";
        fixture.shell(one, serve).await;
        let own = fixture.probe(one, User::Agent, &["tcp", "127.0.0.1:4711"]).await;
        let foreign = fixture.probe(other, User::Agent, &["tcp", "127.0.0.1:4711"]).await;
        let what = format!(" 8 {tier} a neighbour's server");
        if own == "allowed" {
            let holds = foreign == "denied ECONNREFUSED";
            tally.check(&what, &format!("{foreign}; for itself: {own}"), holds.into());
        } else {
            tally.unsupported(&what, &format!("no server here: {own}"));
        }
        fixture.shell(one, "echo secret > /dev/shm/x; echo secret > /tmp/x").await;
        for path in ["/dev/shm/x", "/tmp/x"] {
            let foreign = fixture.probe(other, User::Agent, &["read", path]).await;
            let own = fixture.probe(one, User::Agent, &["read", path]).await;
            let what = format!("45 {tier} a neighbour's {path}");
            let holds = foreign == "denied ENOENT" && own == "value secret";
            tally.check(&what, &format!("{foreign}; its own: {own}"), holds.into());
        }
    }
}
