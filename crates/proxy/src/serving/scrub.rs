//! Takes values out of an answer that must not come back: what a host reflects of a credential.
//!
//! Looked for are the value, its spellings in URLs and JSON, and its base64 in both alphabets wherever it begins within other bytes,
//! as in the rendered form of Basic. What is found is covered with asterisks, so that lengths stay as they are. Bytes are held back only
//! while they could be the beginning of a value, so a stream is not delayed.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use crate::ask::Secret;

/// What is shorter is not looked for: it would be found everywhere.
const SHORTEST: usize = 6;

/// Looks for values in one stream of bytes.
#[derive(Debug)]
pub(super) struct Scrubber {
    patterns: Vec<Vec<u8>>,
    /// Which bytes a pattern begins with.
    begins: Box<[bool; 256]>,
    held: Vec<u8>,
}

impl Scrubber {
    pub(super) fn new(secrets: &[Secret]) -> Self {
        let mut patterns: Vec<Vec<u8>> =
            secrets.iter().flat_map(|secret| spellings(&secret.0)).collect();
        patterns.retain(|pattern| pattern.len() >= SHORTEST);
        patterns.sort_unstable();
        patterns.dedup();
        let mut begins = Box::new([false; 256]);
        for first in patterns.iter().filter_map(|pattern| pattern.first()) {
            if let Some(begin) = begins.get_mut(usize::from(*first)) {
                *begin = true;
            }
        }
        Self { patterns, begins, held: Vec::new() }
    }

    /// Whether there is anything to look for.
    pub(super) fn is_idle(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Covers what is found in `bytes`, with what was held back before them. Gives what can be passed on.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(bytes);
        let clean = self.cover(&mut text, End::Open);
        self.held = text.split_off(clean);
        text
    }

    /// The stream has ended: gives what was held back.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held);
        self.cover(&mut text, End::Closed);
        text
    }

    /// The same for something whole, like a header.
    pub(super) fn whole(&self, bytes: &[u8]) -> Vec<u8> {
        let mut text = bytes.to_vec();
        self.cover(&mut text, End::Closed);
        text
    }

    /// Covers, and tells how many bytes cannot be part of anything that is still to come.
    fn cover(&self, text: &mut [u8], end: End) -> usize {
        let mut at = 0;
        while let Some(rest) = text.get_mut(at..).filter(|rest| !rest.is_empty()) {
            let Some(begin) = rest.iter().position(|byte| self.may_begin(*byte)) else {
                return at + rest.len();
            };
            at += begin;
            let here = rest.get_mut(begin..).unwrap_or_default();
            match self.look(here, end) {
                Look::Nothing => at += 1,
                Look::Maybe => return at,
                Look::Found(length) => {
                    here.iter_mut().take(length).for_each(|byte| *byte = b'*');
                    at += length;
                }
            }
        }
        at
    }

    fn may_begin(&self, byte: u8) -> bool {
        self.begins.get(usize::from(byte)).is_some_and(|begins| *begins)
    }

    fn look(&self, here: &[u8], end: End) -> Look {
        let mut found = 0;
        for pattern in &self.patterns {
            if here.starts_with(pattern) {
                found = found.max(pattern.len());
            } else if end == End::Open && pattern.starts_with(here) {
                return Look::Maybe;
            }
        }
        if found > 0 { Look::Found(found) } else { Look::Nothing }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Closed,
}

enum Look {
    Nothing,
    Maybe,
    Found(usize),
}

fn spellings(value: &str) -> Vec<Vec<u8>> {
    let mut out = vec![value.as_bytes().to_vec(), percent(value, CAPITAL), percent(value, SMALL)];
    if let Ok(json) = serde_json::to_string(value) {
        out.push(json.trim_matches('"').as_bytes().to_vec());
    }
    for before in 0..3 {
        out.extend(
            [
                STANDARD_NO_PAD.encode(within(value, before)),
                URL_SAFE_NO_PAD.encode(within(value, before)),
            ]
            .map(|encoded| {
                // The first and last letters depend on what stands around the value.
                let skip = match before {
                    0 => 0,
                    1 => 2,
                    _ => 3,
                };
                let whole = (before + value.len()) / 3 * 4;
                encoded.as_bytes().get(skip..whole).unwrap_or_default().to_vec()
            }),
        );
    }
    out
}

/// The value with so many bytes before it.
fn within(value: &str, before: usize) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    bytes
}

/// As it stands in a URL, with these digits.
fn percent(value: &str, digits: &[u8; 16]) -> Vec<u8> {
    let digit = |half: u8| digits.get(usize::from(half)).copied().unwrap_or(b'0');
    let mut out = Vec::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte);
        } else {
            out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

const CAPITAL: &[u8; 16] = b"0123456789ABCDEF";
const SMALL: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const VALUE: &str = "s3cr3t/value+with=signs";

    fn scrubber() -> Scrubber {
        Scrubber::new(&[Secret(VALUE.to_owned())])
    }

    #[test]
    fn every_spelling_is_covered_and_lengths_stay() {
        let basic = STANDARD.encode(format!("x-access-token:{VALUE}"));
        let twice = STANDARD.encode(format!("ab{VALUE}cd"));
        for (what, core) in [
            (VALUE.to_owned(), VALUE.to_owned()),
            (String::from_utf8(percent(VALUE, CAPITAL)).unwrap(), "s3cr3t%2F".to_owned()),
            (String::from_utf8(percent(VALUE, SMALL)).unwrap(), "s3cr3t%2f".to_owned()),
            (basic.clone(), basic[24..44].to_owned()),
            (twice.clone(), twice[4..30].to_owned()),
        ] {
            let text = format!("before {what} after");
            let out = String::from_utf8(scrubber().whole(text.as_bytes())).unwrap();
            assert_eq!(out.len(), text.len());
            assert!(!out.contains(&core), "{core} is in {out}");
            assert!(out.starts_with("before ") && out.ends_with(" after"), "{out}");
        }
    }

    #[test]
    fn ordinary_events_are_not_held_back() {
        let mut scrubber = scrubber();
        for event in ["data: {\"a\": 1}\n\n", "data: [DONE]\n\n"] {
            assert_eq!(scrubber.feed(event.as_bytes()), event.as_bytes());
        }
    }

    #[test]
    fn a_beginning_that_goes_on_differently_is_passed_on() {
        let mut scrubber = scrubber();
        let mut out = scrubber.feed(b"xx s3cr3t/val");
        assert_eq!(out, b"xx ");
        out.extend(scrubber.feed(b"ley"));
        out.extend(scrubber.finish());
        assert_eq!(out, b"xx s3cr3t/valley");
    }

    proptest! {
        #[test]
        fn wherever_the_stream_is_cut_the_value_does_not_come_through(
            before in "[a-z3/ ]{0,20}", after in "[a-z3/ ]{0,20}", cuts in prop::collection::vec(1_usize..9, 1..40),
        ) {
            let text = format!("{before}{VALUE}{after}{VALUE}").into_bytes();
            let mut scrubber = scrubber();
            let (mut out, mut rest) = (Vec::new(), text.as_slice());
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                out.extend(scrubber.feed(now));
                rest = later;
            }
            out.extend(scrubber.feed(rest));
            out.extend(scrubber.finish());
            prop_assert_eq!(out.len(), text.len());
            let seen = String::from_utf8_lossy(&out).into_owned();
            prop_assert!(!seen.contains(VALUE), "{}", seen);
            prop_assert!(seen.starts_with(before.trim_end_matches(['s', '3'])), "{}", seen);
        }
    }
}
