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
//! What tools print was written by whoever wrote the code, so words never make a run pass: its exit code does. Words can only make it worse.
//! And silence is not success: a check that ran tests before and runs none now has failed, and a run that broke off before its tests has
//! removed none.

mod again;
mod agent_text;
mod baseline;
mod change;
pub mod coverage;
mod errors;
mod judge;
mod run;
mod table;
pub mod weakened;

pub use baseline::{Baseline, baseline_key};
pub use change::{Change, TestVerdict};
pub use judge::{CheckVerdict, Conclusion, Evidence, Outcome, Reason, Side, Verdict, judge};
pub use run::{Ended, Run};

#[cfg(test)]
mod tests;
