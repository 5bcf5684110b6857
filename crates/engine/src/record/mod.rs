//! What was found along the way, as documents that the task's events name by their hash.
//!
//! An event says what follows (the checks passed); its document says why. Documents are kept as JSON in the store's blobs, written once
//! and never changed. Doors show them; the evidence of a pull request is made of them.
//!
//! | document | named by | what it holds |
//! |---|---|---|
//! | [`ChangeRecord`] | `implemented` | what was touched, and what to look at twice |
//! | [`ChecksRecord`] | `checks_passed`, `checks_failed` | every check on base and on head |
//! | [`ReviewRecord`] | `review_passed`, `review_found_faults` | what a second agent found |

mod change;
mod checks;
mod dismissal;
mod headline;
mod review;

pub use change::{ChangeRecord, FlagRecord};
pub use checks::{
    CheckRecord, ChecksRecord, ConclusionRecord, CoverageRecord, FindingRecord, LeftOutRecord,
    OutcomeRecord, SeverityRecord, SideRecord, TestRecord, WeakenedClass, WeakenedRecord,
};
pub use dismissal::Dismissal;
pub use review::{ReviewFinding, ReviewRecord};

/// A document as text. Shapes hold texts, numbers and lists: writing those to memory cannot fail, and if it ever could, the empty text
/// would be refused when it is read.
fn write(shape: &impl serde::Serialize) -> String {
    serde_json::to_string(shape).unwrap_or_default()
}
