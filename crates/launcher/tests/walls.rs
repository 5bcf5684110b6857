//! What a sandbox looks like from the inside, told by scripts that run in it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod world;

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt};

use launcher::plan::{IDS, STORED_IDS, Strictness, Users};
use world::{Runner, World, run, run_as, runners};

#[test]
fn every_namespace_is_its_own() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"] {
            let outside = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
            let inside = run(&plan, &format!("readlink /proc/self/ns/{kind}"));
            assert!(inside.starts_with(&format!("{kind}:[")), "{runner:?}: {inside}");
            assert_ne!(outside.to_str().unwrap(), inside, "{runner:?}");
        }
        assert_eq!(run(&plan, "hostname"), plan.hostname);
    }
}

#[test]
fn ids_are_those_of_the_plan() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        let map = run(&plan, "tr -s ' ' < /proc/self/uid_map");
        match plan.users {
            Users::Range { base } => {
                assert_eq!(run(&plan, "id -u; id -g; id -G"), "0\n0\n0");
                assert_eq!(map.trim(), format!("0 {base} {IDS}"));
                // The host's own files are nobody's inside, so that root inside owns none of them.
                assert_eq!(run(&plan, "stat -c %u /usr /dev/null /tmp"), "65534\n0\n0");
            }
            Users::Single => {
                assert_eq!(run(&plan, "id -u; id -g; id -G"), "1000\n1000\n1000");
                assert!(map.trim().starts_with("1000 "), "{map}");
            }
        }
    }
}

#[test]
fn capabilities_are_few_and_none_can_come_back() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        let field =
            |user, name| run_as(&plan, user, &format!("grep {name} /proc/self/status | cut -f2"));
        let kept = if runner == Runner::Root { "00000000800405fb" } else { "0000000000000000" };
        for set in ["CapPrm", "CapEff", "CapBnd"] {
            assert_eq!(field(0, set), kept, "{runner:?} {set}");
        }
        assert_eq!(field(0, "CapAmb"), "0000000000000000");
        assert_eq!(field(0, "NoNewPrivs"), "1");
        assert_eq!(field(0, "Seccomp:"), "2");
        if runner == Runner::Root {
            assert_eq!(field(1_000, "CapEff"), "0000000000000000");
            assert_eq!(field(1_000, "CapPrm"), "0000000000000000");
        }
    }
}

#[test]
fn only_what_the_plan_names_is_there() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        let root: BTreeSet<_> = run(&plan, "ls /").lines().map(str::to_owned).collect();
        let expected = "bin dev etc home lib lib64 proc sbin sys tmp usr workspace";
        assert_eq!(root, expected.split(' ').map(str::to_owned).collect(), "{runner:?}");
        let mounts = run(&plan, "cut -d' ' -f5 /proc/self/mountinfo | grep -v '^/proc/' | sort -u");
        let mut expected =
            vec!["/", "/dev", "/dev/mqueue", "/dev/pts", "/dev/shm", "/proc", "/sys", "/usr"];
        if runner == Runner::Ordinary {
            expected.extend(["/dev/full", "/dev/null", "/dev/random"]);
            expected.extend(["/dev/tty", "/dev/urandom", "/dev/zero"]);
            expected.sort_unstable();
        }
        assert_eq!(mounts.lines().collect::<Vec<_>>(), expected, "{runner:?}");
        let told = run(&plan, "cat /proc/self/mountinfo /proc/1/mountinfo");
        assert!(!told.contains(world.directory.path().to_str().unwrap()), "{told}");
    }
}

#[test]
fn writes_go_to_the_writable_directory_and_to_nothing_else() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        assert_eq!(run(&plan, "echo hello > /etc/greeting && cat /etc/greeting"), "hello");
        let written = std::path::Path::new(&plan.writable).join("upper/etc/greeting");
        assert_eq!(fs::read_to_string(&written).unwrap(), "hello\n");
        if runner == Runner::Root {
            assert_eq!(fs::metadata(&written).unwrap().uid(), STORED_IDS);
        }
        assert!(!world.path("layer/etc/greeting").exists());
        for path in ["/usr/x", "/dev/x", "/sys/x", "/proc/sys/kernel/domainname"] {
            let result = run(&plan, &format!("echo x 2>&1 > {path}"));
            assert!(
                result.contains("Read-only") || result.contains("Permission denied"),
                "{runner:?} {path}: {result}"
            );
        }
        assert_eq!(run(&plan, "stat -c %a /tmp"), "1777");
    }
}

