//! What a channel takes in: bytes that wait for a program to read them.

use std::collections::VecDeque;

use crate::protocol::INPUT_WINDOW;

/// Input that stands beyond what has arrived: something before it was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("input at {offset} after input up to {taken}")]
pub struct Gap {
    pub offset: u64,
    pub taken: u64,
}

/// The input of one channel. Never holds more than [`INPUT_WINDOW`] bytes.
#[derive(Debug, Default)]
pub struct Inflow {
    waiting: VecDeque<u8>,
    taken: u64,
    told: u64,
    ended: bool,
    deaf: bool,
}

impl Inflow {
    /// Takes what is new of `bytes`, as far as there is room.
    pub fn offer(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Gap> {
        let known = self.taken.checked_sub(offset).ok_or(Gap { offset, taken: self.taken })?;
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let fresh = bytes.get(known..).unwrap_or_default();
        if self.ended {
            return Ok(());
        }
        if self.deaf {
            self.taken += fresh.len() as u64;
            return Ok(());
        }
        let room = INPUT_WINDOW.saturating_sub(self.waiting.len());
        let fresh = fresh.get(..room).unwrap_or(fresh);
        self.waiting.extend(fresh);
        self.taken += fresh.len() as u64;
        Ok(())
    }

    /// No more will come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Nobody reads any more: what waits and what comes is thrown away.
    pub fn deafen(&mut self) {
        self.deaf = true;
        self.waiting = VecDeque::new();
    }

    /// What to write next.
    pub fn waiting(&self) -> &[u8] {
        let (front, back) = self.waiting.as_slices();
        if front.is_empty() { back } else { front }
    }

    /// That many of the waiting bytes were written.
    pub fn written(&mut self, count: usize) {
        self.waiting.drain(..count.min(self.waiting.len()));
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }

    /// Whether everything was written and nothing more will come.
    pub fn is_finished(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }

    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Says again from the beginning how much may come.
    pub fn forget_told(&mut self) {
        self.told = 0;
    }

    /// How far input may come, if that is worth telling.
    pub fn credit(&mut self) -> Option<u64> {
        let free = INPUT_WINDOW.saturating_sub(self.waiting.len());
        let upto = self.taken + free as u64;
        let worth = upto.saturating_sub(self.told) >= (INPUT_WINDOW / 2) as u64;
        (worth && !self.ended).then(|| {
            self.told = upto;
            upto
        })
    }
}
