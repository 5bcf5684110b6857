//! Ways to read a text: as it is, through percent signs, through backslashes.
//!
//! A view is the text as somebody would decode it, and for every byte of it where it came from. A line break is left out of
//! every view: base64 is wrapped, and so are terminals. Many in a row are not, so that nobody holds a text back for ever.

use super::forms::is_break;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Plain,
    Percent,
    Backslash,
}

impl View {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Percent, Self::Backslash];

    /// The byte without which this view shows nothing that the plain one does not.
    const fn needs(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Percent => Some(b'%'),
            Self::Backslash => Some(b'\\'),
        }
    }
}

/// `\r\n`.
const MOST_BREAKS: usize = 2;

/// A text in one view.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) bytes: Vec<u8>,
    places: Places,
    /// Where in the text there are escapes of more than one byte.
    escapes: Vec<(usize, usize)>,
    /// How many line breaks were seen in a row.
    breaks: usize,
    /// Where the text ends in the middle of an escape.
    pub(super) unfinished: Option<usize>,
}

/// Where bytes of a view come from.
#[derive(Debug)]
enum Places {
    /// Each from where it stands, and so much further: from which byte of the view on, how many were left out before it.
    Shifted(Vec<(usize, usize)>),
    /// Start and end in the text, of each.
    Each(Vec<(usize, usize)>),
}

impl Default for Places {
    fn default() -> Self {
        Self::Each(Vec::new())
    }
}

impl Places {
    fn of(&self, index: usize) -> Option<(usize, usize)> {
        match self {
            Self::Each(places) => places.get(index).copied(),
            Self::Shifted(shifts) => {
                let after = shifts.partition_point(|(from, _)| *from <= index);
                let shift = after.checked_sub(1).and_then(|last| shifts.get(last));
                let start = index + shift.map_or(0, |(_, left_out)| *left_out);
                Some((start, start + 1))
            }
        }
    }
}

impl Seen {
    /// `None` if this view is the plain one.
    pub(super) fn new(view: View, text: &[u8]) -> Option<Self> {
        match view.needs() {
            None => Some(Self::plain(text)),
            Some(needed) if text.contains(&needed) => Some(Self::decoded(view, text)),
            Some(_) => None,
        }
    }

    /// The text but for its line breaks. Everything that is printed goes through here, so it goes by lines.
    fn plain(text: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(text.len());
        let mut shifts = Vec::new();
        let (mut left_out, mut breaks) = (0, 0);
        for line in text.split_inclusive(|byte| is_break(*byte)) {
            let (line, end) = match line.split_last() {
                Some((last, before)) if is_break(*last) => (before, Some(*last)),
                Some(_) | None => (line, None),
            };
            if !line.is_empty() {
                breaks = 0;
                bytes.extend_from_slice(line);
            }
            let Some(end) = end else { continue };
            breaks += 1;
            if breaks > MOST_BREAKS {
                bytes.push(end);
            } else {
                left_out += 1;
                shifts.push((bytes.len(), left_out));
            }
        }
        Self { bytes, places: Places::Shifted(shifts), ..Self::default() }
    }

    fn decoded(view: View, text: &[u8]) -> Self {
        let mut seen = Self::default();
        let mut place = 0;
        while let Some(rest) = text.get(place..).filter(|rest| !rest.is_empty()) {
            match element(view, rest) {
                Element::Unfinished => {
                    seen.unfinished = Some(place);
                    break;
                }
                Element::Bytes { decoded, length, from } => {
                    if from > 1 {
                        seen.escapes.push((place, place + from));
                    }
                    seen.push(decoded.get(..length).unwrap_or_default(), place, place + from);
                    place += from;
                }
            }
        }
        seen
    }

    fn push(&mut self, decoded: &[u8], start: usize, end: usize) {
        for byte in decoded {
            self.breaks = if is_break(*byte) { self.breaks + 1 } else { 0 };
            if !(1..=MOST_BREAKS).contains(&self.breaks) {
                self.bytes.push(*byte);
                if let Places::Each(places) = &mut self.places {
                    places.push((start, end));
                }
            }
        }
    }

    /// Where the byte at `index` of this view begins in the text.
    pub(super) fn start(&self, index: usize) -> Option<usize> {
        (index < self.bytes.len()).then(|| self.places.of(index))?.map(|place| place.0)
    }

