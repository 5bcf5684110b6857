//! Invented computers, and what doctor says about each.

use std::{collections::BTreeMap, path::PathBuf};

use terminal::{colors::Colors, data_directory::Account};

use super::{
    Host, Verdict,
    attempt::{Attempt, Outcome},
    examine,
    host::{
        Access, Cgroups, Configuration, Controller, Data, Database, Disk, Found, Hierarchies,
        Kernel, Machine, Place, Program, Seccomp, UserNamespaceSettings, Virtualisation,
    },
    print_json, print_text,
};

const GIB: u64 = 1 << 30;
const ANN: Account = Account::Ordinary { uid: 1000 };

/// A laptop with everything, used by an ordinary person.
fn laptop() -> Host {
    let worked = |note: &str| Outcome::Worked { note: note.to_owned() };
    let mut attempts = BTreeMap::from(Attempt::ALL.map(|it| (it, worked("in a user namespace"))));
    attempts.insert(Attempt::UserNamespace, worked("created one, and mounted inside it"));
    attempts.insert(Attempt::Landlock, worked("7"));
    let runs = |version: &str| Found::Runs { version: version.to_owned() };
    Host {
        account: ANN,
        kernel: Kernel {
            system: "Linux".to_owned(),
            release: "6.18.3".to_owned(),
            architecture: "x86_64".to_owned(),
        },
        machine: Machine {
            processors: Some(16),
            memory_bytes: Some(32 * GIB),
            available_bytes: Some(21 * GIB),
            memory_limit_bytes: None,
        },
        now: "2026-11-15T22:41:48Z".parse().unwrap(),
        attempts,
        user_namespaces: UserNamespaceSettings {
            most: Some(127_000),
            ..UserNamespaceSettings::default()
        },
        seccomp: Seccomp {
            actions: Some(
                ["kill_process", "kill_thread", "errno", "user_notif"].map(str::to_owned).into(),
            ),
            filters: Some(0),
        },
        cgroups: Cgroups {
            hierarchies: Hierarchies::V2,
            controllers: controllers(&["cpu", "memory", "pids", "freezer"], Access::Writable),
        },
        virtualisation: Virtualisation::Usable,
        data: Data {
            directory: PathBuf::from("/home/ann/.local/share/lamplighter"),
            place: Place::Written { mode: 0o40_700 },
            disk: Some(Disk {
                free_bytes: 400 * GIB,
                free_inodes: Some(30_000_000),
                file_system: Some("ext4".to_owned()),
            }),
        },
        configuration: None,
        programs: BTreeMap::from([
            (Program::Git, runs("git version 2.47.3")),
            (Program::Runsc, runs("runsc version 20240729.0")),
            (Program::MkfsBtrfs, Found::There { path: PathBuf::from("/usr/sbin/mkfs.btrfs") }),
            (Program::Postgres, runs("postgres (PostgreSQL) 17.6")),
            (Program::Runc, runs("runc version 1.1.15")),
            (Program::Bwrap, runs("bubblewrap 0.11.0")),
        ]),
        toolchains: vec!["rustup".to_owned(), "pyenv 3.11.7".to_owned()],
    }
}

fn controllers(names: &[&str], access: Access) -> Vec<Controller> {
    names.iter().map(|name| Controller { name: (*name).to_owned(), access }).collect()
}

fn refuse(host: &mut Host, attempts: &[Attempt], why: &str) {
    host.attempts.extend(attempts.iter().map(|it| (*it, Outcome::Refused { why: why.to_owned() })));
}

/// An ordinary user, on a distribution that turned user namespaces off for them.
fn without_user_namespaces() -> Host {
    let mut host = laptop();
    let why = "user namespace: Operation not permitted (os error 1)";
    refuse(&mut host, &Attempt::ALL, why);
    refuse(&mut host, &[Attempt::UserNamespace], "Operation not permitted (os error 1)");
    host.attempts.insert(Attempt::Landlock, Outcome::Worked { note: "2".to_owned() });
    host.user_namespaces.unprivileged_clone = Some(0);
    host.cgroups.controllers = controllers(&["cpu", "memory", "pids", "freezer"], Access::ReadOnly);
    host.virtualisation = Virtualisation::DeviceRefused;
    host
}

