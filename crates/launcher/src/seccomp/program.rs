//! Makes a filter of the verdicts: a search tree over the numbers of the calls.
//!
//! Classic BPF jumps only forward. Every branch therefore ends with a verdict, and a jump to the right half passes over
//! the left one.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, sock_filter,
};

use super::{Calls, NEWEST, Outcome, Rule, Test, Verdict};

type Program = Vec<sock_filter>;

/// Where `seccomp_data` holds the number, the architecture and the arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

#[cfg(target_arch = "x86_64")]
pub(super) const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const OURS: u32 = 0xc000_00b7;

/// Calls with the same verdict, from a number on to the next range.
#[derive(Debug)]
struct Range<'a> {
    first: u32,
    verdict: &'a Verdict,
}

pub(super) fn compile(calls: &Calls) -> Program {
    let others = match calls.others {
        Outcome::Pass => Verdict::Pass,
        Outcome::Fail(errno) => Verdict::Fail(errno),
    };
    // Above all real calls: later ones, and those of the x32 way into the kernel.
    let beyond = Verdict::Fail(libc::ENOSYS);
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for call in 0..=NEWEST + 1 {
        let verdict =
            if call > NEWEST { &beyond } else { calls.named.get(&call).unwrap_or(&others) };
        if ranges.last().is_none_or(|last| last.verdict != verdict) {
            ranges.push(Range { first: call, verdict });
        }
    }
    // Another architecture's numbers mean other calls.
    let mut program = vec![
        load(ARCHITECTURE),
        branch(BPF_JEQ, OURS, 1, 0),
        verdict(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    program.extend(tree(&ranges));
    program
}

fn tree(ranges: &[Range<'_>]) -> Program {
    let (left, right) = ranges.split_at(ranges.len() / 2);
    let Some(boundary) = right.first() else { return vec![verdict(SECCOMP_RET_KILL_PROCESS)] };
    if left.is_empty() {
        return leaf(boundary.verdict);
    }
    let left = tree(left);
    let mut program = match u8::try_from(left.len()) {
        Ok(length) => vec![branch(BPF_JGE, boundary.first, length, 0)],
        Err(_too_far) => vec![branch(BPF_JGE, boundary.first, 0, 1), jump(left.len())],
    };
    program.extend(left);
    program.extend(tree(right));
    program
}

fn leaf(of: &Verdict) -> Program {
    match of {
        Verdict::Pass => vec![outcome(Outcome::Pass)],
        Verdict::Fail(errno) => vec![outcome(Outcome::Fail(*errno))],
        Verdict::Look(rules, otherwise) => {
            let mut program: Program = rules.iter().flat_map(rule).collect();
            program.push(outcome(*otherwise));
            program
        }
    }
}

/// Ends with the outcome when all tests hold, and goes on behind itself otherwise.
fn rule(rule: &Rule) -> Program {
    let mut program = vec![outcome(rule.outcome)];
    for one in rule.tests.iter().rev() {
        let behind = u8::try_from(program.len()).unwrap_or(u8::MAX);
        let mut longer = test(*one, behind);
        longer.append(&mut program);
        program = longer;
    }
    program
}

/// Goes on when the test holds, and passes over `behind` instructions otherwise.
fn test(test: Test, behind: u8) -> Program {
    match test {
        Test::Equals { argument, value } => {
            vec![load(ARGUMENTS + 8 * argument), branch(BPF_JEQ, value, 0, behind)]
        }
        Test::Masked { argument, mask, value } => vec![
            load(ARGUMENTS + 8 * argument),
            instruction(BPF_ALU | BPF_AND | BPF_K, mask),
            branch(BPF_JEQ, value, 0, behind),
        ],
        Test::AnyBit { argument, mask } => {
            vec![load(ARGUMENTS + 8 * argument), branch(BPF_JSET, mask, 0, behind)]
        }
    }
}

fn outcome(outcome: Outcome) -> sock_filter {
    match outcome {
        Outcome::Pass => verdict(SECCOMP_RET_ALLOW),
        Outcome::Fail(errno) => verdict(SECCOMP_RET_ERRNO | errno.unsigned_abs()),
    }
}

fn verdict(value: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, value)
}

fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset)
}

fn jump(over: usize) -> sock_filter {
    instruction(BPF_JMP | BPF_JA, u32::try_from(over).unwrap_or(u32::MAX))
}

fn branch(kind: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter { jt: yes, jf: no, ..instruction(BPF_JMP | kind | BPF_K, value) }
}

fn instruction(code: u32, value: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt: 0, jf: 0, k: value }
}
