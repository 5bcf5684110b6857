//! Keeps what an agent tells while it runs, without values of secrets, in small batches.
//!
//! ```text
//!  agent ── channel of 64 ──▶ clean ──▶ batch (64 events, 256 KiB or 250 ms) ──▶ store.append_transcript
//! ```
//!
//! The agent is held up while a batch is written, so that nothing piles up. When the step is stopped in the middle, what was said
//! until then is kept too: [`Recording`] leaves it with the step's [`Unfinished`], and the driver writes it.
//!
//! **Invariants:** no text is kept that was not cleaned. What an attempt tells ends with exactly one `Finished`, unless this process
//! ended, or the database was away, before it could be written.

mod clean;
mod recorder;

pub(crate) use clean::answer as clean_answer;
pub(crate) use recorder::{Recorder, Recording, Unfinished};