#[test]
fn devices_work() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        assert_eq!(run(&plan, "head -c 3 /dev/zero | od -An -tx1"), " 00 00 00");
        assert_eq!(
            run(&plan, "head -c 4 /dev/urandom | wc -c; echo x > /dev/null && echo ok"),
            "4\nok"
        );
        assert_eq!(run(&plan, "script -qc tty /dev/null").trim(), "/dev/pts/0");
        let size = run(&plan, "df --output=size -B1 /dev/shm | tail -1");
        assert_eq!(size.trim(), plan.shared_memory_bytes.to_string());
        assert_eq!(run(&plan, "cat /sys/devices/system/cpu/online"), online());
        assert_eq!(run(&plan, "ulimit -n"), plan.open_files.to_string());
    }
}

fn online() -> String {
    fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim_end().to_owned()
}

#[test]
fn the_kernel_is_masked() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        for name in
            ["kallsyms", "keys", "kmsg", "interrupts", "config.gz", "slabinfo", "timer_list"]
        {
            let script = format!("test -e /proc/{name} && wc -c < /proc/{name}; true");
            let seen = run(&plan, &script);
            assert!(seen.is_empty() || seen == "0", "{runner:?} {name}: {seen}");
        }
        assert_eq!(run(&plan, "ls /proc/acpi /proc/driver 2>/dev/null | grep -v :"), "");
        assert_eq!(run(&plan, "ls /sys"), "devices");
        // The wall behind the filter.
        assert_eq!(run(&plan, "cat /proc/sys/user/max_user_namespaces"), "0");
    }
}

#[test]
fn the_network_is_a_loopback_and_nothing_else() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        let devices = run(&plan, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '");
        assert_eq!(devices, "lo");
        let connect = |address: &str| {
            run(&plan, &format!("bash -c 'echo > /dev/tcp/{address}/9' 2>&1 | tail -1"))
        };
        assert!(connect("127.0.0.1").contains("Connection refused"));
        assert!(connect("192.0.2.1").contains("Network is unreachable"));
    }
}

#[test]
fn nothing_of_the_launcher_is_left_open() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        let pid = world.launch(&plan);
        // As the host sees it: the standard three, and the listening socket.
        let mut open: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        open.sort();
        assert_eq!(open, ["0", "1", "2", "3"], "{runner:?}");
        assert_eq!(run(&plan, "echo $GUEST").trim(), guest_line(plan.users));
        assert_eq!(run(&plan, "tr '\\0' ' ' < /proc/1/environ | wc -c"), "0");
    }
}

fn guest_line(users: Users) -> &'static str {
    match users {
        Users::Range { .. } => "lamp-guest --users=range --lifetime-millis=60000",
        Users::Single => "lamp-guest --users=single --lifetime-millis=60000",
    }
}

#[test]
fn system_calls_are_filtered() {
    for runner in runners() {
        for strictness in [Strictness::Denylist, Strictness::Allowlist] {
            let mut world = World::new(runner);
            let mut plan = world.plan();
            plan.strictness = strictness;
            world.launch(&plan);
            for (script, expected) in [
                ("unshare -U true 2>&1", "Operation not permitted"),
                ("unshare -m true 2>&1", "Operation not permitted"),
                ("mount -t tmpfs none /tmp 2>&1", ""),
                ("dmesg 2>&1", "Operation not permitted"),
                ("perl -e 'socket(S, 17, 3, 0) or print $!'", "not supported by protocol"),
                ("perl -e 'socket(S, 2, 3, 1) or print $!'", "Operation not permitted"),
                ("perl -e 'socket(S, 2, 2, 1) or print $!'", "Protocol not supported"),
                ("perl -e 'socket(S, 2, 1, 6) and print qq(yes)'", "yes"),
                // mknod of a device, as far as the caller gets.
                ("mknod /tmp/d c 1 3 2>&1", ""),
                ("sync && echo done", "done"),
            ] {
                let told = run(&plan, script);
                assert!(told.contains(expected), "{runner:?} {strictness:?} {script}: {told}");
            }
            let made = run(&plan, "test -e /tmp/d && echo made; grep -c ' /tmp ' /proc/mounts");
            assert_eq!(made, "0", "{runner:?} {strictness:?}");
        }
    }
}

#[test]
fn everyday_programs_run_under_the_allowlist() {
    for runner in runners() {
        let mut world = World::new(runner);
        let plan = world.plan();
        world.launch(&plan);
        for (script, expected) in [
            (
                "cd /tmp && git init -q r && cd r && git -c user.name=a -c user.email=b commit -qm x --allow-empty && git log --oneline | wc -l",
                "1",
            ),
            ("perl -e 'use threads; threads->create(sub { print 7 })->join' 2>&1", "7"),
            (
                "echo 'int main(){return 0;}' > /tmp/a.c && gcc -o /tmp/a /tmp/a.c && /tmp/a && echo built",
                "built",
            ),
            ("seq 1000 | sort -R | sort -n | tail -1", "1000"),
            ("tar cf - -C /etc . | tar tf - | wc -l", "2"),
        ] {
            assert_eq!(
                run(&plan, &format!("export HOME=/tmp; {script}")),
                expected,
                "{runner:?} {script}"
            );
        }
    }
}
