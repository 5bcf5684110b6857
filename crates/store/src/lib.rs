//! Remembers every event, on SQLite or PostgreSQL, and tells who is waiting.
//!
//! ```text
//!  engine ── append ──▶ ┌ one transaction ──────────────────────────────────────┐
//!                       │ events   what happened        outbox  what is now due │──▶ changes: readers look again
//!                       │ tasks    where each stands    audit   who did it      │
//!                       └───────────────────────────────────────────────────────┘
//!  engine ── claim, renew, settle ──▶ outbox            everyone ── list, history ──▶ tasks, events
//!  engine ── append_transcript ──▶ transcript          watchers ── transcript_after ──▶ what agents said
//! ```
//!
//! [`Store`] is the only door. Behind it, `operations` are the changes, `queries` the questions,
//! `database` the one place that knows both databases, `stored` the shapes of what is written.

mod audit;
mod backup;
mod blobs;
mod changes;
mod data_directory;
mod database;
mod error;
mod operations;
mod options;
mod outbox;
#[cfg(test)]
mod plans_tests;
mod projection;
mod queries;
mod store;
mod stored;
mod text;
mod transcript;

pub use audit::{AuditFault, Entry as AuditEntry, Link as AuditLink, Verified};
pub use backup::{BackupError, restore};
pub use blobs::{BlobError, Blobs, Collected};
pub use changes::{Change, Growth, Heard, Subscription};
pub use data_directory::{DataDirectory, ServerLock};
pub use error::{OpenError, StoreError};
pub use operations::append::{Append, Appended};
pub use options::OpenOptions;
pub use outbox::{Lease, Renewal};
pub use queries::{
    history::{History, Recorded},
    queue::Pending,
    tasks::{Filter, Page, TaskView},
};
pub use store::{Store, open, open_with};
pub use transcript::{Briefing, Said, Saying};
