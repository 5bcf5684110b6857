//! Speaks with the coding agents, and tells what they do in one language.
//!
//! ```text
//!  engine ── Run ──▶ Crew ── Launch ──▶ sandbox ── exec ──▶ the program
//!                     │                                        │ its own language: ACP, stream-json, lines of JSON
//!                     │   driver ◀── lines, bounded ───────────┘
//!                     │     └─ language: pure, a line in, what was heard out
//!                     ├─ Teller: AgentEvents, numbered, in parts
//!                     ├─ Director: is this an answer? if not, say what is wrong, once
//!                     └─ Verdict: what the model meter saw, how the process ended, and only then what the program said
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`program`] | one file for each program, with all that is particular to it |
//! | [`language`] | one file for each language that programs speak; pure |
//! | [`driver`] | speaking it with a running program |
//! | [`brief`] | what an agent is told: the startup pack, and the templates |
//! | [`answer`] | plans, findings and questions, by their schemas |
//! | [`crew`] | a run from its start to its end |
//! | [`recipe`] | images that have the programs |
//! | [`checkup`] | which programs an image has, and whether they work |
//!
//! **Invariants:** nothing that a program says is believed where it can be known otherwise: what was used comes from the meter,
//! that nothing was written from the mount, that it is over from the sandbox. Every line, text and list that comes from a program
//! has a limit. Dropping a run ends the program with all that it started.

pub mod answer;
pub mod brief;
pub mod checkup;
pub mod crew;
mod director;
pub mod driver;
mod inside;
mod journal;
pub mod language;
mod memory;
mod pipe;
mod process;
pub mod program;
pub mod recipe;
mod teller;
mod verdict;

pub use crew::{Crew, Limits, Parts, Post, Roster};
pub use program::{Endpoint, Format, ModelChoice, Program, Steering};
