//! Calls that are harmless or not by their arguments.

use super::{Outcome, Rule, Test, Verdict, number};

/// All kinds of namespaces that `clone` can make. (`CLONE_NEWTIME` is none: its bit is part of the signal there.)
const NAMESPACES: u32 = 0x7e02_0000;

/// Personalities that change nothing for anybody else: the plain one, the question, `uname` as 32 bit or as old
/// kernel, and addresses that are not random, which debuggers want.
const PERSONALITIES: [u32; 6] =
    [0, 0xffff_ffff, 0x0000_0008, 0x0002_0000, 0x0002_0008, 0x0004_0000];

/// Put characters into a terminal's input, or reach the console, or give a terminal another line discipline.
const TERMINAL_REQUESTS: [u32; 3] = [0x5412, 0x541c, 0x5423];

/// Make the host wait for us, or tell us what it does, at files that it shares with us.
const FILE_REQUESTS: [u32; 2] = [1024, 1026];

/// Executable from the beginning.
const MFD_EXEC: u32 = 0x0010;

/// An upper layer protocol in the kernel, such as its TLS.
const TCP_ULP: u32 = 31;
const IPPROTO_TCP: u32 = 6;

const AT_EMPTY_PATH: u32 = 0x1000;

pub(super) fn calls() -> impl Iterator<Item = (u32, Verdict)> {
    [
        (libc::SYS_clone, refuse(Test::AnyBit { argument: 0, mask: NAMESPACES }, libc::EPERM)),
        (
            libc::SYS_execveat,
            refuse(Test::AnyBit { argument: 4, mask: AT_EMPTY_PATH }, libc::EPERM),
        ),
        (
            libc::SYS_memfd_create,
            refuse(Test::AnyBit { argument: 1, mask: MFD_EXEC }, libc::EACCES),
        ),
        (libc::SYS_fcntl, requests(FILE_REQUESTS)),
        (libc::SYS_ioctl, requests(TERMINAL_REQUESTS)),
        (libc::SYS_personality, personalities()),
        (libc::SYS_setsockopt, upper_layer_protocols()),
    ]
    .into_iter()
    .map(|(call, verdict)| (number(call), verdict))
}

fn refuse(test: Test, errno: i32) -> Verdict {
    Verdict::Look(vec![Rule { tests: vec![test], outcome: Outcome::Fail(errno) }], Outcome::Pass)
}

/// Refuses what the second argument asks for.
fn requests<const COUNT: usize>(refused: [u32; COUNT]) -> Verdict {
    let rules = refused.map(|value| Rule {
        tests: vec![Test::Equals { argument: 1, value }],
        outcome: Outcome::Fail(libc::EPERM),
    });
    Verdict::Look(rules.into(), Outcome::Pass)
}

fn personalities() -> Verdict {
    let rules = PERSONALITIES.map(|value| Rule {
        tests: vec![Test::Equals { argument: 0, value }],
        outcome: Outcome::Pass,
    });
    Verdict::Look(rules.into(), Outcome::Fail(libc::EPERM))
}

fn upper_layer_protocols() -> Verdict {
    let level = Test::Equals { argument: 1, value: IPPROTO_TCP };
    let option = Test::Equals { argument: 2, value: TCP_ULP };
    let rule = Rule { tests: vec![level, option], outcome: Outcome::Fail(libc::ENOPROTOOPT) };
    Verdict::Look(vec![rule], Outcome::Pass)
}
