//! Moves each task to its next step, and picks up where it stopped after a crash.
//!
//! ```text
//!  doors ── Front: order, submit, ask ──▶ decide ──▶ store.append ──▶ outbox row
//!                                                                  │ claim (lease)
//!  store.append(outcome, settles lease) ◀── decide ◀── step ◀── driver
//! ```
//!
//! A step is done like this: claim its row, read the task's history, call the hands with the key
//! `(task, sequence)`, append what came out together with the removal of the row. A crash anywhere
//! leaves the row; when its lease has run out, another driver does the step again, and the key makes
//! the hands give the same answer. Nothing is held in memory that a restart would lose.
//!
//! [`Engine`] is the whole of it, and [`Front`] is what doors see of it: tasks taken on, asked and looked at, and pull requests, of which
//! a task hears at once. `driver` claims and runs, `steps` has one file per step, `settle` writes
//! outcomes, `transcript` keeps what agents say, `sweeper` removes what nobody owns,
//! `watch` looks at open pull requests.

mod baselines;
mod bill;
mod captured;
mod delivered;
mod driver;
mod engine;
mod estimate;
mod front;
mod hands;
mod held;
mod last_words;
pub mod record;
mod redactor;
mod settings;
mod settle;
mod state;
mod steps;
mod stretches;
mod submit;
mod sweeper;
mod touched;
mod transcript;
mod watch;
mod witness;

pub use baselines::Baselines;
pub use delivered::{TaskChange, delivered_branch, merits, newest_change};
pub use front::{Approved, Front, Line, Origin, PlanOfLine, PullAt, Why, WhyError};
pub use hands::Hands;
pub use redactor::{Cleaner, NoSecrets, Redactor};
pub use settings::Settings;
pub use state::Engine;
pub use stretches::{ChangeRun, change_runs};
pub use submit::SubmitError;
pub use witness::{Moment, Unwatched, Witness};
