//! What an agent is told.
//!
//! ```text
//!  the task's history ── Brief ──────────┐
//!  the sandbox ── gather ── facts ──▶ pack ──▶ Pack ──▶ Templates::prompt ──▶ one text, recorded with the task (CX3)
//! ```
//!
//! [`pack()`] and [`Templates::prompt`] are pure: the same sources give the same words. Only [`gather`] looks into a sandbox.
//!
//! **Invariants:** everything has a limit, and what is left out is said. Text that others wrote stands in a fence that it cannot
//! close, without characters that nobody sees. Templates are trusted, values are not: a value is never read as a template.

mod gather;
mod pack;
mod quote;
mod rehearsal;
mod task;
mod template;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use domain::visible::{is_visible, visible};
pub use gather::{Notes, Place, gather};
pub use pack::{Instruction, Pack, RepositoryFacts, pack};
pub use task::task;
pub use template::{TemplateError, Templates};
