//! Which sockets can be made.
//!
//! Unix, TCP and UDP, and the question for routes that every resolver asks. All other families and protocols are a large part
//! of the kernel that no agent needs.

use super::{Outcome, Rule, Test, Verdict, number};

const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;

const STREAM: u32 = 1;
const DATAGRAM: u32 = 2;
const RAW: u32 = 3;
const SEQUENCED: u32 = 5;
const PACKET: u32 = 10;

const TCP: u32 = 6;
const UDP: u32 = 17;
/// The protocol that fits the type; for netlink, routes.
const DEFAULT: u32 = 0;

/// The type without the flags for non-blocking and close-on-exec.
const TYPE: u32 = 0xf;

pub(super) fn calls() -> impl Iterator<Item = (u32, Verdict)> {
    [(libc::SYS_socket, socket()), (libc::SYS_socketpair, pair())]
        .into_iter()
        .map(|(call, verdict)| (number(call), verdict))
}

fn socket() -> Verdict {
    let mut rules = Vec::new();
    for kind in [STREAM, DATAGRAM, SEQUENCED] {
        rules.push(pass(vec![family(UNIX), of_type(kind)]));
    }
    rules.push(fail(vec![family(UNIX)], libc::EPERM));
    for inet in [INET, INET6] {
        for (kind, protocol) in
            [(STREAM, DEFAULT), (STREAM, TCP), (DATAGRAM, DEFAULT), (DATAGRAM, UDP)]
        {
            rules.push(pass(vec![family(inet), of_type(kind), of_protocol(protocol)]));
        }
        for kind in [RAW, PACKET] {
            rules.push(fail(vec![family(inet), of_type(kind)], libc::EPERM));
        }
        rules.push(fail(vec![family(inet)], libc::EPROTONOSUPPORT));
    }
    for kind in [DATAGRAM, RAW] {
        rules.push(pass(vec![family(NETLINK), of_type(kind), of_protocol(DEFAULT)]));
    }
    rules.push(fail(vec![family(NETLINK)], libc::EPROTONOSUPPORT));
    Verdict::Look(rules, Outcome::Fail(libc::EAFNOSUPPORT))
}

fn pair() -> Verdict {
    Verdict::Look(vec![pass(vec![family(UNIX)])], Outcome::Fail(libc::EAFNOSUPPORT))
}

fn pass(tests: Vec<Test>) -> Rule {
    Rule { tests, outcome: Outcome::Pass }
}

fn fail(tests: Vec<Test>, errno: i32) -> Rule {
    Rule { tests, outcome: Outcome::Fail(errno) }
}

fn family(value: u32) -> Test {
    Test::Equals { argument: 0, value }
}

fn of_type(value: u32) -> Test {
    Test::Masked { argument: 1, mask: TYPE, value }
}

fn of_protocol(value: u32) -> Test {
    Test::Equals { argument: 2, value }
}
