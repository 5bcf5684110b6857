//! Removes the values of secrets from what is printed, stored or sent on.
//!
//! A value is found as it is, in base64 (both alphabets, padded or not, at any place of something longer, wrapped or not), in
//! hexadecimal, with percent signs, with backslashes, and quoted for shells and HTML; also when it comes in pieces. This
//! is against accidents: a program that wants to tell a value to somebody can always write it in a way that nobody expects.
//!
//! ```text
//!  pieces ──▶ [ held back: what may be the beginning of a value ] ──▶ text with [redacted]
//! ```
//!
//! **Invariants:** however a text is cut into pieces, what comes out is the same, and has no value in it. A text without a value
//! comes out as it was. No more is held back than the longest form of a value.

mod forms;
mod views;

use std::{borrow::Cow, fmt, sync::Arc};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, packed};
use zeroize::Zeroizing;

use self::views::{Seen, View};

/// What stands where a value was.
pub const MARK: &str = "[redacted]";

/// A value with fewer bytes than this cannot be told from other text.
pub const SHORTEST: usize = 8;

/// The values that are removed, ready to be looked for.
pub struct Redactions {
    /// Sorted, so that beginnings can be looked up.
    forms: Vec<Zeroizing<Vec<u8>>>,
    longest: usize,
    automaton: AhoCorasick,
    /// Says fast that there is nothing to be found, where there are not too many forms for it.
    quick: Option<packed::Searcher>,
}

#[derive(Debug, thiserror::Error)]
#[error("there are too many secrets to look for")]
pub struct TooManyForms(#[from] BuildError);

impl Redactions {
    /// Values with fewer than [`SHORTEST`] bytes are left out; the keeper takes none.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, TooManyForms> {
        let long_enough = values.into_iter().filter(|value| value.len() >= SHORTEST);
        let mut forms: Vec<Zeroizing<Vec<u8>>> = long_enough.flat_map(forms::of).collect();
        forms.sort_by(|one, other| one.as_slice().cmp(other.as_slice()));
        forms.dedup();
        let longest = forms.iter().map(|form| form.len()).max().unwrap_or_default();
        // The faster kind needs a thousand times the length of a value in memory.
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(forms.iter().map(|form| form.as_slice()))?;
        let mut quick = packed::Builder::new();
        quick.extend(forms.iter().map(|form| form.as_slice()));
        let quick = if forms.is_empty() { None } else { quick.build() };
        Ok(Self { forms, longest, automaton, quick })
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// A whole text, without the values.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Whole bytes, without the values.
    pub fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        if bytes.len() > AT_ONCE {
            let mut stream = Stream::default();
            let mut out = stream.feed(self, bytes);
            out.extend(stream.finish(self));
            return if out == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(out) };
        }
        let views = self.views(bytes);
        let found = self.found(&views);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        write(bytes, &found, bytes.len(), (Mark::Due, 0), &mut out);
        Cow::Owned(out)
    }

    fn views(&self, bytes: &[u8]) -> Vec<Seen> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        View::ALL.into_iter().filter_map(|view| Seen::new(view, bytes)).collect()
    }

    /// Where values stand, in order, without overlap.
    fn found(&self, views: &[Seen]) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for seen in views {
            if self.quick.as_ref().is_some_and(|quick| quick.find(&seen.bytes).is_none()) {
                continue;
            }
            let all = self.automaton.find_overlapping_iter(&seen.bytes);
            found.extend(
                all.filter_map(|one| Some((seen.start(one.start())?, seen.end(one.end())?))),
            );
        }
        merged(found)
    }

    /// From where on `seen` may be the beginning of a value that is not whole yet.
    fn held_from(&self, seen: &Seen, text: usize) -> usize {
        let bytes = &seen.bytes;
        let earliest = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let begins = (earliest..bytes.len())
            .find(|start| bytes.get(*start..).is_some_and(|tail| self.is_beginning(tail)));
        begins.and_then(|start| seen.start(start)).or(seen.unfinished).unwrap_or(text)
    }

    fn is_beginning(&self, tail: &[u8]) -> bool {
        let after = self.forms.partition_point(|form| form.as_slice() <= tail);
        self.forms.get(after).is_some_and(|form| form.starts_with(tail))
    }
}

impl fmt::Debug for Redactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactions").finish_non_exhaustive()
    }
}

/// Removes values from a text that comes in pieces.
pub struct Redactor {
    redactions: Arc<Redactions>,
    stream: Stream,
}

