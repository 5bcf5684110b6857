//! Directories that nothing inside can change, looked at and attacked from inside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod world;

use std::{fs, os::unix::fs::symlink, path::Path};

use launcher::plan::{Answer, Bind, Launch, Order, Strictness};
use world::{World, run, run_as, runners, text};

/// Makes two files and a link out in a sandbox whose workspace can be written, ends it, and gives the plan of the next one on the same
/// disk.
fn filled(world: &mut World, strictness: Strictness) -> Launch {
    let plan = Launch { strictness, ..world.plan() };
    let pid = world.launch(&plan);
    let fill = "mkdir -p /workspace/web/.git && echo kept > /workspace/web/file && \
                echo ref > /workspace/web/.git/HEAD && echo done";
    assert_eq!(run_as(&plan, 1_000, fill), "done");
    world.end(pid);
    let _ = fs::remove_file(&plan.control);
    let mark = Path::new(&plan.writable).join("work/work/incompat");
    let _ = fs::remove_dir_all(mark);
    Launch { sealed: vec!["/workspace".to_owned()], ..plan }
}

/// What is tried, in `/workspace/web` and all around it. Each prints `changed` where it succeeds.
const ATTEMPTS: [&str; 26] = [
    "echo x > /workspace/web/file",
    "echo x >> /workspace/web/file",
    "echo x > /workspace/web/new",
    "echo x > /workspace/new",
    "echo x > /workspace/web/.git/HEAD",
    "mkdir /workspace/web/directory",
    "rm /workspace/web/file",
    "rm -rf /workspace/web",
    "chmod 777 /workspace/web/file",
    "chown 1000 /workspace/web/file",
    "touch /workspace/web/file",
    "truncate -s 0 /workspace/web/file",
    "mv /workspace/web/file /tmp/file",
    "mv /workspace/web /workspace/other",
    "mv /workspace /elsewhere",
    "rmdir /workspace",
    "ln /workspace/web/file /tmp/linked",
    "ln /tmp/mine /workspace/web/mine",
    "ln -s /tmp /workspace/web/link",
    "mkfifo /workspace/web/pipe",
    "setfattr -n user.note -v x /workspace/web/file",
    "echo x > /proc/self/root/workspace/web/file",
    "echo x > /proc/1/root/workspace/web/file",
    "cd /workspace/web && echo x > /proc/self/cwd/file",
    "exec 9< /workspace/web/file && echo x > /proc/self/fd/9",
    "mount -o remount,bind,rw /workspace",
];

const MOUNTS: [&str; 6] = [
    "umount /workspace",
    "umount -l /workspace",
    "mount --bind / /tmp",
    "mount -t tmpfs none /workspace",
    "unshare -m true",
    "unshare -Urm true",
];

#[test]
fn what_is_sealed_is_changed_by_nobody_inside() {
    for runner in runners() {
        for strictness in [Strictness::Denylist, Strictness::Allowlist] {
            let mut world = World::new(runner);
            let plan = filled(&mut world, strictness);
            world.launch(&plan);
            for user in [0, 1_000] {
                run_as(&plan, user, "echo mine > /tmp/mine");
                for attempt in ATTEMPTS.iter().chain(&MOUNTS) {
                    let told = run_as(&plan, user, &format!("({attempt}) 2>&1 && echo changed"));
                    assert!(!told.contains("changed"), "{runner:?} {user}: {attempt}: {told}");
                }
                run_as(&plan, user, "rm -f /tmp/mine");
            }
            let seen = "cat /workspace/web/file /workspace/web/.git/HEAD; ls -A /workspace/web";
            assert_eq!(run(&plan, seen), "kept\nref\n.git\nfile", "{runner:?}");
            let told = run(&plan, "grep ' /workspace ' /proc/self/mountinfo | cut -d' ' -f6");
            assert!(told.split(',').any(|flag| flag == "ro"), "{runner:?}: {told}");
        }
    }
}

/// The control: without the seal the same attempts succeed, so it is the seal that refuses them.
#[test]
fn what_is_not_sealed_is_changed_by_the_same_attempts() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = Launch { sealed: vec![], ..filled(&mut world, Strictness::Allowlist) };
        world.launch(&plan);
        let mut worked = 0;
        for attempt in ATTEMPTS {
            let fill = "rm -rf /workspace/* /tmp/*; mkdir -p /workspace/web/.git; \
                        echo kept > /workspace/web/file; echo mine > /tmp/mine";
            run(&plan, fill);
            let told = run(&plan, &format!("({attempt}) 2>&1 && echo changed"));
            if told.contains("changed") {
                worked += 1;
            }
            if attempt.contains("/workspace /elsewhere") {
                run(&plan, "mv /elsewhere /workspace");
            }
        }
        // All but the remount, the removal of what is not empty, and what the image has no program for.
        assert!(worked >= ATTEMPTS.len() - 4, "{runner:?}: only {worked} worked");
    }
}

#[test]
fn all_else_can_be_written_beside_what_is_sealed() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = filled(&mut world, Strictness::Allowlist);
        world.launch(&plan);
        let write =
            "for d in /tmp /home/lamp /dev/shm; do echo x > $d/file || exit; done; echo all";
        assert_eq!(run_as(&plan, 1_000, write), "all", "{runner:?}");
    }
}

#[test]
fn what_is_mounted_below_is_sealed_too_and_stays_visible() {
    for runner in runners() {
        let mut world = World::new(runner);
        let shown = world.path("shown");
        fs::create_dir(&shown).unwrap();
        fs::write(shown.join("note"), "of the host").unwrap();
        let plan = filled(&mut world, Strictness::Allowlist);
        let below = Bind { from: text(&shown), to: "/workspace/web/shown".to_owned() };
        let plan = Launch { binds: [plan.binds.clone(), vec![below]].concat(), ..plan };
        world.launch(&plan);
        assert_eq!(run(&plan, "cat /workspace/web/shown/note"), "of the host", "{runner:?}");
        let told = run(&plan, "echo x 2>&1 > /workspace/web/shown/new");
        assert!(told.contains("Read-only"), "{runner:?}: {told}");
    }
}

#[test]
fn a_place_that_is_no_directory_is_refused_and_nothing_is_made() {
    for runner in runners() {
        let mut world = World::new(runner);
        for (name, make) in [
            ("a link", (|place| symlink("/tmp", place)) as fn(&Path) -> std::io::Result<()>),
            ("a file", |place| fs::write(place, "x")),
            ("nothing", |_| Ok(())),
        ] {
            let plan = world.plan();
            let layer = world.path(&format!("layer-{}", name.replace(' ', "-")));
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .args([world.path("layer"), layer.clone()])
                .status();
            assert!(copied.unwrap().success());
            fs::remove_dir(layer.join("workspace")).unwrap();
            make(&layer.join("workspace")).unwrap();
            let sealed = vec!["/workspace".to_owned()];
            let plan = Launch { layers: vec![text(&layer)], sealed, ..plan };
            match world.order(&Order::Launch(Box::new(plan.clone()))) {
                Answer::Failed(failure) => {
                    assert!(failure.step.contains("seal"), "{runner:?} {name}: {failure}");
                }
                other @ (Answer::Launched { .. } | Answer::Done) => {
                    panic!("{runner:?} {name}: {other:?}")
                }
            }
            assert!(!Path::new(&plan.control).exists(), "{runner:?} {name}");
        }
    }
}
