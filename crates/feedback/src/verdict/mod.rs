//! What do the runs of the checks say about a change? (FB1, FB3, FB4, FB5)
//!
//! A check is run on the commit that the change started from and on the change itself. Only the difference is the change's fault:
//!
//! ```text
//!              on head: passed        failed             skipped         not there
//! on base
//!   passed      steady                regression         newly skipped   removed
//!   failed      fixed                 known failure      newly skipped   removed
//!   skipped     new, passing          new, failing       still skipped   removed
//!   not there   new, passing          new, failing       new, skipped
//!
//!   different when run again on the same commit: flaky
//! ```
//!
//! *Not there* can be told only by a report that names all tests, of a run that went to its end. Otherwise a test that one side does not name
//! is *not named* (nothing is known), *no longer fails* or *fails now* (where all that fails is named), or *not reached*.
//!
//! What tools print was written by whoever wrote the code, so words never make a run pass: its exit code does. Words can only make it worse.
//! And silence is not success: a check that ran tests before and runs none now has failed, and a run that broke off before its tests has
//! removed none.

mod again;
mod agent_text;
mod baseline;
mod change;
mod compare;
pub mod coverage;
mod errors;
mod gone;
mod judge;
mod run;
mod table;
pub mod weakened;

pub use baseline::{Baseline, baseline_key};
pub use change::{Change, TestVerdict};
pub use gone::gone;
pub use judge::{CheckVerdict, Conclusion, Evidence, Outcome, Reason, Side, Verdict, judge};
pub use run::{Ended, Run};

#[cfg(test)]
mod tests;
