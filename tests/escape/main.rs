//! What an attacker inside a sandbox tries, and what must come of it.
//!
//! ```text
//!  calls       the kernel: every dangerous system call, as the agent and as root inside, on every tier
//!  sights      what can be seen of the host: files, devices, descriptors, sockets, other processes
//!  privileges  becoming more than one is
//!  limits      using up what others need: processes, memory, processor, disk, terminals, output
//!  files       archives and links that lead elsewhere, while the host reads and writes
//!  leftovers   what one sandbox leaves for the next; images that were tampered with
//!  sealed      changing a workspace that is read-only
//!  toolchains  what one user of the host hides from another
//!  watches     seeing by inotify and by locks what the host and neighbours do
//!  faults      killed first processes and launchers; what outlives whom
//! ```
//!
//! The network half runs the real `lamp up` in a toy internet ([`tests::internet`]), where every address leads to the attacker:
//!
//! ```text
//!  network     packets by address, odd protocols, private and metadata addresses, names that lead there, neighbours
//!  names       messages in questions about names, and questions that a resolver could stumble over
//!  doors       what else a proxy, SOCKS and port 80 could be asked for
//!  requests    heads, hellos, versions and lengths that two programs would read differently; answers without end
//!  allowed     a host that may be reached as a way to somewhere else: git, GitHub, registries, models, budgets
//!  secrets     where a placeholder means its value, what comes back, and when it ends
//!  outage      the gateway, the server and hosts outside that are killed, stopped, flooded or false
//!  bypasses    what was reported of other systems, and what holds before the gate
//! ```
//!
//! Each of its attempts is looked at from three sides: the program inside is told so, nothing arrives outside, and one refusal is
//! written down, or none where the kernel inside refuses. Each has a control that does arrive. They are made in the tier
//! `verified`; those by packet and by address in every tier, and as root inside too.
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
mod bypasses;
mod calls;
mod doors;
mod faults;
mod files;
mod fixture;
mod ground;
mod host;
mod leftovers;
mod limits;
mod names;
mod network;
mod outage;
mod privileges;
mod requests;
mod sealed;
mod secrets;
mod sights;
mod table;
mod toolchains;
mod watches;
