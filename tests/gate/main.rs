//! The gate, under attack (GA1 to GA5): an agent that tries everything to be past it without a person, and a person's tools that must not be fooled.
//! With the real `lamp up`, real sandboxes and a real repository.
//!
//! | file | what is tried |
//! |---|---|
//! | `before.rs` | writing, pushing, calling the API, finding tokens, during research and plan |
//! | `door.rs` | at the API: wrong tokens, stale plans, many at once, conditions that mean nothing |
//! | `words.rs` | forged events and approvals, plans that hide something |
//! | `race.rs` | going on after the answer, and waiting for the gate to open |
//! | `conditions.rs` | leaving what an approval allows: paths, hosts, time |
//! | `spending.rs` | the same for commands and money, with a worker that asks a model |
//! | `change.rs` | what must not leave a sandbox: workflow files, links, secrets, names |
//! | `judges.rs` | checks that are made to pass, and reviewers that are talked to |
//! | `records.rs` | records of pull requests that are rewritten with plain git |
//! | `proof.rs` | changed receipts, notes, texts and commits |
//!
//! What the agent does is Python in its request, played by `hostile.py`. Each table has its control: where the same thing is allowed, it works.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot begin fails"
)]
#![allow(clippy::print_stdout, reason = "what was seen is told with the test")]

mod before;
mod change;
mod conditions;
mod door;
mod house;
mod journey;
mod judges;
mod proof;
mod race;
mod records;
mod spending;
mod words;
