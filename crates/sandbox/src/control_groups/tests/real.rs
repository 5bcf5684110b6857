//! What the kernel really does. Behaviour is asserted, not speed: other work shares the machine.

use std::{fs, os::unix::process::ExitStatusExt, time::Instant};

use unsupported::supported;

use super::{Host, Layout, Limits, ROOMY, Shell, until};
use crate::control_groups::GroupError;

const KILLED: Option<i32> = Some(9);

fn memory_over_the_limit_kills_the_offender(layout: Layout) {
    let host = supported!(Host::with(layout, "memory"));
    let limits = Limits { memory_bytes: 32 << 20, ..ROOMY };
    let group = host.groups.create("eater", &limits).unwrap();
    let mut shell = Shell::inside(&group, "tail /dev/zero; echo survived $?; read wait");
    assert_eq!(shell.hears(), "survived 137");
    let counted = group.reading();
    assert_eq!(counted.oom_kills, 1, "{counted:?}");
    assert!(counted.memory_peak_bytes > 30 << 20, "{counted:?}");
    assert!(counted.memory_peak_bytes <= 32 << 20, "{counted:?}");
    assert!(counted.memory_bytes < 16 << 20, "{counted:?}");
}

#[test]
fn memory_over_the_limit_kills_the_offender_and_is_counted() {
    memory_over_the_limit_kills_the_offender(Layout::AsMounted);
}

#[test]
fn version_one_alone_limits_memory() {
    memory_over_the_limit_kills_the_offender(Layout::OnlyOne);
}

#[test]
fn the_number_of_processes_is_held() {
    let host = supported!(Host::with(Layout::AsMounted, "pids"));
    let group = host.groups.create("many", &Limits { pids: 8, ..ROOMY }).unwrap();
    let script =
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 99 >/dev/null & done; echo all; read wait";
    let mut shell = Shell::inside(&group, script);
    // The shell gives up when it cannot fork; whether it says so or ends, it made no more than it may.
    let _ = shell.hears();
    let processes = group.reading().processes;
    assert!((2..=8).contains(&processes), "{processes}");
    group.kill().unwrap();
    until("all are gone", || group.is_empty());
}

fn a_share_of_the_cpu_is_not_exceeded(layout: Layout) {
    let host = supported!(Host::with(layout, "cpu"));
    let group = host.groups.create("busy", &Limits { cpu_millis: 200, ..ROOMY }).unwrap();
    let began = Instant::now();
    let mut shell = Shell::inside(
        &group,
        "timeout 1 sh -c 'while :; do :; done' & \
        timeout 1 sh -c 'while :; do :; done'; wait; echo done; read wait",
    );
    assert_eq!(shell.hears(), "done");
    let wall = u64::try_from(began.elapsed().as_micros()).unwrap();
    let used = group.reading().cpu_micros;
    assert!(used > 10_000, "{used} µs were counted");
    assert!(used * 2 <= wall, "{used} of {wall} µs, of a fifth allowed");
}

#[test]
fn a_share_of_the_cpu_is_held_and_counted() {
    a_share_of_the_cpu_is_not_exceeded(Layout::AsMounted);
}

#[test]
fn version_one_alone_holds_and_counts_the_cpu() {
    a_share_of_the_cpu_is_not_exceeded(Layout::OnlyOne);
}

fn the_frozen_are_silent_until_thawed(layout: Layout) {
    let host = supported!(Host::with(layout, "freeze"));
    let group = host.groups.create("cold", &ROOMY).unwrap();
    let mut shell = Shell::inside(&group, "while read line; do echo $line; done");
    shell.say("before");
    assert_eq!(shell.hears(), "before");
    group.freeze().unwrap();
    group.freeze().unwrap();
    shell.say("while frozen");
    assert!(shell.is_silent());
    group.thaw().unwrap();
    group.thaw().unwrap();
    assert_eq!(shell.hears(), "while frozen");
}

#[test]
fn the_frozen_stand_still_and_go_on_when_thawed() {
    the_frozen_are_silent_until_thawed(Layout::AsMounted);
}

#[test]
fn version_one_alone_freezes_and_thaws() {
    the_frozen_are_silent_until_thawed(Layout::OnlyOne);
}

#[test]
fn version_two_freezes_and_thaws_without_controllers() {
    the_frozen_are_silent_until_thawed(Layout::OnlyTwo);
}

fn a_bomb_of_forks_ends(layout: Layout) {
    let host = supported!(Host::with(layout, "bomb"));
    let limited = Limits { pids: 64, ..ROOMY };
    let group = host.groups.create("bomb", &limited).unwrap();
    let script = if host.groups.abilities().pids.is_given() {
        "b() { b & b & while :; do :; done; }; b 2>/dev/null"
    } else {
        "for i in 1 2 3 4 5 6 7 8; do sleep 99 & done; echo; wait"
    };
    let mut shell = Shell::inside(&group, script);
    until("it has begun", || {
        !group.is_empty()
            && group.directories().iter().all(|directory| {
                fs::read_to_string(directory.join("cgroup.procs")).unwrap().lines().count() > 6
            })
    });
    group.kill().unwrap();
    assert_eq!(shell.child.wait().unwrap().signal(), KILLED);
    until("all are gone", || group.is_empty());
    until("it can be removed", || group.remove().is_ok());
    assert!(host.groups.adopt("bomb").is_none());
    assert_eq!(host.groups.list(), Vec::<String>::new());
    assert!(group.directories().iter().all(|directory| !directory.exists()));
    group.kill().unwrap_or_else(|error| assert!(matches!(error, GroupError::File { .. })));
    group.remove().unwrap();
}

