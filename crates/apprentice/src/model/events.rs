//! Server-sent events, as far as models use them: the text after `data:`, until an empty line.

use super::Failure;

/// More than this in one event is no event of a model.
const LARGEST_EVENT: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    event: Vec<u8>,
    ready: std::collections::VecDeque<Vec<u8>>,
}

impl Events {
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() + self.event.len() > LARGEST_EVENT {
                return Err(Failure::bad_answer("an event is too large"));
            }
            if self.line.last() == Some(&b'\n') {
                self.line_ends();
            }
        }
        Ok(())
    }

    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    fn line_ends(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if !event.is_empty() {
                self.ready.push_back(event);
            }
            return;
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.event.is_empty() {
                self.event.push(b'\n');
            }
            self.event.extend_from_slice(data.trim_ascii_start());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(parts: &[&[u8]]) -> Vec<String> {
        let mut events = Events::default();
        let mut all = Vec::new();
        for part in parts {
            events.feed(part).unwrap();
            while let Some(event) = events.next() {
                all.push(String::from_utf8_lossy(&event).into_owned());
            }
        }
        all
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = Events::default();
        let part = vec![b'x'; 1 << 20];
        let outcome = (0..10).try_for_each(|_| events.feed(&part));
        assert!(outcome.is_err());
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_bytes_are_cut(at in 0_usize..70) {
            let text = b"event: x\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: ping\n\ndata:[DONE]\n\ndata: cut";
            let (first, second) = text.split_at(at.min(text.len()));
            prop_assert_eq!(read(&[first, second]), ["{\"a\":\n1}", "[DONE]"]);
        }
    }
}
