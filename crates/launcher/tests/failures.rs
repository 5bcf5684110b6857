//! A launch that fails says which wall could not be built, and leaves nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod world;

use std::{fs, path::Path};

use launcher::plan::{Answer, Bind, Failure, Launch, MOUNTER, Order, STORED_IDS, Users};
use unsupported::unsupported;
use world::{BASE, Runner, World, run, runners};

fn failure(world: &mut World, plan: &Launch) -> Failure {
    match world.order(&Order::Launch(Box::new(plan.clone()))) {
        Answer::Failed(failure) => failure,
        other @ (Answer::Launched { .. } | Answer::Done) => panic!("not failed: {other:?}"),
    }
}

fn assert_nothing_left(world: &mut World, plan: &Launch) {
    assert!(!Path::new(&plan.control).exists(), "the socket is left");
    // The number of first processes in waiting is bounded, whatever has failed.
    assert_eq!(world.order(&Order::Ping), Answer::Done);
    assert!(world.children().len() <= 5);
    // And the launcher still works.
    let good = world.plan();
    world.launch(&good);
    assert_eq!(run(&good, "echo alive"), "alive");
}

#[test]
fn a_layer_that_does_not_exist_is_named() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        plan.layers.push("/nowhere/at/all".into());
        let failure = failure(&mut world, &plan);
        assert_eq!(failure.errno, libc::ENOENT, "{failure:?}");
        assert!(failure.reason.contains("/nowhere/at/all"), "{failure:?}");
        assert_nothing_left(&mut world, &plan);
    }
}

#[test]
fn a_bind_that_does_not_exist_is_named() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        plan.binds.push(Bind { from: "/nowhere".into(), to: "/mnt".into() });
        let failure = failure(&mut world, &plan);
        assert_eq!(failure.step, "bind a directory of the host");
        assert!(failure.reason.contains("/nowhere"), "{failure:?}");
        assert_nothing_left(&mut world, &plan);
    }
}

#[test]
fn a_bind_whose_parent_does_not_exist_fails_in_the_first_process() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        plan.binds.push(Bind { from: "/usr".into(), to: "/no/such/parent".into() });
        let failure = failure(&mut world, &plan);
        assert_eq!((&*failure.step, failure.errno), ("bind a directory of the host", libc::ENOENT));
        assert!(failure.reason.contains("/no/such/parent"), "{failure:?}");
        assert_nothing_left(&mut world, &plan);
    }
}

#[test]
fn a_control_group_that_does_not_exist_is_named() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        plan.control_groups.push("/sys/fs/cgroup/no-such-group".into());
        let failure = failure(&mut world, &plan);
        assert_eq!(failure.step, "join the control groups");
        assert!(failure.reason.contains("no-such-group"), "{failure:?}");
        assert_nothing_left(&mut world, &plan);
    }
}

#[test]
fn a_socket_that_cannot_be_made_is_named() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        plan.control = "/nowhere/control".into();
        let failure = failure(&mut world, &plan);
        assert_eq!(failure.step, "listen for the server");
        assert_nothing_left(&mut world, &plan);
    }
}

#[test]
fn a_plan_for_another_kind_of_launcher_is_refused() {
    for runner in runners() {
        let mut world = World::new(runner);
        let mut plan = world.plan();
        plan.users = match runner {
            Runner::Root => Users::Single,
            Runner::Ordinary => Users::Range { base: BASE },
        };
        assert_eq!(failure(&mut world, &plan).step, "read the plan");
        assert_nothing_left(&mut world, &plan);
    }
}

#[test]
fn ids_of_the_host_are_never_given_away() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("{}", world::NO_ROOT);
    }
    let mut world = World::new(Runner::Root);
    let mut plan = world.plan();
    for base in [0, 1_000, STORED_IDS - 1, STORED_IDS, MOUNTER, u32::MAX - 10] {
        plan.users = Users::Range { base };
        assert_eq!(failure(&mut world, &plan).step, "read the plan", "{base}");
    }
}

#[test]
fn a_layer_full_of_links_leads_nowhere() {
    for runner in runners() {
        let mut world = World::new(runner);
        for name in ["proc", "dev"] {
            fs::remove_dir(world.path("layer").join(name)).unwrap();
            std::os::unix::fs::symlink("/etc", world.path("layer").join(name)).unwrap();
        }
        let plan = world.plan();
        let failure = failure(&mut world, &plan);
        assert_eq!(failure.step, "furnish the root");
        assert!(!Path::new(&plan.control).exists());
    }
}
