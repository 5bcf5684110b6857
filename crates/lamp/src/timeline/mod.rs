//! What happens to a task, told to whoever watches it.
//!
//! ```text
//!  stream of a task ──▶ watch ──▶ story (events), voice (agents) ──▶ page: a terminal, lines, or JSON
//!                         │
//!                         └── it rests ──▶ gate: asks the person, on a terminal ──▶ ending: an exit code, the next commands
//! ```
//!
//! Everything but [`watch`], [`gate`], [`keyboard`] and [`keys`] is data in, text out.
//!
//! **Invariant:** nothing that an agent or a repository wrote reaches a terminal as it is: all of it goes through [`words`].

pub(crate) mod block;
mod ending;
mod gate;
pub(crate) mod headline;
mod keyboard;
mod keys;
mod next;
mod page;
mod plan;
pub(crate) mod put;
#[cfg(test)]
pub(crate) mod samples;
mod screen;
mod story;
mod voice;
mod watch;
pub(crate) mod words;

pub(crate) use ending::{EXIT_CODES, Ending, last_words};
pub(crate) use gate::{Said, ask_about_plan, details};
pub(crate) use keyboard::Keyboard;
pub(crate) use next::{next_commands, next_steps};
pub(crate) use page::{Audience, Page};
pub(crate) use plan::{conditions, decision, plan};
pub(crate) use story::{failure_body, failure_line};
pub(crate) use watch::{Company, Until, Watching, watch};
