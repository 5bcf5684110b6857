//! What is left of an agent's file that a repository wrote itself: at most what a task gets that no file says anything about.
//!
//! The network is narrowed where it is granted ([`crate::network`]), approvers and four eyes where layers are folded, and secrets, images
//! and pushing are problems of the file unless the server grants them ([`config::owned`]). What remains are the numbers, in which a file of
//! the server may go up to the ceilings: for a repository the server's defaults are the ceilings.
//!
//! **Invariant:** nothing that comes out is more than the defaults, and nothing that the file says less is lost.

use config::{
    agent::{AgentFile, PhaseChoice},
    server::Defaults,
    units::{RunTime, Wait},
};
use domain::limits::PhaseTimes;

use crate::order::PATIENCE;

pub fn narrowed(mut file: AgentFile, defaults: &Defaults) -> AgentFile {
    let compute = &mut file.sandbox.compute;
    compute.cpu = least(compute.cpu, defaults.cpu);
    compute.memory = least(compute.memory, defaults.memory);
    compute.disk = least(compute.disk, defaults.disk);
    compute.timeout = least(compute.timeout, defaults.timeout);
    file.sandbox.tier = file.sandbox.tier.map(|tier| tier.max(defaults.tier));
    file.limits.attempts = least(file.limits.attempts, defaults.attempts);
    file.limits.budget = least(file.limits.budget, defaults.budget);
    file.limits.answer = file.limits.answer.min(Wait::nearest_to(PATIENCE));
    file.plan.timeout = file.plan.timeout.min(Wait::nearest_to(PATIENCE));
    let usual = PhaseTimes::default();
    let phases = &mut file.phases;
    for (choice, longest) in [
        (&mut phases.research, usual.research.min(usual.plan)),
        (&mut phases.implement, usual.implement),
        (&mut phases.review, usual.review),
    ] {
        if let Some(PhaseChoice { timeout, .. }) = choice {
            *timeout = least(*timeout, RunTime::nearest_to(longest));
        }
    }
    let checking = RunTime::nearest_to(usual.verify);
    if let Some(verify) = &mut phases.verify {
        verify.timeout = verify.timeout.min(checking);
    }
    for check in &mut file.checks {
        check.timeout = least(check.timeout, checking);
    }
    file
}

/// Silence stays silence: then the default holds.
fn least<T: Ord>(said: Option<T>, most: T) -> Option<T> {
    said.map(|said| said.min(most))
}
