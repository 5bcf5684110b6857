//! What an attacker inside a sandbox tries, and what must come of it.
//!
//! ```text
//!  calls       the kernel: every dangerous system call, as the agent and as root inside, on every tier
//!  sights      what can be seen of the host: files, devices, descriptors, sockets, other processes
//!  privileges  becoming more than one is
//!  limits      using up what others need: processes, memory, processor, disk, terminals, output
//!  files       archives and links that lead elsewhere, while the host reads and writes
//!  leftovers   what one sandbox leaves for the next; images that were tampered with
//!  toolchains  what one user of the host hides from another
//!  watches     seeing by inotify and by locks what the host and neighbours do
//!  faults      killed first processes and launchers; what outlives whom
//! ```
//!
//! The numbers in the tables are those of the list of abuse cases. What this host cannot show is printed as
//! `unsupported`, and counted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "the suite prints its tables, and a test that cannot begin fails"
)]

mod allowed;
mod calls;
mod faults;
mod files;
mod ground;
mod host;
mod leftovers;
mod limits;
mod names;
mod network;
mod privileges;
mod requests;
mod secrets;
mod sights;
mod stage;
mod table;
mod toolchains;
mod watches;
