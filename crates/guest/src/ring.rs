//! The last output of a channel, kept until the host has taken it.
//!
//! Both streams of a program share one ring and one count, so that their order is kept.
//!
//! ```text
//!   0 …  kept_from ───────────────▶ end
//!          │ Out 120 │ Error 7 │ Out 64 │      never more than RING bytes, nor RUNS runs
//! ```
//!
//! Invariant: the lengths of all runs together are the number of bytes kept.

use std::collections::VecDeque;

use crate::protocol::{CHUNK, RING, Stream};

/// A program that writes single bytes to both streams in turn must not make the list of runs larger than the
/// bytes that it describes.
const RUNS: usize = 4096;

/// An empty ring gives a buffer larger than this back.
const IDLE: usize = 16 * 1024;

#[derive(Debug, Default)]
pub struct Ring {
    bytes: VecDeque<u8>,
    runs: VecDeque<Run>,
    kept_from: u64,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    stream: Stream,
    length: usize,
}

impl Ring {
    /// The first byte that is kept.
    pub fn kept_from(&self) -> u64 {
        self.kept_from
    }

    /// Where the next byte will stand.
    pub fn end(&self) -> u64 {
        self.kept_from + self.bytes.len() as u64
    }

    /// How many bytes are kept.
    pub fn kept(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes can be added.
    pub fn room(&self) -> usize {
        if self.runs.len() >= RUNS {
            return 0;
        }
        RING.saturating_sub(self.bytes.len())
    }

    /// Adds as much as there is room for, and says how much that was.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        let added = bytes.get(..self.room()).unwrap_or(bytes);
        if added.is_empty() {
            return 0;
        }
        self.bytes.extend(added);
        match self.runs.back_mut() {
            Some(run) if run.stream == stream => run.length += added.len(),
            Some(_) | None => self.runs.push_back(Run { stream, length: added.len() }),
        }
        added.len()
    }

    /// Forgets what lies below `taken`.
    pub fn release(&mut self, taken: u64) {
        let taken = taken.min(self.end());
        let gone = usize::try_from(taken.saturating_sub(self.kept_from)).unwrap_or(usize::MAX);
        self.bytes.drain(..gone.min(self.bytes.len()));
        self.kept_from = self.kept_from.max(taken);
        let mut left = gone;
        while let Some(run) = self.runs.front_mut() {
            if run.length > left {
                run.length -= left;
                break;
            }
            left -= run.length;
            self.runs.pop_front();
        }
        if self.bytes.is_empty() && self.bytes.capacity() > IDLE {
            self.bytes = VecDeque::new();
            self.runs = VecDeque::new();
        }
    }

    /// The bytes of one stream that stand at `from`, at most `most` and at most a chunk of them.
    pub fn chunk(&self, from: u64, most: u64) -> Option<(Stream, Vec<u8>)> {
        let begin = usize::try_from(from.checked_sub(self.kept_from)?).ok()?;
        let mut before = 0;
        for run in &self.runs {
            let after = before + run.length;
            if begin < after {
                let most = usize::try_from(most).unwrap_or(CHUNK).min(CHUNK);
                let end = after.min(begin.saturating_add(most)).min(self.bytes.len());
                let bytes = self.copy(begin, end);
                return (!bytes.is_empty()).then_some((run.stream, bytes));
            }
            before = after;
        }
        None
    }

    fn copy(&self, begin: usize, end: usize) -> Vec<u8> {
        let (front, back) = self.bytes.as_slices();
        let mut copy = Vec::with_capacity(end.saturating_sub(begin));
        let split = front.len();
        copy.extend_from_slice(front.get(begin.min(split)..end.min(split)).unwrap_or_default());
        let back_range = begin.saturating_sub(split)..end.saturating_sub(split);
        copy.extend_from_slice(back.get(back_range).unwrap_or_default());
        copy
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
