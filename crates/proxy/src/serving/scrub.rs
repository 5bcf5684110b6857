//! Takes values out of an answer that must not come back: what a host reflects of a credential.
//!
//! Looked for is every spelling of the value ([`domain::spellings`]), its base64 wherever it begins within other bytes among them, as in
//! the rendered form of Basic. What is found is covered with asterisks, so that lengths stay as they are. Bytes are held back only
//! while they could be the beginning of a value, so a stream is not delayed.

use domain::spellings;
use zeroize::Zeroizing;

use crate::ask::Secret;

/// Looks for values in one stream of bytes. It does not print: it holds what must not be seen.
pub(super) struct Scrubber {
    patterns: Vec<Zeroizing<Vec<u8>>>,
    /// Which bytes a pattern begins with.
    begins: Box<[bool; 256]>,
    held: Vec<u8>,
}

impl Scrubber {
    pub(super) fn new(secrets: &[Secret]) -> Self {
        let spelt = secrets.iter().flat_map(|secret| spellings::of(&secret.0));
        let mut patterns: Vec<Zeroizing<Vec<u8>>> = spelt.collect();
        patterns.sort_unstable_by(|one, other| one.as_slice().cmp(other));
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

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
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
            ("s3cr3t%2Fvalue%2Bwith%3Dsigns".to_owned(), "s3cr3t%2F".to_owned()),
            ("s3cr3t%2fvalue%2bwith%3dsigns".to_owned(), "s3cr3t%2f".to_owned()),
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

    /// What comes through when `text` comes in pieces of these sizes, over and over.
    fn through(scrubber: &mut Scrubber, text: &[u8], sizes: &[usize]) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::new(), text);
        for size in sizes.iter().cycle() {
            let (now, later) = rest.split_at((*size).min(rest.len()));
            out.extend(scrubber.feed(now));
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        out.extend(scrubber.finish());
        out
    }

    /// Nothing in it is part of a spelling.
    fn around(spelling: &[u8]) -> Vec<u8> {
        [b"\x01\x01", spelling, b"\x01\x01"].concat()
    }

    #[test]
    fn every_known_spelling_is_covered_wherever_the_stream_is_cut() {
        let key = "-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49\nshort\n-----END KEY-----\n";
        for value in [VALUE, "it's \"a\\key/1>&\n", "two words & <more>", "s3cr3t", "é-ü~ß\t.", key]
        {
            let spelt = spellings::of(value);
            assert!(!spelt.is_empty());
            for spelling in spelt {
                let (text, hidden) = (around(&spelling), around(&vec![b'*'; spelling.len()]));
                let told = spelling.escape_ascii();
                for cut in 1..text.len() {
                    let mut scrubber = Scrubber::new(&[Secret(value.to_owned())]);
                    let sizes = [cut, text.len()];
                    assert_eq!(through(&mut scrubber, &text, &sizes), hidden, "{told} at {cut}");
                }
                let mut scrubber = Scrubber::new(&[Secret(value.to_owned())]);
                assert_eq!(through(&mut scrubber, &text, &[1]), hidden, "{told} byte by byte");
                assert_eq!(scrubber.whole(&text), hidden, "{told} at once");
            }
        }
    }

    #[test]
    fn what_is_too_short_to_be_looked_for_is_passed_on() {
        let short = "s".repeat(spellings::SHORTEST - 1);
        let mut scrubber = Scrubber::new(&[Secret(short.clone())]);
        assert_eq!(through(&mut scrubber, short.as_bytes(), &[1]), short.as_bytes());
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
        fn any_spelling_of_any_two_values_is_covered_in_any_pieces(
            value in "[a-c \"'&<>/+%=\\\\\n]{1,24}", other in "[a-c/+]{1,24}",
            which in any::<prop::sample::Index>(), sizes in prop::collection::vec(1_usize..9, 1..8),
        ) {
            let spelt = spellings::of(&value);
            prop_assume!(!spelt.is_empty());
            let spelling = which.get(&spelt);
            let mut scrubber = Scrubber::new(&[Secret(value.clone()), Secret(other)]);
            let out = through(&mut scrubber, &around(spelling), &sizes);
            prop_assert_eq!(out, around(&vec![b'*'; spelling.len()]));
        }

        #[test]
        fn wherever_the_stream_is_cut_the_value_does_not_come_through(
            before in "[a-z3/ ]{0,20}", after in "[a-z3/ ]{0,20}", cuts in prop::collection::vec(1_usize..9, 1..40),
        ) {
            let text = format!("{before}{VALUE}{after}{VALUE}").into_bytes();
            let out = through(&mut scrubber(), &text, &cuts);
            prop_assert_eq!(out.len(), text.len());
            let seen = String::from_utf8_lossy(&out).into_owned();
            prop_assert!(!seen.contains(VALUE), "{}", seen);
            prop_assert!(seen.starts_with(before.trim_end_matches(['s', '3'])), "{}", seen);
        }
    }
}
