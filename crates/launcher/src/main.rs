//! `lamp-launcher`: makes sandboxes.
//!
//! ```text
//!   server ──orders──▶ serve ─▶ launch ──plan, mounts──▶ inside ──exec──▶ guest
//!          ◀─answers──            │                        (first process)
//!                          standby, idmap, control
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`serve`] | takes orders and answers them |
//! | [`launch`] | the launcher's part in making a sandbox |
//! | [`hosted`] | sandboxes whose walls an OCI runtime builds; a mode of its own |
//! | [`doors`] | sockets in the network of a sandbox, for the gateway; a mode of its own |
//! | [`standby`] | first processes that wait for a plan |
//! | [`inside`] | the first process, until it becomes the guest |
//! | [`line`] | what the two say to each other |
//! | [`mounts`] | root, devices, `/proc`, directories of the host |
//! | [`idmap`], [`attached`], [`users`] | which ids stand behind which |
//! | [`network`], [`limits`], [`capabilities`], [`landlock`], [`seccomp`] | the walls |
//! | [`control`] | the socket that the server reaches the guest by |
//! | [`joining`] | control groups, joined without a wait |
//! | [`syscalls`] | all that is unsafe |
//!
//! It has one thread, is started by the server with a socket as its standard input, and ends when that closes.

mod attach;
mod attached;
mod capabilities;
mod control;
mod doors;
mod failure;
mod hosted;
mod idmap;
mod inside;
mod joining;
mod landlock;
mod launch;
mod limits;
mod line;
mod mounts;
mod network;
mod power;
mod seccomp;
mod serve;
mod standby;
mod syscalls;
mod users;

use std::{env, ffi::OsString, io, os::fd::OwnedFd, process::ExitCode};

use rustix::{
    fs::Mode,
    io::{FdFlags, fcntl_setfd},
    process::umask,
};

use crate::{
    launch::Launcher,
    seccomp::Filters,
    standby::{Nursery, Power},
    syscalls::Children,
};

const USAGE: &str =
    "usage: lamp-launcher --guest-fd N [--hosted|--doors], with a socket as standard input";

fn main() -> ExitCode {
    let Some((guest, errand)) = arguments(env::args_os().skip(1)) else {
        complain(USAGE);
        return ExitCode::from(2);
    };
    match run(guest, errand) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("lamp-launcher: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// What this process is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errand {
    /// All sandboxes of a server.
    Orders,
    /// One sandbox, which a runtime hosts.
    Hosted,
    /// The doors of one sandbox.
    Doors,
}

fn run(guest: i32, errand: Errand) -> io::Result<()> {
    let guest = syscalls::inherit(guest)?;
    fcntl_setfd(&guest, FdFlags::CLOEXEC)?;
    let server: OwnedFd = syscalls::inherit(0)?;
    fcntl_setfd(&server, FdFlags::CLOEXEC)?;
    syscalls::children(Children::Forgotten);
    // Modes are given where files are made.
    umask(Mode::empty());
    match errand {
        Errand::Orders => {
            let _held = joining::quick();
            let nursery = Nursery::new(Power::of_this_process(), guest, Filters::compile());
            serve::serve(server.into(), Launcher::new(nursery))
        }
        Errand::Hosted => hosted::serve(server.into(), guest),
        Errand::Doors => doors::serve(server.into()),
    }
}

fn arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<(i32, Errand)> {
    let (flag, number, mode) = (arguments.next()?, arguments.next()?, arguments.next());
    let errand = match mode {
        None => Errand::Orders,
        Some(mode) if mode == "--hosted" => Errand::Hosted,
        Some(mode) if mode == "--doors" => Errand::Doors,
        Some(_unknown) => return None,
    };
    if flag != "--guest-fd" || arguments.next().is_some() {
        return None;
    }
    let number = number.to_str()?.parse().ok().filter(|&number| number > 2)?;
    Some((number, errand))
}

#[expect(clippy::print_stderr, reason = "the one place where the launcher speaks to people")]
fn complain(sentence: &str) {
    eprintln!("{sentence}");
}
