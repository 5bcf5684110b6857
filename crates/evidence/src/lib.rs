//! What proves a change: the text of a pull request, and the signed receipt that anybody can check.
//!
//! ```text
//!  the task's history ──▶ Receipt ──▶ Statement ──▶ Envelope (signed) ──▶ verify ──▶ Checklist
//!                            │                          │ digest
//!                            ▼                          ▼
//!                       body: text of the pull request + block       commit: message, branch, note
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`receipt`] | what is attested: who asked, who approved, what ran, what came of it |
//! | [`envelope`] | the signed form of it (DSSE), and its strict reader |
//! | [`keys`] | signing keys, public keys, and the directory that keeps them |
//! | [`verify`] | checks an envelope offline, and says row by row what holds |
//! | [`body`] | the text of a pull request, in which nobody's words step out of their place |
//! | [`commit`] | branch name, commit message with trailers, and the note that `lamp why` reads |
//! | [`canonical`] | JSON with exactly one spelling |
//!
//! **Invariants:** the same facts give the same bytes. Whatever is read back is refused unless it is spelt as we would spell it. Nothing
//! here reads a clock, the environment or random bytes; only [`keys::ring`] touches the disk.

pub mod body;
mod branch;
pub mod canonical;
pub mod commit;
pub mod envelope;
pub mod keys;
pub mod link;
pub mod receipt;
pub mod verify;
mod visible;
