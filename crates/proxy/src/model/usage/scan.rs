//! Reads JSON as it comes, and tells the values at a few paths.
//!
//! Only what the paths need is understood. Lists are passed through: `candidates.finishReason` is found in every element. What is
//! not JSON is not complained about: nothing is found in it.
//!
//! **Invariant:** memory does not grow with the input.

use super::tally::{PATHS, Path};

/// The longest value that is told. One that is longer is left out.
const LONGEST: usize = 64 * 1024;
const DEEPEST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Scan {
    frames: Vec<Frame>,
    token: Token,
    /// The string that is being read, if it may be a key: as much of it as a key that is looked for has.
    text: Vec<u8>,
    capture: Option<Capture>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Nothing,
    Within,
    /// The outermost value has ended.
    Whole,
    /// It cannot be JSON, or is nested too deeply.
    Lost,
}

#[derive(Debug)]
enum Frame {
    Object {
        /// As written, between its quotes.
        key: Vec<u8>,
        turn: Turn,
    },
    List,
}

/// What comes next in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Key,
    Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Token {
    #[default]
    Between,
    String,
    /// After a backslash.
    Escape,
    /// A number, `true`, `false` or `null`.
    Word,
}

#[derive(Debug)]
struct Capture {
    path: Path,
    /// How many frames there were where it began.
    depth: usize,
    bytes: Vec<u8>,
}

/// No key that is looked for is longer.
const LONGEST_KEY: usize = 32;

impl Scan {
    pub(super) fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    pub(super) fn feed(&mut self, bytes: &[u8], tell: &mut impl FnMut(Path, &[u8])) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            if self.state == State::Lost {
                return;
            }
            // Most of an answer is long strings that nobody looks for.
            if self.token == Token::String
                && self.capture.is_none()
                && self.text.len() > LONGEST_KEY
            {
                let next = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                let Some(next) = next else { return };
                if next > 0 {
                    rest = rest.get(next..).unwrap_or_default();
                    continue;
                }
            }
            self.byte(*byte, tell);
            rest = after;
        }
    }

    fn byte(&mut self, byte: u8, tell: &mut impl FnMut(Path, &[u8])) {
        match (self.token, byte) {
            (Token::Escape, _) => {
                self.keep(byte);
                self.token = Token::String;
            }
            (Token::String, b'\\') => {
                self.keep(byte);
                self.token = Token::Escape;
            }
            (Token::String, b'"') => {
                self.note(byte);
                self.token = Token::Between;
                self.string_ends(tell);
            }
            (Token::String, _) => self.keep(byte),
            (Token::Word, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') => {
                self.token = Token::Between;
                self.value_ends(tell);
                self.between(byte, tell);
            }
            (Token::Word, _) => self.note(byte),
            (Token::Between, _) => self.between(byte, tell),
        }
    }

    fn between(&mut self, byte: u8, tell: &mut impl FnMut(Path, &[u8])) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' => self.open(Frame::Object { key: Vec::new(), turn: Turn::Key }, byte),
            b'[' => self.open(Frame::List, byte),
            b'}' | b']' => {
                self.note(byte);
                match (self.frames.pop(), byte) {
                    (Some(Frame::Object { .. }), b'}') | (Some(Frame::List), b']') => {
                        self.value_ends(tell);
                    }
                    (Some(Frame::Object { .. } | Frame::List) | None, _) => {
                        self.state = State::Lost;
                    }
                }
            }
            b':' => {
                self.note(byte);
                self.turn_to(Turn::Value);
            }
            b',' => {
                self.note(byte);
                self.turn_to(Turn::Key);
            }
            b'"' => {
                self.text.clear();
                self.begin();
                self.note(byte);
                self.token = Token::String;
            }
            _ => {
                self.begin();
                self.note(byte);
                self.token = Token::Word;
            }
        }
    }

    fn open(&mut self, frame: Frame, byte: u8) {
        if self.frames.len() >= DEEPEST || self.state == State::Whole {
            self.state = State::Lost;
            return;
        }
        self.state = State::Within;
        self.begin();
        self.note(byte);
        self.frames.push(frame);
    }

    /// A value begins, or a key.
    fn begin(&mut self) {
        let is_key = matches!(self.frames.last(), Some(Frame::Object { turn: Turn::Key, .. }));
        if self.capture.is_none()
            && !is_key
            && let Some(path) = self.path()
        {
            self.capture = Some(Capture { path, depth: self.frames.len(), bytes: Vec::new() });
        }
    }

    /// The path of the value that begins here, if it is looked for.
    fn path(&self) -> Option<Path> {
        let keys = || {
            self.frames.iter().filter_map(|frame| match frame {
                Frame::Object { key, .. } => Some(key.as_slice()),
                Frame::List => None,
            })
        };
        // A list at the end of a path is passed through to its elements.
        PATHS
            .into_iter()
            .find(|(_, wanted)| keys().eq(wanted.split('.').map(str::as_bytes)))
            .map(|(path, _)| path)
    }

    /// A byte of a string.
    fn keep(&mut self, byte: u8) {
        if self.text.len() <= LONGEST_KEY {
            self.text.push(byte);
        }
        self.note(byte);
    }

    /// A byte of the value that is being taken.
    fn note(&mut self, byte: u8) {
        if let Some(capture) = &mut self.capture
            && capture.bytes.len() <= LONGEST
        {
            capture.bytes.push(byte);
        }
    }

    fn string_ends(&mut self, tell: &mut impl FnMut(Path, &[u8])) {
        if let Some(Frame::Object { key, turn: Turn::Key }) = self.frames.last_mut() {
            key.clone_from(&self.text);
            return;
        }
        self.value_ends(tell);
    }

    fn value_ends(&mut self, tell: &mut impl FnMut(Path, &[u8])) {
        if self.frames.is_empty() && self.state == State::Within {
            self.state = State::Whole;
        }
        if let Some(capture) = self.capture.take_if(|capture| capture.depth == self.frames.len())
            && capture.bytes.len() <= LONGEST
        {
            tell(capture.path, &capture.bytes);
        }
    }

    fn turn_to(&mut self, next: Turn) {
        if let Some(Frame::Object { turn, key }) = self.frames.last_mut() {
            *turn = next;
            if next == Turn::Key {
                key.clear();
            }
        }
    }
}
