//! Git, as a protocol that is understood: what a push does, before it is done.
//!
//! ```text
//!  commands        PACK ………………………………………… trailer
//!  │ read whole,   │ passed on as it comes, its commits read │
//!  │ then judged   │                                         │ held back until every update is shown to go forwards
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`commands`] | the list of updates that a push begins with |
//! | [`pack`] | the commits of a pack, and which of them lead to which |
//! | [`push`] | a push from its first byte to its last: what may be sent on, and when |
//! | [`fetch`] | a fetch: the lines of that protocol and nothing else |
//! | [`refusal`] | our sentence, as git prints it |
//!
//! How force is held: a command says `old new`, and the server takes it only if the branch is at `old` now. Whether `new` comes after
//! `old` it does not say. The commits between the two are in the pack, because the server does not have them yet; we hash each of
//! them and walk from `new` through parents until we meet `old`. If we do not, the last bytes of the pack are never sent, and the
//! server throws away what it got. A branch that is new has nothing to be forced.

pub mod commands;
pub mod fetch;
pub mod pack;
pub mod push;
pub mod refusal;

#[cfg(test)]
mod git_tests;
#[cfg(test)]
mod push_tests;
