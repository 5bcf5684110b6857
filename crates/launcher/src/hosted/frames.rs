//! Finds whole frames in a stream, and knows nothing about what is in them but the first byte.

/// Bytes that have arrived, until they are a whole frame.
#[derive(Debug)]
pub(super) struct Frames {
    buffer: Vec<u8>,
    limit: usize,
}

/// A frame that is longer than any may be. The stream cannot be read on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

const HEADER: usize = 4;

impl Frames {
    pub(super) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), limit }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, with its header.
    pub(super) fn take(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let Some(header) = self.buffer.first_chunk::<HEADER>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        if length > self.limit {
            return Err(TooLong);
        }
        if self.buffer.len() < HEADER + length {
            return Ok(None);
        }
        let rest = self.buffer.split_off(HEADER + length);
        Ok(Some(std::mem::replace(&mut self.buffer, rest)))
    }
}

/// Which message it is: greetings are told from others by this.
pub(super) fn kind(frame: &[u8]) -> Option<u8> {
    frame.get(HEADER).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_come_out_whole_however_they_arrive(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            piece in 1_usize..30,
        ) {
            let framed: Vec<Vec<u8>> = bodies
                .iter()
                .map(|body| [&u32::try_from(body.len()).unwrap().to_le_bytes(), &body[..]].concat())
                .collect();
            let mut frames = Frames::new(40);
            let mut taken = Vec::new();
            for bytes in framed.concat().chunks(piece) {
                frames.push(bytes);
                while let Some(frame) = frames.take().unwrap() {
                    prop_assert_eq!(kind(&frame), frame.get(4).copied());
                    taken.push(frame);
                }
            }
            prop_assert_eq!(taken, framed);
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_never_waited_for() {
        let mut frames = Frames::new(8);
        frames.push(&9_u32.to_le_bytes());
        assert_eq!(frames.take(), Err(TooLong));
    }
}
