//! The filters, run on a small machine of our own.

use launcher::plan::Strictness;
use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, sock_filter};
use proptest::prelude::*;

use super::{Filters, program};

const BOTH: [Strictness; 2] = [Strictness::Denylist, Strictness::Allowlist];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Result {
    Passes,
    Fails(i32),
    Kills,
}

/// What the filter says of a call.
fn call(strictness: Strictness, number: libc::c_long, arguments: &[u64]) -> Result {
    let filters = Filters::compile();
    run(filters.of(strictness), program::OURS, u32::try_from(number).unwrap(), arguments)
}

fn run(program: &[sock_filter], architecture: u32, number: u32, arguments: &[u64]) -> Result {
    let mut data = Vec::new();
    data.extend(number.to_ne_bytes());
    data.extend(architecture.to_ne_bytes());
    data.extend([0; 8]);
    for index in 0..6 {
        data.extend(arguments.get(index).copied().unwrap_or(0).to_ne_bytes());
    }
    let (mut at, mut held) = (0, 0_u32);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let offset = k as usize;
        let jump = |yes: bool| usize::from(if yes { jt } else { jf });
        match u32::from(code) {
            0x20 => held = u32::from_ne_bytes(data[offset..offset + 4].try_into().unwrap()),
            0x54 => held &= k,
            0x05 => at += offset,
            0x15 => at += jump(held == k),
            0x35 => at += jump(held >= k),
            0x45 => at += jump(held & k != 0),
            0x06 if k == SECCOMP_RET_ALLOW => return Result::Passes,
            0x06 if k == SECCOMP_RET_KILL_PROCESS => return Result::Kills,
            0x06 if k & 0xffff_0000 == SECCOMP_RET_ERRNO => {
                return Result::Fails(i32::try_from(k & 0xffff).unwrap());
            }
            other => panic!("an instruction that we never write: {other:#x}"),
        }
    }
}

#[test]
fn calls_that_programs_need_pass_both_filters() {
    for strictness in BOTH {
        for number in [libc::SYS_read, libc::SYS_execve, libc::SYS_futex, libc::SYS_setresuid] {
            assert_eq!(call(strictness, number, &[]), Result::Passes, "{number}");
        }
    }
}

#[test]
fn dangerous_calls_fail_in_both_filters() {
    for strictness in BOTH {
        for number in [
            libc::SYS_mount,
            libc::SYS_bpf,
            libc::SYS_unshare,
            libc::SYS_keyctl,
            libc::SYS_io_uring_setup,
            libc::SYS_open_by_handle_at,
            libc::SYS_process_vm_readv,
        ] {
            assert_eq!(call(strictness, number, &[]), Result::Fails(libc::EPERM), "{number}");
        }
        assert_eq!(call(strictness, libc::SYS_clone3, &[]), Result::Fails(libc::ENOSYS));
        assert_eq!(call(strictness, libc::SYS_sync, &[]), Result::Fails(0));
    }
}

#[test]
fn only_the_denylist_lets_debuggers_work() {
    assert_eq!(call(Strictness::Denylist, libc::SYS_ptrace, &[]), Result::Passes);
    assert_eq!(call(Strictness::Allowlist, libc::SYS_ptrace, &[]), Result::Fails(libc::EPERM));
}

#[test]
fn clone_makes_processes_but_no_namespaces() {
    for strictness in BOTH {
        assert_eq!(call(strictness, libc::SYS_clone, &[0x003d_0f00]), Result::Passes);
        for flag in [0x0002_0000, 0x0200_0000, 0x1000_0000, 0x4000_0000] {
            let result = call(strictness, libc::SYS_clone, &[flag | 0x11]);
            assert_eq!(result, Result::Fails(libc::EPERM));
        }
    }
}

#[test]
fn sockets_are_unix_tcp_udp_and_routes() {
    let socket = |family: u64, kind: u64, protocol: u64| {
        call(Strictness::Allowlist, libc::SYS_socket, &[family, kind, protocol])
    };
    let nonblocking = 0o4000 | 0o2_000_000;
    assert_eq!(socket(1, 1 | nonblocking, 0), Result::Passes);
    assert_eq!(socket(2, 1 | nonblocking, 6), Result::Passes);
    assert_eq!(socket(10, 2, 17), Result::Passes);
    assert_eq!(socket(16, 3, 0), Result::Passes);
    for (family, kind, protocol, errno) in [
        (2, 3, 1, libc::EPERM),
        (2, 2, 1, libc::EPROTONOSUPPORT),
        (2, 1, 132, libc::EPROTONOSUPPORT),
        (2, 1, 262, libc::EPROTONOSUPPORT),
        (10, 2, 136, libc::EPROTONOSUPPORT),
        (2, 6, 33, libc::EPROTONOSUPPORT),
        (16, 3, 12, libc::EPROTONOSUPPORT),
        (17, 3, 0, libc::EAFNOSUPPORT),
        (38, 5, 0, libc::EAFNOSUPPORT),
        (40, 1, 0, libc::EAFNOSUPPORT),
        (44, 3, 0, libc::EAFNOSUPPORT),
    ] {
        assert_eq!(
            socket(family, kind, protocol),
            Result::Fails(errno),
            "{family} {kind} {protocol}"
        );
    }
}

#[test]
fn the_upper_half_of_an_argument_hides_nothing() {
    let high = 0xdead_beef_0000_0000;
    let result = call(Strictness::Denylist, libc::SYS_ioctl, &[0, high | 0x5412]);
    assert_eq!(result, Result::Fails(libc::EPERM));
    let result = call(Strictness::Denylist, libc::SYS_clone, &[high | 0x1000_0000]);
    assert_eq!(result, Result::Fails(libc::EPERM));
}

#[test]
fn other_architectures_are_killed_and_x32_does_not_exist() {
    let filters = Filters::compile();
    for strictness in BOTH {
        let filter = filters.of(strictness);
        assert_eq!(run(filter, 0x4000_0003, 1, &[]), Result::Kills);
        let x32 = run(filter, program::OURS, 0x4000_0000 | 0xa5, &[]);
        assert_eq!(x32, Result::Fails(libc::ENOSYS));
    }
}

#[test]
fn filters_are_short() {
    let filters = Filters::compile();
    for strictness in BOTH {
        assert!(filters.of(strictness).len() < 700, "{}", filters.of(strictness).len());
    }
}

proptest! {
    #[test]
    fn every_call_gets_a_verdict_and_calls_of_the_future_get_none_but_enosys(
        number in any::<u32>(), arguments in prop::collection::vec(any::<u64>(), 6),
    ) {
        let filters = Filters::compile();
        for strictness in BOTH {
            let result = run(filters.of(strictness), program::OURS, number, &arguments);
            if number > super::NEWEST {
                prop_assert_eq!(result, Result::Fails(libc::ENOSYS));
            }
        }
    }

    #[test]
    fn what_the_allowlist_passes_the_denylist_passes(
        number in 0..500_u32, arguments in prop::collection::vec(0..300_u64, 6),
    ) {
        let filters = Filters::compile();
        let strict = run(filters.of(Strictness::Allowlist), program::OURS, number, &arguments);
        let lax = run(filters.of(Strictness::Denylist), program::OURS, number, &arguments);
        if strict == Result::Passes {
            prop_assert_eq!(lax, Result::Passes);
        }
    }
}
