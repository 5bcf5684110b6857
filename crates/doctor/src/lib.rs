//! What this computer can do, what is missing, and what follows.
//!
//! ```text
//!  measure ──▶ Host (raw facts) ──▶ examine ──▶ Examination ──▶ print
//!     │                             pure: one file per group of findings
//!     └──▶ attempt: a child process that really tries, and goes away
//! ```
//!
//! Measuring reads and tries, and judges nothing. Judging is pure, so that it is
//! tested on invented computers. Nothing that was tried outlives the child that
//! tried it.

pub mod attempt;
mod brief;
mod computer;
mod finding;
mod host;
mod isolation;
mod measure;
mod mounts;
mod print;
mod programs;
mod storage;
mod tier;

#[cfg(test)]
mod tests;

pub use self::{
    host::Host,
    measure::measure,
    print::{print_json, print_text},
};

use self::{
    finding::{Finding, Need, State},
    tier::Tier,
};

/// All findings about one computer, and what they add up to.
#[derive(Debug)]
pub struct Examination {
    findings: Vec<Finding>,
    tiers: Vec<Tier>,
}

/// Whether lamp can run at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    CanRun,
    CannotRun,
}

pub fn examine(host: &Host) -> Examination {
    let mut findings = computer::examine(host);
    findings.extend(isolation::examine(host));
    findings.extend(storage::examine(host));
    findings.extend(programs::examine(host));
    let tiers = tier::all(&findings);
    Examination { findings, tiers }
}

impl Examination {
    pub fn verdict(&self) -> Verdict {
        let stops = |finding: &Finding| {
            finding.need == Need::Essential && matches!(finding.state, State::Missing(_))
        };
        if self.findings.iter().any(stops) { Verdict::CannotRun } else { Verdict::CanRun }
    }
}
