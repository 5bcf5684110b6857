//! Landlock: a second wall around files, for the strict tier.
//!
//! Everything below the root may be used as its modes say, but no device can be made; and nothing can be mounted or
//! moved by a process under Landlock, even if it got the capability. Where the kernel knows scopes, signals and abstract
//! sockets end at the sandbox, too.

use std::io;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use launcher::plan::Failure;

use crate::failure::{Step, refused};

const STEP: &str = "enter Landlock";

/// Fails unless all that [`ABI::V3`] knows is enforced.
pub(crate) fn enter() -> Result<(), Failure> {
    let root = PathFd::new("/").map_err(io::Error::other).step(STEP)?;
    let status = restrict(root).map_err(io::Error::other).step(STEP)?;
    match status {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(refused(STEP, "the kernel does not enforce Landlock")),
    }
}

fn restrict(root: PathFd) -> Result<RulesetStatus, RulesetError> {
    let every = AccessFs::from_all(ABI::V5);
    let allowed = every & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(every)?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rule(PathBeneath::new(root, allowed))?
        .restrict_self()?;
    Ok(status.ruleset)
}