    /// Where the byte before `index` of this view ends in the text.
    pub(super) fn end(&self, index: usize) -> Option<usize> {
        let last = index.checked_sub(1).filter(|last| *last < self.bytes.len())?;
        self.places.of(last).map(|place| place.1)
    }

    /// The largest place up to `cut` where no escape is cut in two.
    pub(super) fn whole_before(&self, cut: usize) -> usize {
        let index = self.escapes.partition_point(|escape| escape.0 < cut);
        match index.checked_sub(1).and_then(|index| self.escapes.get(index)) {
            Some((start, end)) if *end > cut => *start,
            Some(_) | None => cut,
        }
    }
}

/// What one place of a text means.
enum Element {
    /// `length` bytes, written with `from` bytes.
    Bytes { decoded: [u8; 4], length: usize, from: usize },
    /// What follows decides.
    Unfinished,
}

impl Element {
    const fn byte(byte: u8, from: usize) -> Self {
        Self::Bytes { decoded: [byte, 0, 0, 0], length: 1, from }
    }

    fn letter(letter: char, from: usize) -> Self {
        let mut decoded = [0; 4];
        let length = letter.encode_utf8(&mut decoded).len();
        Self::Bytes { decoded, length, from }
    }
}

fn element(view: View, rest: &[u8]) -> Element {
    match (view, rest) {
        (View::Percent, [b'%', after @ ..]) => percent(after),
        (View::Backslash, [b'\\', after @ ..]) => backslash(after),
        (View::Plain | View::Percent | View::Backslash, [first, ..]) => Element::byte(*first, 1),
        (View::Plain | View::Percent | View::Backslash, []) => Element::Unfinished,
    }
}

fn percent(after: &[u8]) -> Element {
    match number(after, 2) {
        Number::Is(byte) => Element::byte(u8::try_from(byte).unwrap_or(b'%'), 3),
        Number::IsNot => Element::byte(b'%', 1),
        Number::Unfinished => Element::Unfinished,
    }
}

/// As JSON and the shells have it. What is none of their escapes stands for the letter after the backslash.
fn backslash(after: &[u8]) -> Element {
    let Some(first) = after.first() else { return Element::Unfinished };
    match first {
        b'n' => Element::byte(b'\n', 2),
        b'r' => Element::byte(b'\r', 2),
        b't' => Element::byte(b'\t', 2),
        b'b' => Element::byte(8, 2),
        b'f' => Element::byte(12, 2),
        b'x' => match number(after.get(1..).unwrap_or_default(), 2) {
            Number::Is(byte) => Element::byte(u8::try_from(byte).unwrap_or(b'x'), 4),
            Number::IsNot => Element::byte(b'x', 2),
            Number::Unfinished => Element::Unfinished,
        },
        b'u' => unicode(after.get(1..).unwrap_or_default()),
        // A letter of more than one byte stays whole.
        0x80.. => Element::byte(b'\\', 1),
        other => Element::byte(*other, 2),
    }
}

/// `00e4`, or the two halves `d83d\ude00`.
fn unicode(digits: &[u8]) -> Element {
    let unit = match number(digits, 4) {
        Number::Is(unit) => unit,
        Number::IsNot => return Element::byte(b'u', 2),
        Number::Unfinished => return Element::Unfinished,
    };
    if !(0xd800..0xdc00).contains(&unit) {
        return char::from_u32(unit)
            .map_or(Element::byte(b'?', 6), |letter| Element::letter(letter, 6));
    }
    let second = match digits.get(4..).unwrap_or_default() {
        [] | [b'\\'] => return Element::Unfinished,
        [b'\\', b'u', rest @ ..] => number(rest, 4),
        [_, ..] => Number::IsNot,
    };
    match second {
        Number::Is(second) if (0xdc00..0xe000).contains(&second) => {
            let letter = char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (second - 0xdc00));
            letter.map_or(Element::byte(b'?', 6), |letter| Element::letter(letter, 12))
        }
        Number::Is(_) | Number::IsNot => Element::byte(b'?', 6),
        Number::Unfinished => Element::Unfinished,
    }
}

enum Number {
    Is(u32),
    IsNot,
    Unfinished,
}

/// The first `count` bytes, as hexadecimal digits.
fn number(bytes: &[u8], count: usize) -> Number {
    let mut value = 0;
    for index in 0..count {
        let Some(byte) = bytes.get(index) else { return Number::Unfinished };
        let Some(digit) = char::from(*byte).to_digit(16) else { return Number::IsNot };
        value = value * 16 + digit;
    }
    Number::Is(value)
}
