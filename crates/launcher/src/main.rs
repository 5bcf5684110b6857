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
//! | [`standby`] | first processes that wait for a plan |
//! | [`inside`] | the first process, until it becomes the guest |
//! | [`line`] | what the two say to each other |
//! | [`mounts`] | root, devices, `/proc`, directories of the host |
//! | [`idmap`], [`users`] | which ids stand behind which |
//! | [`network`], [`limits`], [`capabilities`], [`landlock`], [`seccomp`] | the walls |
//! | [`control`] | the socket that the server reaches the guest by |
//! | [`syscalls`] | all that is unsafe |
//!
//! It has one thread, is started by the server with a socket as its standard input, and ends when that closes.

mod capabilities;
mod control;
mod failure;
mod idmap;
mod inside;
mod landlock;
mod launch;
mod limits;
mod line;
mod mounts;
mod network;
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

const USAGE: &str = "usage: lamp-launcher --guest-fd N, with a socket as standard input";

fn main() -> ExitCode {
    let Some(guest) = guest_number(env::args_os().skip(1)) else {
        complain(USAGE);
        return ExitCode::from(2);
    };
    match run(guest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("lamp-launcher: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(guest: i32) -> io::Result<()> {
    let guest = syscalls::inherit(guest)?;
    fcntl_setfd(&guest, FdFlags::CLOEXEC)?;
    let server: OwnedFd = syscalls::inherit(0)?;
    fcntl_setfd(&server, FdFlags::CLOEXEC)?;
    syscalls::children(Children::Forgotten);
    // Modes are given where files are made.
    umask(Mode::empty());
    let nursery = Nursery::new(Power::of_this_process(), guest, Filters::compile());
    serve::serve(server.into(), Launcher::new(nursery))
}

fn guest_number(mut arguments: impl Iterator<Item = OsString>) -> Option<i32> {
    let (flag, number, end) = (arguments.next()?, arguments.next()?, arguments.next());
    if flag != "--guest-fd" || end.is_some() {
        return None;
    }
    number.to_str()?.parse().ok().filter(|&number| number > 2)
}

#[expect(clippy::print_stderr, reason = "the one place where the launcher speaks to people")]
fn complain(sentence: &str) {
    eprintln!("{sentence}");
}
