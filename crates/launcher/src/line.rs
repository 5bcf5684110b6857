//! The line between the launcher and a first process that is not yet a guest.
//!
//! The launcher sends the plan, then the descriptors that go with it, then a nod when the process is in its control groups;
//! in between, both sides work. The first process answers only when something fails, or when it is about to become the
//! guest. The line closes by itself when it has.

use std::{
    io::{self, ErrorKind},
    os::fd::{AsFd, OwnedFd},
};

use launcher::{
    frame::FRAME_LIMIT,
    plan::{Failure, Launch},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair},
};
use serde::{Deserialize, Serialize};

/// What a first process says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The walls stand; the next thing is the guest.
    Ready,
    Failed(Failure),
}

/// The two ends.
pub(crate) fn open() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Tells a first process that something was done for it.
pub(crate) fn nod(line: impl AsFd) -> io::Result<()> {
    rustix::net::send(line, &[0], SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for the launcher's nod.
pub(crate) fn await_nod(line: impl AsFd) -> io::Result<()> {
    let (length, _whole) = rustix::net::recv(line, &mut [0], RecvFlags::empty())?;
    if length == 0 { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
}

/// Sends the plan.
pub(crate) fn send_plan(line: impl AsFd, launch: &Launch) -> io::Result<()> {
    let plan = postcard::to_stdvec(launch).map_err(io::Error::other)?;
    rustix::net::send(line, &plan, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for the plan. `None` when the launcher has gone.
pub(crate) fn receive_plan(line: impl AsFd) -> io::Result<Option<Launch>> {
    let mut plan = vec![0; FRAME_LIMIT];
    let (length, _whole) = rustix::net::recv(line, &mut plan, RecvFlags::empty())?;
    match plan.get(..length) {
        None | Some([]) => Ok(None),
        Some(plan) => postcard::from_bytes(plan).map(Some).map_err(io::Error::other),
    }
}

/// Says a word.
pub(crate) fn say(line: impl AsFd, word: &Word) -> io::Result<()> {
    let word = postcard::to_stdvec(word).map_err(io::Error::other)?;
    rustix::net::send(line, &word, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Why a first process has failed, if it has already said so.
pub(crate) fn last_word(line: impl AsFd) -> Option<Failure> {
    let mut polled = [PollFd::new(&line, PollFlags::IN)];
    let ready = poll(&mut polled, Some(&Timespec::default())).ok()?;
    if ready == 0 {
        return None;
    }
    match hear(line) {
        Ok(Some(Word::Failed(failure))) => Some(failure),
        Ok(Some(Word::Ready) | None) | Err(_) => None,
    }
}

/// The next word. `None` when the line is closed.
pub(crate) fn hear(line: impl AsFd) -> io::Result<Option<Word>> {
    let mut word = [0; 4096];
    let mut receive = || rustix::net::recv(&line, &mut word, RecvFlags::empty());
    let (length, _whole) = match receive() {
        // It has ended without reading its plan. What it said before still waits.
        Err(Errno::CONNRESET) => receive()?,
        other => other?,
    };
    match word.get(..length) {
        None | Some([]) => Ok(None),
        Some(word) => postcard::from_bytes(word).map(Some).map_err(io::Error::other),
    }
}
