//! The launcher's own life, and what outlives it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod world;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use launcher::plan::{Answer, Order};
use unsupported::unsupported;
use world::{Runner, World, run, runners};

#[test]
fn sandboxes_outlive_the_launcher() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        world.hang_up();
        assert_eq!(run(&plan, "echo alive"), "alive");
    }
}

#[test]
fn orders_are_answered_in_their_order() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plans: Vec<_> = (0..12).map(|_| world.plan()).collect();
        let mut bad = world.plan();
        bad.layers.clear();
        for plan in &plans {
            world.send(&Order::Launch(Box::new(plan.clone())));
            world.send(&Order::Ping);
            world.send(&Order::Launch(Box::new(bad.clone())));
        }
        for plan in &plans {
            let launched = world.answer();
            assert!(matches!(launched, Answer::Launched { .. }), "{launched:?}");
            assert_eq!(world.answer(), Answer::Done);
            assert!(matches!(world.answer(), Answer::Failed(_)));
            assert_eq!(run(plan, "hostname"), plan.hostname);
        }
    }
}

#[test]
fn a_sandbox_is_told_by_pid_and_start() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        let answer = world.order(&Order::Launch(Box::new(plan)));
        let Answer::Launched { pid, started } = answer else { panic!("{answer:?}") };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        assert_eq!(fields[19], started.to_string());
    }
}

#[test]
fn a_stale_socket_and_a_used_disk_are_taken_over() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        let pid = world.launch(&plan);
        run(&plan, "echo kept > /workspace/file");
        world.end(pid);
        assert!(Path::new(&plan.control).exists());
        world.launch(&plan);
        assert_eq!(run(&plan, "cat /workspace/file"), "kept");
    }
}

#[test]
fn a_long_path_is_no_obstacle() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        let deep = Path::new(&plan.writable).join("d".repeat(100));
        fs::create_dir(&deep).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&deep, Some(65_534), Some(65_534)).unwrap();
        }
        plan.control = world::text(&deep.join("control"));
        world.launch(&plan);
        let short = Path::new(&plan.writable).join("short");
        std::os::unix::fs::symlink(&deep, &short).unwrap();
        plan.control = world::text(&short.join("control"));
        assert_eq!(run(&plan, "echo alive"), "alive");
    }
}

#[test]
fn a_released_layer_is_no_longer_held() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("{}", world::NO_ROOT);
    }
    let mut world = World::new(Runner::Root);
    let open =
        |world: &World| fs::read_dir(format!("/proc/{}/fd", world.launcher_pid())).unwrap().count();
    let plan = world.plan();
    world.launch(&plan);
    // All first processes wait again, and the launcher has nothing more to do.
    let patience = Instant::now() + Duration::from_secs(20);
    while world.children().len() < 5 && Instant::now() < patience {
        std::thread::yield_now();
    }
    assert_eq!(world.order(&Order::Ping), Answer::Done);
    let before = open(&world);
    // Two are mapped: the layer, and the directory that the writable directory lies in.
    for layer in [plan.layers[0].clone(), world::text(world.directory.path())] {
        assert_eq!(world.order(&Order::Release { layer }), Answer::Done);
    }
    assert_eq!(open(&world), before - 2);
}

#[test]
fn first_processes_that_die_in_waiting_are_replaced() {
    for runner in runners() {
        let mut world = World::new(runner);
        assert_eq!(world.order(&Order::Ping), Answer::Done);
        for child in world.children() {
            world.end(child);
        }
        let plan = world.plan();
        world.launch(&plan);
        assert_eq!(run(&plan, "echo alive"), "alive");
    }
}

#[test]
fn control_groups_are_joined_before_anything_runs() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("{}", world::NO_ROOT);
    }
    let parent = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
        .into_iter()
        .find(|path| Path::new(path).join("cgroup.procs").exists());
    let Some(parent) = parent else {
        unsupported!("no control groups are mounted here");
    };
    let group = Path::new(parent).join(format!("lamp-launcher-test-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    let mut world = World::new(Runner::Root);
    let mut plan = world.plan();
    plan.control_groups.push(world::text(&group));
    let pid = world.launch(&plan);
    let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    assert!(inside.lines().any(|line| line == pid.to_string()), "{inside}");
    // Inside, the group is the root.
    let name = group.file_name().unwrap().to_str().unwrap();
    assert!(!run(&plan, "cat /proc/self/cgroup").contains(name));
    drop(world);
    fs::remove_dir(&group).unwrap();
}
