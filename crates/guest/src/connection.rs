//! The byte stream to the host: whole asks in, tells out, never blocking.

use std::{
    collections::VecDeque,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use guest::protocol::{Ask, Decoder, FrameError, Tell, encode};
use rustix::{
    buffer::spare_capacity,
    io::{Errno, read, write},
};

/// With more than this unsent, no more output is taken from the channels.
const ENOUGH: usize = 128 * 1024;

/// With more than this unsent, no more asks are read: who does not listen is not answered.
const TOO_MUCH: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    input: OwnedFd,
    /// `None`: the same as the input.
    output: Option<OwnedFd>,
    decoder: Decoder,
    unsent: VecDeque<u8>,
}

/// Nobody is there any more.
#[derive(Debug)]
pub(crate) struct Closed;

impl Connection {
    pub(crate) fn socket(socket: OwnedFd) -> Self {
        Self { input: socket, output: None, decoder: Decoder::default(), unsent: VecDeque::new() }
    }

    pub(crate) fn pair(input: OwnedFd, output: OwnedFd) -> Self {
        Self { output: Some(output), ..Self::socket(input) }
    }

    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(crate) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_ref().unwrap_or(&self.input).as_fd()
    }

    pub(crate) fn wants_to_read(&self) -> bool {
        self.unsent.len() < TOO_MUCH
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.unsent.len() < ENOUGH
    }

    /// Takes what has arrived.
    pub(crate) fn receive(&mut self, scratch: &mut Vec<u8>) -> Result<(), Closed> {
        scratch.clear();
        match read(&self.input, spare_capacity(scratch)) {
            Ok(0) => Err(Closed),
            Ok(_length) => {
                self.decoder.push(scratch);
                Ok(())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_broken) => Err(Closed),
        }
    }

    pub(crate) fn next_ask(&mut self) -> Result<Option<Ask>, FrameError> {
        self.decoder.next()
    }

    /// Puts a message behind those that wait to be sent.
    pub(crate) fn tell(&mut self, tell: &Tell) {
        // All our messages fit into a frame.
        if let Ok(frame) = encode(tell) {
            self.unsent.extend(frame);
        }
    }

    /// Sends as much as can be sent now.
    pub(crate) fn send(&mut self) -> Result<(), Closed> {
        while !self.unsent.is_empty() {
            let (front, _) = self.unsent.as_slices();
            match write(self.output(), front) {
                Ok(length) => {
                    self.unsent.drain(..length);
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(_broken) => return Err(Closed),
            }
        }
        if self.unsent.capacity() > ENOUGH / 8 {
            self.unsent = VecDeque::new();
        }
        Ok(())
    }
}
