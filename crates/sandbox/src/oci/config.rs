//! What a runtime is told, as the `config.json` of an OCI bundle.
//!
//! It names no user, network or control group namespace: the box around the runtime is all of that already.

use launcher::{
    plan::{Launch, STAGE},
    root_inside::ROOT_INSIDE,
};
use serde_json::{Value, json};

use super::Runtime;

/// In a file system of the runtime's own, so that nothing of it is ever part of an image.
const GUEST: &str = "/dev/.lamp";

const MASKED: [&str; 16] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/kmsg",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/slabinfo",
    "/proc/vmallocinfo",
    "/proc/config.gz",
];

const READ_ONLY: [&str; 5] =
    ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// What has broken walls before, and no build needs. In gVisor none of them reaches the host.
const FORBIDDEN: &[&str] = &[
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "reboot",
    "request_key",
    "setns",
    "swapoff",
    "swapon",
    "umount2",
    "unshare",
    "userfaultfd",
];

const CLONE_NEWUSER: u64 = 0x1000_0000;

pub(super) fn write(launch: &Launch, runtime: Runtime) -> Value {
    let named = ROOT_INSIDE.iter_names().map(|(name, _)| format!("CAP_{name}"));
    let capabilities: Vec<String> = named.collect();
    let lifetime = format!("--lifetime-millis={}", launch.lifetime_millis);
    let files = json!({
        "type": "RLIMIT_NOFILE",
        "soft": launch.open_files,
        "hard": launch.open_files,
    });
    json!({
        "ociVersion": "1.0.2",
        "hostname": launch.hostname,
        "root": { "path": "rootfs" },
        "process": {
            "user": { "uid": 0, "gid": 0 },
            "args": [format!("{GUEST}/lamp-guest"), "--stdio", "--users=range", lifetime],
            "cwd": "/",
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": capabilities,
                "effective": capabilities,
                "permitted": capabilities,
            },
            "rlimits": [files],
        },
        "mounts": mounts(launch, runtime),
        "linux": linux(runtime),
    })
}

fn mounts(launch: &Launch, runtime: Runtime) -> Vec<Value> {
    let mount = |to: &str, kind: &str, options: &[&str]| json!({ "destination": to, "type": kind, "source": kind, "options": options });
    let shared = format!("size={}", launch.shared_memory_bytes);
    let mut mounts = vec![
        mount("/proc", "proc", &["nosuid", "noexec", "nodev"]),
        mount("/dev", "tmpfs", &["nosuid", "noexec", "mode=755", "size=64k"]),
        mount(
            "/dev/pts",
            "devpts",
            &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
        ),
        mount("/dev/shm", "tmpfs", &["nosuid", "nodev", "mode=1777", &shared]),
    ];
    match runtime {
        // Its own, and not the host's.
        Runtime::Runsc => mounts.push(mount("/sys", "sysfs", &["nosuid", "noexec", "nodev", "ro"])),
        Runtime::Runc => {
            mounts.push(mount("/dev/mqueue", "mqueue", &["nosuid", "noexec", "nodev"]));
            mounts.push(mount("/sys", "tmpfs", &["nosuid", "noexec", "nodev", "ro", "size=4k"]));
        }
    }
    let bind = |from: &str, to: &str, access: &str| {
        json!({
            "destination": to,
            "type": "bind",
            "source": format!("{STAGE}/{from}"),
            "options": ["bind", access, "nosuid", "nodev"],
        })
    };
    mounts.push(bind("guest", GUEST, "ro"));
    // Left alone, gVisor puts an empty one in memory over it, which no rest and no fork would keep.
    mounts.push(bind("rootfs/tmp", "/tmp", "rw"));
    match runtime {
        // The host refuses every change there, but gVisor would tell those who ask for another mode or time that it was done.
        Runtime::Runsc => {
            let sealed = launch.sealed.iter();
            mounts.extend(sealed.map(|path| bind(&format!("rootfs{path}"), path, "ro")));
        }
        Runtime::Runc => {}
    }
    mounts
}

fn linux(runtime: Runtime) -> Value {
    let namespaces: Vec<_> =
        ["pid", "mount", "ipc", "uts"].iter().map(|kind| json!({ "type": kind })).collect();
    match runtime {
        Runtime::Runsc => json!({ "namespaces": namespaces }),
        Runtime::Runc => json!({
            "namespaces": namespaces,
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
            "seccomp": filter(),
        }),
    }
}

fn filter() -> Value {
    json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [
            { "names": FORBIDDEN, "action": "SCMP_ACT_ERRNO", "errnoRet": 1 },
            // The C library falls back to `clone`, whose flags a filter can read.
            { "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38 },
            {
                "names": ["clone"],
                "action": "SCMP_ACT_ERRNO",
                "errnoRet": 1,
                "args": [{
                    "index": 0,
                    "value": CLONE_NEWUSER,
                    "valueTwo": CLONE_NEWUSER,
                    "op": "SCMP_CMP_MASKED_EQ",
                }],
            },
        ],
    })
}

#[cfg(test)]
mod tests {
    use launcher::plan::{Strictness, Users};

    use super::*;

    #[test]
    fn a_runtime_is_told_the_limits_and_gives_no_power() {
        let launch = Launch {
            control: String::new(),
            users: Users::Range { base: 1 << 20 },
            strictness: Strictness::Allowlist,
            layers: Vec::new(),
            writable: String::new(),
            binds: Vec::new(),
            sealed: vec!["/workspace".to_owned()],
            control_groups: Vec::new(),
            hostname: "sandbox".to_owned(),
            shared_memory_bytes: 4096,
            open_files: 77,
            processes: None,
            private_memory_bytes: None,
            lifetime_millis: 5,
        };
        for runtime in [Runtime::Runsc, Runtime::Runc] {
            let told = write(&launch, runtime);
            assert_eq!(told["process"]["noNewPrivileges"], true);
            assert_eq!(told["process"]["rlimits"][0]["hard"], 77);
            assert_eq!(told["process"]["args"][3], "--lifetime-millis=5");
            let text = told.to_string();
            assert!(text.contains("size=4096"), "{text}");
            let mut mounts = told["mounts"].as_array().unwrap().iter();
            let is_sealed = |mount: &&Value| {
                mount["destination"] == "/workspace" && mount["options"][1] == "ro"
            };
            let sealed = mounts.any(|mount| is_sealed(&mount));
            assert_eq!(sealed, runtime == Runtime::Runsc, "{text}");
            assert!(!text.contains("CAP_SYS_ADMIN") && !text.contains("CAP_SYS_PTRACE"), "{text}");
        }
    }
}
