//! The real `lamp-agent`, over standard input and output, with a model that plays what each test says.
//!
//! | module | what it holds |
//! |---|---|
//! | `model` | a server on loopback that answers as each provider would, or worse |
//! | `fixture` | the agent as a process, and a client that speaks with it; every line that it says is checked against the protocol's own types |
//! | `work` | what it is for: a bug is mended, a question asked, a session taken up again |
//! | `limits` | what ends a turn |
//! | `weather` | what goes wrong on the way to the model |
//! | `hostile` | models and clients that mean harm |
//! | `stopping` | cancel, and the end |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod fixture;
mod hostile;
mod limits;
mod model;
mod stopping;
mod weather;
mod work;
