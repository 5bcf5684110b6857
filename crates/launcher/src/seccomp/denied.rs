//! Calls that no sandbox needs, and that have broken walls before.
//!
//! Most fail with `EPERM`. Those that a C library tries first and can do without fail with `ENOSYS`, as on an
//! older kernel.

use launcher::plan::Strictness;

use super::{Verdict, number};

/// Namespaces and mounts.
const MOUNTS: &[libc::c_long] = &[
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    STATMOUNT,
    LISTMOUNT,
    OPEN_TREE_ATTR,
    LISTNS,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
];

/// Parts of the kernel with a long list of bugs, or that watch more than the sandbox.
const KERNEL: &[libc::c_long] = &[
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
    libc::SYS_memfd_secret,
    LSM_SET_SELF_ATTR,
    LSM_GET_SELF_ATTR,
    LSM_LIST_MODULES,
];

/// The machine itself.
const MACHINE: &[libc::c_long] = &[
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Memory and descriptors of other processes, and where memory lies.
const OTHERS: &[libc::c_long] = &[
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

#[cfg(target_arch = "x86_64")]
const OF_THE_ARCHITECTURE: &[libc::c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_THE_ARCHITECTURE: &[libc::c_long] = &[];

/// The C library falls back to `clone`, whose flags a filter can read. The old asynchronous input and output has one
/// limit for the whole host, which a single sandbox could use up.
const UNKNOWN: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_setup,
    libc::SYS_io_destroy,
    libc::SYS_io_getevents,
    libc::SYS_io_submit,
    libc::SYS_io_cancel,
    IO_PGETEVENTS,
];

/// Succeed without doing anything. They would write out the files of the whole host, and a sandbox's own are volatile.
const EMPTY: &[libc::c_long] = &[libc::SYS_sync, libc::SYS_syncfs];

#[cfg(target_arch = "x86_64")]
const IO_PGETEVENTS: libc::c_long = 333;
#[cfg(target_arch = "aarch64")]
const IO_PGETEVENTS: libc::c_long = 292;

// Newer than the list of the `libc` crate; the same on every architecture.
const STATMOUNT: libc::c_long = 457;
const LISTMOUNT: libc::c_long = 458;
const LSM_GET_SELF_ATTR: libc::c_long = 459;
const LSM_SET_SELF_ATTR: libc::c_long = 460;
const LSM_LIST_MODULES: libc::c_long = 461;
const OPEN_TREE_ATTR: libc::c_long = 467;
const LISTNS: libc::c_long = 470;

pub(super) fn calls(strictness: Strictness) -> impl Iterator<Item = (u32, Verdict)> {
    let debuggers: &[libc::c_long] = match strictness {
        Strictness::Denylist => &[],
        Strictness::Allowlist => &[libc::SYS_ptrace],
    };
    let forbidden = [MOUNTS, KERNEL, MACHINE, OTHERS, OF_THE_ARCHITECTURE, debuggers]
        .into_iter()
        .flatten()
        .map(|&call| (number(call), Verdict::Fail(libc::EPERM)));
    let unknown = UNKNOWN.iter().map(|&call| (number(call), Verdict::Fail(libc::ENOSYS)));
    let empty = EMPTY.iter().map(|&call| (number(call), Verdict::Fail(0)));
    forbidden.chain(unknown).chain(empty)
}
