//! Tasks: what a person handed over, where it stands, and what they can do about it now.
//!
//! | module | what |
//! |---|---|
//! | [`new`] | what to hand over |
//! | [`shown`] | a task as lists and pages show it |
//! | [`plan`] | the plan at the gate, and the conditions of an approval |
//! | [`ask`] | what a person can ask of a task |
//! | [`event`] | what happened to it, one shape for each kind |
//! | [`transcript`] | what its agents said and did |
//! | [`stream`] | both, live, from any cursor on |
//! | [`checks`], [`review`] | what the platform and the second agent found |
//! | [`usage`] | what it cost |

pub mod ask;
pub mod checks;
pub mod event;
pub mod new;
mod person;
pub mod plan;
mod repository;
pub mod review;
pub mod shown;
pub mod stream;
pub mod transcript;
pub mod usage;

pub use new::{NewRepository, NewTask};
pub use shown::{Task, TaskList, TaskSummary};