impl Redactor {
    pub fn new(redactions: Arc<Redactions>) -> Self {
        Self { redactions, stream: Stream::default() }
    }

    /// Takes a piece, and gives what is certain.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<u8> {
        self.stream.feed(&self.redactions, piece)
    }

    /// Whether something is held back.
    pub fn is_holding(&self) -> bool {
        self.stream.held.len() > self.stream.told.max(self.stream.covered)
    }

    /// Nothing has come for a while, and somebody waits to see what was typed: gives a beginning of a value that is too short to tell
    /// anything. If the rest of the value comes, that is removed.
    pub fn release(&mut self) -> Vec<u8> {
        self.stream.release()
    }

    /// The rest. Afterwards it is as new.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.stream).finish(&self.redactions)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("held", &self.stream.held.len()).finish_non_exhaustive()
    }
}

/// How much is looked at in one go. What is needed for that is many times as much.
const AT_ONCE: usize = 64 * 1024;

/// What is between two pieces.
#[derive(Default)]
struct Stream {
    held: Zeroizing<Vec<u8>>,
    /// So many of the first bytes held belong to a value, whose mark was written.
    covered: usize,
    /// So many of the first bytes held were given already, though they may be the beginning of a value.
    told: usize,
}

/// So much of a value may be told before it is known to be one.
const TELLS_NOTHING: usize = 3;

impl Stream {
    fn feed(&mut self, redactions: &Redactions, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len());
        for part in piece.chunks(AT_ONCE) {
            out.extend(self.part(redactions, part));
        }
        out
    }

    fn part(&mut self, redactions: &Redactions, part: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(part);
        let views = redactions.views(&self.held);
        let length = self.held.len();
        let held_from = views.iter().map(|seen| redactions.held_from(seen, length));
        let mut cut = held_from.min().unwrap_or(length);
        // No view may find itself in the middle of an escape with the next piece.
        while let Some(earlier) =
            views.iter().map(|seen| seen.whole_before(cut)).min().filter(|earlier| *earlier < cut)
        {
            cut = earlier;
        }
        let found = redactions.found(&views);
        self.give(&found, cut)
    }

    fn release(&mut self) -> Vec<u8> {
        let begun = self.held.len().saturating_sub(self.covered);
        if begun == 0 || begun > TELLS_NOTHING {
            return Vec::new();
        }
        let from = self.told.max(self.covered);
        self.told = self.held.len();
        self.held.get(from..).unwrap_or_default().to_vec()
    }

    fn finish(mut self, redactions: &Redactions) -> Vec<u8> {
        let views = redactions.views(&self.held);
        let found = redactions.found(&views);
        let all = self.held.len();
        self.give(&found, all)
    }

    fn give(&mut self, found: &[(usize, usize)], cut: usize) -> Vec<u8> {
        let covered = (self.covered > 0).then_some((0, self.covered));
        let found = merged(covered.into_iter().chain(found.iter().copied()).collect());
        let mark = if covered.is_some() { Mark::Written } else { Mark::Due };
        let mut out = Vec::with_capacity(cut);
        write(&self.held, &found, cut, (mark, self.told), &mut out);
        self.told = self.told.saturating_sub(cut);
        let over = found.iter().find(|(start, end)| *start < cut && cut < *end);
        // What was covered stays so, though nothing of it was given yet.
        self.covered = match over {
            Some((_, end)) => end - cut,
            None => self.covered.saturating_sub(cut),
        };
        let rest = Zeroizing::new(self.held.get(cut..).unwrap_or_default().to_vec());
        self.held = rest;
        out
    }
}

/// Whether the mark of a value at the very beginning has to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Due,
    Written,
}

/// The first `told` bytes were given before, if they are no value.
fn write(
    bytes: &[u8],
    found: &[(usize, usize)],
    cut: usize,
    (first, told): (Mark, usize),
    out: &mut Vec<u8>,
) {
    let mut place = 0;
    let plain = |from: usize, to: usize| bytes.get(from.max(told)..to).unwrap_or_default();
    for (start, end) in found.iter().filter(|(start, _)| *start < cut) {
        out.extend_from_slice(plain(place, *start));
        if *start > 0 || first == Mark::Due {
            out.extend_from_slice(MARK.as_bytes());
        }
        place = *end;
    }
    out.extend_from_slice(plain(place, cut));
}

/// Ranges that overlap are one.
fn merged(mut ranges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    ranges.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match merged.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            Some(_) | None => merged.push((start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
