//! Version 2 with controllers, which this host cannot show: its files in a pretended tree.

use std::{fs, path::PathBuf};

use super::{Limits, ROOMY};
use crate::control_groups::{Ability, ControlGroups, Counters, Duty, Version, group::limit};

/// A pretended hierarchy: files that exist are those that the kernel would have made.
struct Pretended {
    root: tempfile::TempDir,
}

const MOUNTS: &str = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

impl Pretended {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, group: &str) -> PathBuf {
        self.root.path().join("sys/fs/cgroup").join(group)
    }

    fn group(&self, group: &str, files: &[(&str, &str)]) {
        fs::create_dir_all(self.path(group)).unwrap();
        for (name, content) in files {
            fs::write(self.path(group).join(name), content).unwrap();
        }
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn find(&self, own: &str) -> ControlGroups {
        ControlGroups::find(MOUNTS, &format!("0::{own}\n"), self.root.path(), "lamplighter")
    }
}

const PASSING_ON: [(&str, &str); 3] = [
    ("cgroup.procs", ""),
    ("cgroup.subtree_control", ""),
    ("cgroup.controllers", "cpuset cpu io memory pids\n"),
];

#[test]
fn all_controllers_are_taken_at_the_top() {
    let tree = Pretended::new();
    tree.group("", &PASSING_ON);
    tree.group(
        "lamplighter",
        &[
            ("cgroup.subtree_control", ""),
            ("cgroup.kill", ""),
            ("cgroup.freeze", "0"),
            ("cpu.stat", ""),
        ],
    );
    tree.group("system.slice/lamp.service", &PASSING_ON);
    let groups = tree.find("/system.slice/lamp.service");
    assert_eq!(groups.weaker(), Vec::<String>::new());
    assert_eq!(groups.found.places.len(), 1);
    assert_eq!(groups.found.places[0].directory, tree.path("lamplighter"));
    // Our own group was left alone.
    assert_eq!(tree.read("system.slice/lamp.service/cgroup.subtree_control"), "");
    assert!(!tree.path("system.slice/lamp.service/lamplighter").exists());
}

#[test]
fn the_parent_stands_where_most_controllers_were_passed_on() {
    let tree = Pretended::new();
    // The top has nothing to give, as in a hybrid; the user's own slice has.
    tree.group(
        "",
        &[("cgroup.procs", ""), ("cgroup.subtree_control", ""), ("cgroup.controllers", "")],
    );
    tree.group("user/app.slice", &PASSING_ON);
    tree.group("user/app.slice/lamplighter", &[("cgroup.subtree_control", "")]);
    let groups = tree.find("/user/app.slice/terminal.scope");
    assert_eq!(groups.found.places[0].directory, tree.path("user/app.slice/lamplighter"));
    assert!(!tree.path("lamplighter").exists(), "what gave less is removed");
    assert_eq!(groups.abilities().memory, Ability::Yes);
    let Ability::No(reason) = &groups.abilities().kill else { panic!("it has no such file") };
    assert_eq!(reason, "this kernel has no `cgroup.kill`");
}

#[test]
fn limits_are_written_as_version_two_reads_them() {
    let tree = Pretended::new();
    tree.group(
        "x",
        &[("cpu.max", ""), ("memory.max", ""), ("memory.swap.max", ""), ("pids.max", "")],
    );
    let limits = Limits { cpu_millis: 1_500, memory_bytes: 1 << 30, pids: 99 };
    for duty in [Duty::Cpu, Duty::Memory, Duty::Pids, Duty::Freeze, Duty::Io] {
        limit(duty, Version::Two, &tree.path("x"), &limits).unwrap();
    }
    assert_eq!(tree.read("x/cpu.max"), "150000 100000");
    assert_eq!(tree.read("x/memory.max"), "1073741824");
    assert_eq!(tree.read("x/memory.swap.max"), "0");
    assert_eq!(tree.read("x/pids.max"), "99");

    fs::write(tree.path("x/cpu.max"), "").unwrap();
    limit(Duty::Cpu, Version::Two, &tree.path("x"), &Limits { cpu_millis: 1, ..limits }).unwrap();
    assert_eq!(tree.read("x/cpu.max"), "1000 100000", "the kernel takes no less");
    fs::remove_file(tree.path("x/memory.swap.max")).unwrap();
    limit(Duty::Memory, Version::Two, &tree.path("x"), &ROOMY).unwrap();
    fs::remove_file(tree.path("x/memory.max")).unwrap();
    limit(Duty::Memory, Version::Two, &tree.path("x"), &ROOMY).unwrap_err();
}

#[test]
fn counters_are_read_as_version_two_writes_them() {
    let tree = Pretended::new();
    tree.group("", &PASSING_ON);
    tree.group("lamplighter", &[("cgroup.subtree_control", ""), ("cpu.stat", "")]);
    tree.group(
        "lamplighter/x",
        &[
            ("cpu.stat", "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n"),
            ("memory.current", "4096\n"),
            ("memory.peak", "8192\n"),
            ("memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n"),
            ("io.stat", "8:0 rbytes=100 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2 rios=1\n"),
            ("pids.current", "5\n"),
        ],
    );
    let group = tree.find("/").adopt("x").unwrap();
    let expected = Counters {
        cpu_micros: 1_234_567,
        memory_bytes: 4_096,
        memory_peak_bytes: 8_192,
        oom_kills: 2,
        read_bytes: 101,
        written_bytes: 22,
        processes: 5,
    };
    assert_eq!(group.reading(), expected);

    fs::remove_file(tree.path("lamplighter/x/memory.peak")).unwrap();
    assert_eq!(group.reading().memory_peak_bytes, 4_096, "older kernels");
}
