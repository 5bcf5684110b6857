//! What has arrived on one channel and was not taken yet.
//!
//! Bounded by the credit that was given, whatever the guest sends.

use std::collections::VecDeque;

use guest::protocol::{CHUNK, Ending, INPUT_WINDOW, Refusal, Stream, Usage};

/// How many bytes a guest may send ahead of the reader.
pub(super) const WINDOW: u64 = 192 * 1024;

/// What was taken last may not have reached the caller yet, so the guest keeps it for the next server: one chunk on its way and
/// one in the caller's queue. Its ring has room for that beside the window.
const UNSURE: u64 = 2 * CHUNK as u64;

/// How a job ended, as the guest tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct Inbox {
    chunks: VecDeque<(Stream, Vec<u8>)>,
    /// Where the next output must begin; unknown until the first, when attached to a running job.
    received: u64,
    taken: u64,
    credit: u64,
    /// Where input has got to, and how far the guest says it may.
    input_sent: u64,
    input_credit: u64,
    answered: Option<Result<(), Refusal>>,
    ended: Option<Ended>,
}

impl Inbox {
    /// For a job whose output is taken from `from` on.
    pub(super) fn new(from: u64) -> Self {
        Self { received: from, taken: from, credit: from.saturating_add(WINDOW), ..Self::default() }
    }

    /// For a job that was begun over an earlier connection. What that gave credit for holds.
    pub(super) fn resumed(from: u64, input_sent: u64) -> Self {
        Self { credit: from.saturating_add(WINDOW + UNSURE), input_sent, ..Self::new(from) }
    }

    /// Input that is on its way, or was before this connection. Returns how much more the guest takes.
    pub(super) fn send_input(&mut self, upto: u64) {
        self.input_sent = self.input_sent.max(upto);
    }

    pub(super) fn input_room(&self, sent: u64) -> u64 {
        self.input_credit.saturating_sub(sent)
    }

    /// A guest holds no more than its window beyond what was sent; one that asks for more would have us pile it up.
    pub(super) fn take_input(&mut self, upto: u64) -> Result<(), String> {
        self.must_be_open("took input")?;
        if upto > self.input_sent.saturating_add(INPUT_WINDOW as u64) {
            return Err(format!(
                "it takes input up to {upto}, of which {} was sent",
                self.input_sent
            ));
        }
        self.input_credit = self.input_credit.max(upto);
        Ok(())
    }

    fn must_be_open(&self, what: &str) -> Result<(), String> {
        match (&self.answered, &self.ended) {
            (Some(Ok(())), None) => Ok(()),
            (None, _) => Err(format!("a job {what} before it was opened")),
            (Some(Err(_)), _) => Err(format!("a job {what} after it was refused")),
            (Some(Ok(())), Some(_)) => Err(format!("a job {what} after its end")),
        }
    }

    pub(super) fn credit(&self) -> (u64, u64) {
        (self.taken, self.credit)
    }

    pub(super) fn answer(&mut self, answer: Result<(), Refusal>) -> Result<(), String> {
        if self.answered.is_some() {
            return Err("a job was answered twice".to_owned());
        }
        self.answered = Some(answer);
        Ok(())
    }

    pub(super) fn answered(&self) -> Option<&Result<(), Refusal>> {
        self.answered.as_ref()
    }

    pub(super) fn output(
        &mut self,
        stream: Stream,
        offset: u64,
        bytes: Vec<u8>,
    ) -> Result<(), String> {
        self.must_be_open("told output")?;
        let length = bytes.len() as u64;
        if offset != self.received {
            return Err(format!("output at {offset}, where {} was next", self.received));
        }
        if bytes.is_empty() || bytes.len() > CHUNK {
            return Err(format!("output of {length} bytes"));
        }
        // Checked, and not saturating: at the end of all numbers, every byte would seem to fit.
        let received = self.received.checked_add(length).filter(|upto| *upto <= self.credit);
        self.received = received.ok_or("more output than it had credit for")?;
        // Many small writes become few chunks, so that the queue is bounded by bytes alone.
        match self.chunks.back_mut() {
            Some((last, chunk)) if *last == stream && chunk.len() + bytes.len() <= CHUNK => {
                chunk.extend(bytes);
            }
            Some(_) | None => self.chunks.push_back((stream, bytes)),
        }
        Ok(())
    }

    pub(super) fn end(&mut self, ended: Ended, output: u64) -> Result<(), String> {
        self.must_be_open("ended")?;
        if output != self.received {
            return Err(format!("an end after {output} bytes, of which {} came", self.received));
        }
        self.ended = Some(ended);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.chunks.iter().map(|(_, chunk)| chunk.len()).sum()
    }

    pub(super) fn take(&mut self) -> Option<(Stream, Vec<u8>)> {
        let (stream, chunk) = self.chunks.pop_front()?;
        self.taken = self.taken.saturating_add(chunk.len() as u64);
        Some((stream, chunk))
    }

    /// New credit, if enough was taken to be worth a frame.
    pub(super) fn renew(&mut self) -> Option<(u64, u64)> {
        let credit = self.taken.saturating_add(WINDOW);
        if self.ended.is_some() || credit.saturating_sub(self.credit) < WINDOW / 2 {
            return None;
        }
        self.credit = credit;
        Some((self.taken.saturating_sub(UNSURE), credit))
    }

    pub(super) fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref().filter(|_| self.chunks.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ended() -> Ended {
        Ended { ending: Ending::Exited(0), usage: Usage::default(), dropped: 0 }
    }

    #[test]
    fn output_must_follow_and_have_credit() {
        let mut inbox = Inbox::new(10);
        assert!(inbox.output(Stream::Out, 10, vec![1]).is_err(), "before it was opened");
        inbox.answer(Ok(())).unwrap();
        assert!(inbox.output(Stream::Out, 9, vec![1]).is_err());
        assert!(inbox.output(Stream::Out, 10, vec![]).is_err());
        assert_eq!(inbox.output(Stream::Out, 10, vec![1; 5]), Ok(()));
        assert_eq!(inbox.output(Stream::Out, 15, vec![1; 5]), Ok(()));
        assert_eq!(inbox.take(), Some((Stream::Out, vec![1; 10])));
        assert!(inbox.end(ended(), 19).is_err());
        assert_eq!(inbox.end(ended(), 20), Ok(()));
        assert!(inbox.end(ended(), 20).is_err());
        assert!(inbox.output(Stream::Out, 20, vec![1]).is_err());
    }

    proptest! {
        #[test]
        fn no_guest_makes_it_keep_more_than_the_window(sizes in prop::collection::vec(1usize..CHUNK, 1..64)) {
            let mut inbox = Inbox::new(0);
            inbox.answer(Ok(())).unwrap();
            let mut at = 0;
            for size in sizes {
                if inbox.output(Stream::Error, at, vec![0; size]).is_err() {
                    break;
                }
                at += size as u64;
            }
            prop_assert!(at <= WINDOW);
            let kept: usize = inbox.chunks.iter().map(|(_, chunk)| chunk.len()).sum();
            prop_assert_eq!(kept as u64, at);
        }
    }
}