#[test]
fn a_bomb_of_forks_is_killed_and_leaves_nothing() {
    a_bomb_of_forks_ends(Layout::AsMounted);
}

#[test]
fn version_one_alone_kills_a_bomb_of_forks() {
    a_bomb_of_forks_ends(Layout::OnlyOne);
}

#[test]
fn version_two_kills_without_controllers() {
    a_bomb_of_forks_ends(Layout::OnlyTwo);
}

#[test]
fn the_frozen_can_be_killed() {
    for layout in [Layout::AsMounted, Layout::OnlyOne, Layout::OnlyTwo] {
        let host = match Host::with(layout, "frozenkill") {
            Ok(host) => host,
            Err(why) => {
                unsupported::part(&format!("{layout:?}"), &why);
                continue;
            }
        };
        let group = host.groups.create("cold", &ROOMY).unwrap();
        let mut shell = Shell::inside(&group, "read wait");
        group.freeze().unwrap();
        group.kill().unwrap();
        assert_eq!(shell.child.wait().unwrap().signal(), KILLED, "{layout:?}");
    }
}

#[test]
fn a_group_is_found_again_and_not_made_twice_while_it_lives() {
    let host = supported!(Host::with(Layout::AsMounted, "again"));
    let group = host.groups.create("one", &ROOMY).unwrap();
    let shell = Shell::inside(&group, "read wait");
    assert!(matches!(host.groups.create("one", &ROOMY), Err(GroupError::Exists(_))));
    assert!(matches!(group.remove(), Err(GroupError::Busy(_))));
    assert_eq!(host.groups.list(), ["one"]);
    let again = host.groups.adopt("one").unwrap();
    assert_eq!(again.directories(), group.directories());
    assert!(!again.is_empty());
    drop(shell);
    until("it is empty", || again.is_empty());
    // What a crash left is replaced, and has counted nothing.
    until("it can be replaced", || host.groups.create("one", &ROOMY).is_ok());
    assert_eq!(again.reading().cpu_micros, 0);
}

#[test]
fn groups_below_a_group_go_with_it() {
    let host = supported!(Host::with(Layout::AsMounted, "below"));
    let group = host.groups.create("outer", &ROOMY).unwrap();
    for directory in group.directories() {
        fs::create_dir_all(directory.join("inner/inmost")).unwrap();
    }
    group.remove().unwrap();
    assert_eq!(host.groups.list(), Vec::<String>::new());
}

#[test]
fn bytes_are_counted() {
    let host = supported!(Host::with(Layout::AsMounted, "io"));
    // The temporary directory may be memory, which costs no bytes of io; the tests themselves are on a disk.
    let tests = std::env::current_exe().unwrap();
    let file = tempfile::NamedTempFile::new_in(tests.parent().unwrap()).unwrap();
    let group = host.groups.create("writer", &ROOMY).unwrap();
    let path = file.path().display();
    let script = format!("head -c 3000000 /dev/zero > {path}; echo written; read wait");
    let mut shell = Shell::inside(&group, &script);
    assert_eq!(shell.hears(), "written");
    let written = group.reading().written_bytes;
    assert!(written >= 3_000_000, "{written}");
}

#[test]
fn a_name_is_one_plain_word() {
    let host = supported!(Host::with(Layout::AsMounted, "name"));
    for wrong in ["", ".", "..", "a/b", "../x", "a.b", "a b", "a\0", &"x".repeat(129)] {
        assert!(matches!(host.groups.create(wrong, &ROOMY), Err(GroupError::Name(_))), "{wrong}");
        assert!(host.groups.adopt(wrong).is_none());
    }
}

#[test]
fn a_new_group_costs_well_under_a_millisecond() {
    let host = supported!(Host::with(Layout::AsMounted, "cost"));
    let mut costs: Vec<u128> = (0..100)
        .map(|number| {
            let began = Instant::now();
            let group = host.groups.create(&format!("group-{number}"), &ROOMY).unwrap();
            let cost = began.elapsed().as_micros();
            group.remove().unwrap();
            cost
        })
        .collect();
    costs.sort_unstable();
    eprintln!("a new group: {} µs p50, {} µs p90", costs[50], costs[90]);
    // Each hierarchy costs; the number of them is what the code decides.
    let hierarchies = host.groups.create("count", &ROOMY).unwrap().directories().len();
    assert!(hierarchies <= 4, "{hierarchies} hierarchies");
}