/// A server with both generations of control groups, and lamp as its root.
fn hybrid_server() -> Host {
    let mut host = laptop();
    host.account = Account::Root;
    for attempt in Attempt::ALL {
        if !matches!(attempt, Attempt::UserNamespace | Attempt::Landlock) {
            host.attempts.insert(attempt, Outcome::Worked { note: "directly".to_owned() });
        }
    }
    host.cgroups = Cgroups {
        hierarchies: Hierarchies::Hybrid,
        controllers: controllers(
            &["cpu", "cpuacct", "memory", "pids", "freezer", "hugetlb"],
            Access::Writable,
        ),
    };
    host.virtualisation = Virtualisation::WithoutProcessor;
    host.data.directory = PathBuf::from("/var/lib/lamplighter");
    host.data.place = Place::Creatable { above: PathBuf::from("/var/lib") };
    for program in [Program::Runsc, Program::Runc, Program::Bwrap] {
        host.programs.insert(program, Found::Nowhere);
    }
    host
}

/// A container that has nothing, not even a place to write.
fn bare_container() -> Host {
    let mut host = laptop();
    host.account = Account::Root;
    host.kernel.release = "4.19.0-custom".to_owned();
    host.machine = Machine {
        processors: Some(1),
        memory_bytes: Some(32 * GIB),
        available_bytes: Some(21 * GIB),
        memory_limit_bytes: Some(GIB / 2),
    };
    host.now = "1970-01-01T00:02:03Z".parse().unwrap();
    refuse(&mut host, &Attempt::ALL, "Operation not permitted (os error 1)");
    refuse(&mut host, &[Attempt::Landlock], "not built into the kernel");
    host.user_namespaces.most = Some(0);
    host.seccomp = Seccomp { actions: None, filters: None };
    host.cgroups = Cgroups::default();
    host.virtualisation = Virtualisation::NoDevice;
    host.data.directory = PathBuf::from("/var/lib/lamplighter");
    host.data.place = Place::NotCreatable {
        above: PathBuf::from("/var/lib"),
        error: "read-only filesystem or storage medium".to_owned(),
    };
    host.data.disk = Some(Disk {
        free_bytes: 5 << 20,
        free_inodes: None,
        file_system: Some("overlay".to_owned()),
    });
    host.programs = BTreeMap::new();
    host
}

