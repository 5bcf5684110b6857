//! A program as the host describes it, made ready to be executed.

use std::{
    ffi::CString,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use guest::protocol::{Program, Refusal, Size};
use rustix::{
    fs::{Gid, Mode, OFlags, Uid, fchown, fcntl_getfl, fcntl_setfl, open},
    io::{Errno, dup},
    pipe::{PipeFlags, pipe_with},
    process::{Resource, getrlimit},
    pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::{identity::Identity, supervisor::Image};

/// Where programs are looked for when the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How many descriptors jobs must leave.
const RESERVED: u64 = 16;

/// The guest's ends of what a program reads and writes.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) input: OwnedFd,
    pub(crate) out: OwnedFd,
    /// A terminal has only one output.
    pub(crate) error: Option<OwnedFd>,
}

/// The program's ends. Kept open until it has started.
#[derive(Debug)]
pub(crate) struct ProgramEnds {
    pub(crate) input: OwnedFd,
    pub(crate) out: OwnedFd,
    pub(crate) error: OwnedFd,
}

/// Strings as the kernel takes them, and where to look for the program.
pub(crate) fn image(
    program: &Program,
    identity: Identity,
    ends: &ProgramEnds,
) -> Result<Image, Refusal> {
    let name = program.argv.first().cloned().unwrap_or_default();
    let unusable = |errno: i32| Refusal::Program { name: name.clone(), errno };
    if name.is_empty() {
        return Err(unusable(libc::ENOENT));
    }
    let strings = |strings: &mut dyn Iterator<Item = String>| {
        strings
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_zero| unusable(libc::EINVAL))
    };
    let directory = if program.directory.is_empty() { "/" } else { &program.directory };
    let directory = CString::new(directory).map_err(|_zero| Refusal::Directory {
        path: program.directory.clone(),
        errno: libc::EINVAL,
    })?;
    Ok(Image {
        candidates: strings(&mut candidates(&name, &program.environment).into_iter())?,
        argv: strings(&mut program.argv.iter().cloned())?,
        environment: strings(
            &mut program.environment.iter().map(|(key, value)| format!("{key}={value}")),
        )?,
        directory,
        identity,
        stdio: [ends.input.as_raw_fd(), ends.out.as_raw_fd(), ends.error.as_raw_fd()],
        terminal: program.terminal.is_some(),
    })
}

fn candidates(name: &str, environment: &[(String, String)]) -> Vec<String> {
    if name.contains('/') {
        return vec![name.to_owned()];
    }
    let path =
        environment.iter().find(|(key, _)| key == "PATH").map_or(DEFAULT_PATH, |(_, path)| path);
    let place = |directory: &str| match directory {
        "" => format!("./{name}"),
        directory => format!("{directory}/{name}"),
    };
    path.split(':').map(place).collect()
}

/// Three pipes.
pub(crate) fn pipes(identity: &Identity) -> Result<(Ends, ProgramEnds), Errno> {
    let (program_input, input) = pipe_with(PipeFlags::CLOEXEC)?;
    let (out, program_out) = pipe_with(PipeFlags::CLOEXEC)?;
    let (error, program_error) = pipe_with(PipeFlags::CLOEXEC)?;
    leave_some(&program_error)?;
    for end in [&input, &out, &error] {
        unblock(end)?;
    }
    for end in [&program_input, &program_out, &program_error] {
        own(end, identity);
    }
    let ends = Ends { input, out, error: Some(error) };
    Ok((ends, ProgramEnds { input: program_input, out: program_out, error: program_error }))
}

/// A terminal: one descriptor for all.
pub(crate) fn terminal(size: Size, identity: &Identity) -> Result<(Ends, ProgramEnds), Errno> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let guests = openpt(flags)?;
    unlockpt(&guests)?;
    let programs = match ioctl_tiocgptpeer(&guests, flags) {
        Ok(programs) => programs,
        // Not every kernel, nor every imitation of one, knows this call.
        Err(_unknown) => {
            let name = ptsname(&guests, Vec::new())?;
            open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?
        }
    };
    resize(&guests, size)?;
    own(&programs, identity);
    unblock(&guests)?;
    let ends = Ends { input: dup_above(&guests)?, out: guests, error: None };
    let (out, error) = (dup_above(&programs)?, dup_above(&programs)?);
    leave_some(&error)?;
    Ok((ends, ProgramEnds { input: programs, out, error }))
}

pub(crate) fn resize(terminal: impl AsFd, size: Size) -> Result<(), Errno> {
    tcsetwinsize(
        terminal,
        Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 },
    )
}

pub(crate) fn unblock(fd: impl AsFd) -> Result<(), Errno> {
    let flags = fcntl_getfl(&fd)?;
    fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
}

/// The same, once more. Descriptors 0 to 2 are always taken, so that it is never one of them.
pub(crate) fn dup_above(fd: impl AsFd) -> Result<OwnedFd, Errno> {
    let copy = dup(fd)?;
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::CLOEXEC)?;
    Ok(copy)
}

/// The last descriptors are for the host's next connection, and for looking at processes that must be killed.
/// The kernel always gives the lowest number that is free.
pub(crate) fn leave_some(newest: &OwnedFd) -> Result<(), Errno> {
    let last = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let newest = u64::try_from(newest.as_raw_fd()).unwrap_or_default();
    if newest.saturating_add(RESERVED) < last { Ok(()) } else { Err(Errno::MFILE) }
}

/// Gives it to the user, who could not open `/dev/stdout` or the terminal by its name otherwise.
fn own(fd: impl AsFd, identity: &Identity) {
    if let Some(id) = identity.owner() {
        // The program runs without it, too.
        let _refused = fchown(fd, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)));
    }
}
