//! What a channel gives out: how much was read, how much may be sent, how much was dropped.

use crate::{
    protocol::{CHUNK, Refusal, Stream},
    ring::Ring,
};

/// The output of one channel.
///
/// Invariant: `kept_from <= sent <= end`, and nothing is sent beyond what the host allowed.
#[derive(Debug)]
pub struct Outflow {
    ring: Ring,
    sent: u64,
    upto: u64,
    limit: u64,
    dropped: u64,
}

impl Outflow {
    /// Output beyond `limit` will be dropped.
    pub fn new(limit: u64) -> Self {
        Self { ring: Ring::default(), sent: 0, upto: 0, limit, dropped: 0 }
    }

    /// How many bytes can be taken now. What will be dropped needs no room.
    pub fn room(&self) -> usize {
        if self.ring.end() >= self.limit { CHUNK } else { self.ring.room().min(CHUNK) }
    }

    /// Takes what a program has written. Not more than [`Outflow::room`] should be offered; the rest is counted
    /// as dropped.
    pub fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let left =
            usize::try_from(self.limit.saturating_sub(self.ring.end())).unwrap_or(usize::MAX);
        let within = bytes.get(..left).unwrap_or(bytes);
        let taken = self.ring.push(stream, within);
        self.dropped += (bytes.len() - taken) as u64;
    }

    /// What the host allows. Both numbers only grow; a smaller one is old news.
    pub fn credit(&mut self, taken: u64, upto: u64) {
        self.upto = self.upto.max(upto);
        // A host cannot have taken what it was not sent.
        self.ring.release(taken.min(self.sent));
    }

    /// Begins again at `from`.
    pub fn rewind(&mut self, from: u64) -> Result<(), Refusal> {
        let kept_from = self.ring.kept_from();
        if from < kept_from || from > self.ring.end() {
            return Err(Refusal::TooLate { kept_from });
        }
        self.sent = from;
        Ok(())
    }

    /// The next bytes to send, with their place.
    pub fn next_chunk(&mut self) -> Option<(Stream, u64, Vec<u8>)> {
        let allowed = self.upto.checked_sub(self.sent).filter(|allowed| *allowed > 0)?;
        let (stream, bytes) = self.ring.chunk(self.sent, allowed)?;
        let offset = self.sent;
        self.sent += bytes.len() as u64;
        Some((stream, offset, bytes))
    }

    /// Forgets what was not sent.
    pub fn discard(&mut self) {
        let end = self.ring.end();
        self.dropped += end.saturating_sub(self.sent);
        self.sent = end;
        self.ring.release(end);
    }

    pub fn all_sent(&self) -> bool {
        self.sent >= self.ring.end()
    }

    /// All output so far, without what was dropped for the limit.
    pub fn end(&self) -> u64 {
        self.ring.end()
    }

    pub fn kept_from(&self) -> u64 {
        self.ring.kept_from()
    }

    pub fn kept(&self) -> usize {
        self.ring.kept()
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