fn text(host: &Host) -> String {
    let mut out = Vec::new();
    print_text(&examine(host), Colors::OFF, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The one finding with this name, as printed.
fn finding(host: &Host, name: &str) -> String {
    let text = text(host);
    let is_start = |line: &&str| line.get(12..).is_some_and(|rest| rest.starts_with(name));
    let lines = text.lines().skip_while(|line| !is_start(line));
    let (first, rest) = (lines.clone().take(1), lines.skip(1));
    let rest = rest.take_while(|line| line.starts_with("                             "));
    first.chain(rest).map(str::trim_start).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_laptop_with_everything() {
    insta::assert_snapshot!(text(&laptop()));
    assert_eq!(examine(&laptop()).verdict(), Verdict::CanRun);
}

#[test]
fn an_ordinary_user_without_user_namespaces() {
    insta::assert_snapshot!(text(&without_user_namespaces()));
    assert_eq!(examine(&without_user_namespaces()).verdict(), Verdict::CanRun);
}

#[test]
fn a_server_with_hybrid_control_groups() {
    insta::assert_snapshot!(text(&hybrid_server()));
    assert_eq!(examine(&hybrid_server()).verdict(), Verdict::CanRun);
}

#[test]
fn a_container_with_nothing() {
    insta::assert_snapshot!(text(&bare_container()));
    assert_eq!(examine(&bare_container()).verdict(), Verdict::CannotRun);
}

#[test]
fn programs_read_the_same_as_people() {
    let mut out = Vec::new();
    print_json(&examine(&bare_container()), &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn half_delegated_limits_are_told_apart_from_none() {
    let mut host = laptop();
    host.cgroups.controllers = controllers(&["memory", "pids", "freezer"], Access::Writable);
    insta::assert_snapshot!(finding(&host, "limits"), @r"
    limited   limits           control groups v2: memory, pids, freezer; not cpu
    follows: a sandbox is not held back in: cpu
    remedy:  have systemd delegate them: start lamp by `systemd-run --user --scope -p Delegate=yes`
    ");
    host.cgroups.controllers = controllers(&["cpu", "freezer"], Access::Writable);
    insta::assert_snapshot!(finding(&host, "limits"), @r"
    missing   limits           control groups v2: cpu, freezer; not memory, pids
    follows: cannot be limited: memory, pids; tiers `standard` and `untrusted` are not available
    remedy:  have systemd delegate them: start lamp by `systemd-run --user --scope -p Delegate=yes`
    ");
}

#[test]
fn a_data_directory_that_others_can_read_is_noticed() {
    let mut host = laptop();
    host.data.place = Place::Written { mode: 0o40_755 };
    insta::assert_snapshot!(finding(&host, "data directory"), @r"
    limited   data directory   `/home/ann/.local/share/lamplighter` can be written, but has mode 755
    follows: others on this computer may read transcripts and logs
    remedy:  `chmod 700 /home/ann/.local/share/lamplighter`
    ");
}

#[test]
fn a_database_that_does_not_answer_is_essential() {
    let mut host = laptop();
    host.configuration = Some(Configuration::Right {
        file: "lamp.yaml".to_owned(),
        database: Database::Postgres {
            address: "db.example.com:5432".to_owned(),
            answer: Err("connection refused".to_owned()),
        },
    });
    insta::assert_snapshot!(finding(&host, "database"), @r"
    missing   database         PostgreSQL at db.example.com:5432 does not answer: connection refused
    follows: lamp cannot read or write tasks, and does not start
    remedy:  start the server, or mend its address in the configuration
    ");
    assert_eq!(examine(&host).verdict(), Verdict::CannotRun);
}

#[test]
fn a_wrong_configuration_is_essential() {
    let mut host = laptop();
    host.configuration = Some(Configuration::Wrong { file: "lamp.yaml".to_owned(), problems: 2 });
    insta::assert_snapshot!(finding(&host, "configuration"), @r"
    missing   configuration    `lamp.yaml` has 2 problems
    follows: lamp does not start with it
    remedy:  `lamp config check lamp.yaml` names each with its line
    ");
    assert_eq!(examine(&host).verdict(), Verdict::CannotRun);
}

#[test]
fn each_switch_that_turns_user_namespaces_off_has_its_remedy() {
    let remedy = |settings: UserNamespaceSettings| {
        let mut host = without_user_namespaces();
        host.user_namespaces = settings;
        finding(&host, "user namespaces").lines().last().unwrap().to_owned()
    };
    let none = UserNamespaceSettings::default;
    let remedies = [
        remedy(UserNamespaceSettings { most: Some(0), ..none() }),
        remedy(UserNamespaceSettings { unprivileged_clone: Some(0), ..none() }),
        remedy(UserNamespaceSettings { apparmor_restricts: Some(1), ..none() }),
        remedy(none()),
    ];
    insta::assert_snapshot!(remedies.join("\n"), @r"
    remedy:  `sysctl user.max_user_namespaces=15000`
    remedy:  `sysctl kernel.unprivileged_userns_clone=1`, or run lamp as root
    remedy:  allow `userns` to lamp in an AppArmor profile, or run lamp as root
    remedy:  if this is a container, let it create namespaces (its seccomp profile or capabilities forbid it)
    ");
}

#[test]
fn a_program_that_does_not_run_is_as_good_as_missing() {
    let mut host = laptop();
    let broken = Found::Broken {
        path: PathBuf::from("/usr/bin/git"),
        error: "it was still running after 5s".to_owned(),
    };
    host.programs.insert(Program::Git, broken);
    insta::assert_snapshot!(finding(&host, "git"), @r"
    missing   git              `/usr/bin/git` does not run: it was still running after 5s
    follows: no repository can be read or changed
    remedy:  install `git`
    ");
    assert_eq!(examine(&host).verdict(), Verdict::CannotRun);
}

#[test]
fn what_could_not_be_tried_is_not_blamed_on_the_kernel() {
    let mut host = laptop();
    let why = "could not be tried: No such file or directory (os error 2)".to_owned();
    host.attempts.extend(Attempt::ALL.map(|it| (it, Outcome::NotTried { why: why.clone() })));
    insta::assert_snapshot!(finding(&host, "user namespaces"), @r"
    missing   user namespaces  could not be tried: No such file or directory (os error 2)
    follows: no tier is available
    remedy:  mount `/proc`: lamp starts itself from there to try this
    ");
    insta::assert_snapshot!(finding(&host, "landlock"), @r"
    missing   landlock         could not be tried: No such file or directory (os error 2)
    follows: tier `standard` is not available
    remedy:  mount `/proc`: lamp starts itself from there to try this
    ");
}
