//! Carries frames between the server and the guest.
//!
//! The guest has one stream for all its life, and servers come and go. So only whole frames pass: half a frame of a
//! server that died is dropped, and a new server begins with the answer to its own greeting, because what the guest
//! said before that was said to somebody else. Greetings are counted for this; nothing else of a frame is looked at.

use std::{
    collections::VecDeque,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read, write},
    net::{SocketFlags, accept_with},
};

use super::frames::{Frames, TooLong, kind};

/// With more than this unsent to one side, the other is not heard.
const ENOUGH: usize = 512 * 1024;

const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Relay {
    listener: OwnedFd,
    to_guest: OwnedFd,
    from_guest: OwnedFd,
    unsent: VecDeque<u8>,
    heard: Frames,
    server: Option<Server>,
    limit: usize,
    /// What a greeting begins with, on both ways.
    greeting: Option<u8>,
    greeted: u64,
    answered: u64,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct Server {
    socket: OwnedFd,
    heard: Frames,
    unsent: VecDeque<u8>,
    manners: Manners,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    HasNotGreeted,
    HasGreeted,
}

/// The guest has gone, or its stream cannot be read on.
#[derive(Debug)]
pub(super) struct Over;

/// Somebody has hung up.
struct Closed;

impl Relay {
    /// All descriptors are made not to block.
    pub(super) fn new(
        listener: OwnedFd,
        to_guest: OwnedFd,
        from_guest: OwnedFd,
        limit: usize,
    ) -> rustix::io::Result<Self> {
        for fd in [&listener, &to_guest, &from_guest] {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(Self {
            listener,
            to_guest,
            from_guest,
            unsent: VecDeque::new(),
            heard: Frames::new(limit),
            server: None,
            limit,
            greeting: None,
            greeted: 0,
            answered: 0,
            scratch: Vec::with_capacity(PIECE),
        })
    }

    /// Greets the guest before any server does, and waits for its answer.
    pub(super) fn greet(&mut self, greeting: &[u8], patience: &Timespec) -> Result<(), Over> {
        self.greeting = kind(greeting);
        self.pass_on(greeting);
        self.send_to_guest().map_err(|Closed| Over)?;
        while self.answered < self.greeted {
            let mut polled = [PollFd::new(&self.from_guest, PollFlags::IN)];
            match poll(&mut polled, Some(patience)) {
                Ok(0) => return Err(Over),
                Ok(_) => self.hear_guest()?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    /// Carries until the guest has gone.
    pub(super) fn run(mut self) -> Over {
        loop {
            if let Err(over) = self.turn() {
                return over;
            }
        }
    }

    fn turn(&mut self) -> Result<(), Over> {
        let full = self.server.as_ref().is_some_and(|server| server.unsent.len() >= ENOUGH);
        let hear_guest = if full { PollFlags::empty() } else { PollFlags::IN };
        let tell_guest = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let mut polled = vec![
            PollFd::new(&self.listener, PollFlags::IN),
            PollFd::new(&self.from_guest, hear_guest),
            PollFd::new(&self.to_guest, tell_guest),
        ];
        if let Some(server) = &self.server {
            let mut wanted = PollFlags::empty();
            if self.unsent.len() < ENOUGH {
                wanted |= PollFlags::IN;
            }
            if !server.unsent.is_empty() {
                wanted |= PollFlags::OUT;
            }
            polled.push(PollFd::new(&server.socket, wanted));
        }
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR | Errno::NOMEM) => {}
            Err(_) => return Err(Over),
        }
        let mut ready = polled.iter().map(|one| !one.revents().is_empty());
        let mut next = || ready.next().unwrap_or(false);
        let (listener, from_guest, to_guest, server) = (next(), next(), next(), next());
        drop(polled);
        if to_guest {
            self.send_to_guest().map_err(|Closed| Over)?;
        }
        if from_guest {
            self.hear_guest()?;
        }
        if server && self.hear_server().is_err() {
            self.server = None;
        }
        if listener {
            self.accept();
        }
        Ok(())
    }

    /// The newest connection is the one that counts.
    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = accept_with(&self.listener, flags) {
            self.server = Some(Server {
                socket,
                heard: Frames::new(self.limit),
                unsent: VecDeque::new(),
                manners: Manners::HasNotGreeted,
            });
        }
    }

    fn hear_guest(&mut self) -> Result<(), Over> {
        receive(&self.from_guest, &mut self.scratch).map_err(|Closed| Over)?;
        self.heard.push(&self.scratch);
        while let Some(frame) = self.heard.take().map_err(|TooLong| Over)? {
            if kind(&frame) == self.greeting {
                // One answer too many goes to the server, which then knows what to think of this guest.
                self.answered = self.greeted.min(self.answered + 1);
            }
            let is_for_this_server = self.answered == self.greeted;
            if let Some(server) = &mut self.server
                && is_for_this_server
                && server.manners == Manners::HasGreeted
            {
                server.unsent.extend(&frame);
            }
        }
        if let Some(server) = &mut self.server
            && send(&server.socket, &mut server.unsent).is_err()
        {
            self.server = None;
        }
        Ok(())
    }

    fn hear_server(&mut self) -> Result<(), Closed> {
        let Some(server) = &mut self.server else { return Ok(()) };
        send(&server.socket, &mut server.unsent)?;
        if self.unsent.len() >= ENOUGH {
            return Ok(());
        }
        receive(&server.socket, &mut self.scratch)?;
        server.heard.push(&self.scratch);
        let mut whole = Vec::new();
        while let Some(frame) = server.heard.take().map_err(|TooLong| Closed)? {
            if kind(&frame) == self.greeting {
                server.manners = Manners::HasGreeted;
            }
            whole.push(frame);
        }
        for frame in whole {
            self.pass_on(&frame);
        }
        // When the guest has gone, its other pipe says so.
        let _gone = self.send_to_guest();
        Ok(())
    }

    fn pass_on(&mut self, frame: &[u8]) {
        if kind(frame) == self.greeting {
            self.greeted += 1;
        }
        self.unsent.extend(frame);
    }

    fn send_to_guest(&mut self) -> Result<(), Closed> {
        send(&self.to_guest, &mut self.unsent)
    }
}

/// Takes what has arrived.
fn receive(from: impl AsFd, into: &mut Vec<u8>) -> Result<(), Closed> {
    into.clear();
    match read(from, spare_capacity(into)) {
        Ok(0) => Err(Closed),
        Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(_broken) => Err(Closed),
    }
}

/// Sends as much as can be sent now.
fn send(to: impl AsFd, unsent: &mut VecDeque<u8>) -> Result<(), Closed> {
    while !unsent.is_empty() {
        let (first, _second) = unsent.as_slices();
        match write(&to, first) {
            Ok(sent) => drop(unsent.drain(..sent)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(_broken) => return Err(Closed),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
