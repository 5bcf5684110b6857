//! The protocol between a sandbox and the host, and the bookkeeping of the guest.
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocol`] | what the host asks, what the guest tells, and how both travel as frames |
//! | [`switchboard`] | the table of channels: what was asked, what is still to be told |
//! | [`outflow`], [`ring`] | what a channel gives out, and what it keeps of it |
//! | [`inflow`] | what a channel takes in |
//!
//! Nothing here touches the system, so that all of it can be tested with made-up hosts and programs. The program
//! that does, `lamp-guest`, is `main.rs` and the modules beside it.

pub mod inflow;
pub mod outflow;
pub mod protocol;
pub mod ring;
pub mod switchboard;
