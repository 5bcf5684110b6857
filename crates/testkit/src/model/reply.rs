//! What the model answers, before it is put into a wire format; and how an answer in a wire format becomes beats.

use std::time::Duration;

use serde_json::Value;

use super::{
    beats::{self, Beat, Head, Length},
    toolbox::{Arguments, Call},
    usage::Usage,
};

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    /// The same request has the same.
    pub(super) id: String,
    pub(super) model: String,
    pub(super) think: Option<String>,
    pub(super) text: String,
    pub(super) flood: Flood,
    pub(super) call: Option<Call>,
    pub(super) end: End,
    pub(super) usage: Usage,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Done,
    Length,
    Refusal,
}

/// Text before the answer's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flood {
    None,
    Mib(u32),
    Endless,
}

/// How often an event comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Once,
    Many(u64),
    Ever,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: Option<&'static str>,
    pub(super) text: String,
    pub(super) times: Times,
    /// What it says was used until then.
    pub(super) tells: Option<Usage>,
}

/// How events are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// One value per line.
    Lines,
}

/// How the way of an answer goes wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) wait: Option<Duration>,
    pub(super) slow: Option<Duration>,
    pub(super) middle: Option<Middle>,
}

/// What happens in the middle of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Middle {
    Cut,
    Stall,
    Garble,
}

/// Stands in a whole answer where the flood comes in.
const FLOOD: &str = "\u{e000}flood\u{e000}";
const DROP: &str = "All work and no play makes the model a dull one. ";
const MIB: usize = 1 << 20;
/// How much one event of a flood brings.
const WAVE: usize = MIB / 16;

impl Event {
    pub(super) fn new(name: Option<&'static str>, value: &Value) -> Self {
        Self { name, text: value.to_string(), times: Times::Once, tells: None }
    }

    pub(super) fn times(self, times: Times) -> Self {
        Self { times, ..self }
    }

    pub(super) fn telling(self, usage: Usage) -> Self {
        Self { tells: Some(usage), ..self }
    }

    fn framed(&self, framing: Framing) -> Vec<u8> {
        let name = self.name.map_or_else(String::new, |name| format!("event: {name}\n"));
        let text = match framing {
            Framing::Events => format!("{name}data: {}\n\n", self.text),
            Framing::Lines => format!("{}\n", self.text),
        };
        text.into_bytes()
    }

    /// The first half of what it says: no JSON any more.
    fn halved(&self) -> Self {
        let half = self.text.chars().count() / 2;
        Self { text: self.text.chars().take(half).collect(), tells: None, ..self.clone() }
    }
}

impl Reply {
    /// The text as a stream brings it, in order.
    pub(super) fn pieces(&self) -> Vec<(String, Times)> {
        let wave = || DROP.repeat(WAVE / DROP.len() + 1).chars().take(WAVE).collect::<String>();
        let mut pieces: Vec<_> = match self.flood {
            Flood::None => Vec::new(),
            Flood::Mib(mib) => vec![(wave(), Times::Many(u64::from(mib) * 16))],
            Flood::Endless => vec![(wave(), Times::Ever)],
        };
        pieces.extend(thirds(&self.text).into_iter().map(|piece| (piece, Times::Once)));
        pieces
    }

    /// The text as a whole answer has it, with a mark where a flood comes in.
    pub(super) fn whole_text(&self) -> String {
        match self.flood {
            Flood::None => self.text.clone(),
            Flood::Mib(_) | Flood::Endless => format!("{FLOOD}{}", self.text),
        }
    }

    /// Whether there is any text.
    pub(super) fn speaks(&self) -> bool {
        !self.text.is_empty() || self.flood != Flood::None
    }

    /// The arguments of the call as a stream brings them.
    pub(super) fn argument_pieces(arguments: &Arguments) -> Vec<String> {
        thirds(&arguments.text())
    }

    /// A whole answer as beats.
    pub(super) fn whole_beats(&self, value: &Value, trouble: &Trouble) -> Vec<Beat> {
        let text = value.to_string();
        let (before, after) = text.split_once(FLOOD).unwrap_or((&text, ""));
        let bytes = |text: &str| Beat::Bytes(text.as_bytes().to_vec());
        let wave = || DROP.repeat(MIB / DROP.len() + 1).bytes().take(MIB).collect::<Vec<u8>>();
        let flood = match self.flood {
            Flood::None => None,
            Flood::Mib(mib) => Some(Beat::Again { bytes: wave(), times: mib.into() }),
            Flood::Endless => Some(Beat::Endless(wave())),
        };
        let mut body: Vec<Beat> =
            [Some(bytes(before)), flood, Some(bytes(after))].into_iter().flatten().collect();
        match trouble.middle {
            None => {}
            Some(Middle::Garble) => body = vec![bytes(half(&text))],
            Some(Middle::Cut | Middle::Stall) => {
                body = vec![bytes(half(&text)), bytes(text.get(half(&text).len()..).unwrap_or(""))];
            }
        }
        let mut beats = beats::whole(200, "application/json", body);
        match trouble.middle {
            None | Some(Middle::Garble) => {}
            Some(Middle::Cut) => {
                beats.pop();
                beats.push(Beat::Cut);
            }
            Some(Middle::Stall) => {
                beats.pop();
                beats.push(Beat::Silence);
            }
        }
        if self.flood == Flood::Endless
            && let Some(Beat::Head(head)) = beats.first_mut()
        {
            head.length = Length::Chunked;
        }
        beats
    }
}

/// A stream as beats, and what it says was used.
pub(super) fn stream_beats(
    events: &[Event],
    framing: Framing,
    trouble: &Trouble,
) -> (Vec<Beat>, Option<Usage>) {
    let kind = match framing {
        Framing::Events => "text/event-stream",
        Framing::Lines => "application/x-ndjson",
    };
    let headers = vec![("content-type", kind.to_owned()), ("cache-control", "no-cache".to_owned())];
    let mut beats = vec![Beat::Head(Head { status: 200, headers, length: Length::Chunked })];
    let mut told = None;
    let middle = events.len() / 2;
    for (at, event) in events.iter().enumerate() {
        let trouble_here = trouble.middle.filter(|_| at == middle);
        let event = match trouble_here {
            None => event.clone(),
            Some(Middle::Cut | Middle::Stall | Middle::Garble) => event.halved(),
        };
        let mut bytes = event.framed(framing);
        match trouble_here {
            None | Some(Middle::Garble) => {}
            Some(cut @ (Middle::Cut | Middle::Stall)) => {
                // Not even the event's end is sent.
                bytes.truncate(bytes.len().saturating_sub(2));
                let end = if cut == Middle::Cut { Beat::Cut } else { Beat::Silence };
                beats.extend([Beat::Bytes(bytes), end]);
                return (beats, told);
            }
        }
        told = event.tells.or(told);
        match event.times {
            Times::Once => beats.push(Beat::Bytes(bytes)),
            Times::Many(times) => beats.push(Beat::Again { bytes, times }),
            Times::Ever => {
                beats.push(Beat::Endless(bytes));
                return (beats, told);
            }
        }
        if let Some(slow) = trouble.slow {
            beats.push(Beat::Pause(slow));
        }
    }
    (beats, told)
}

fn half(text: &str) -> &str {
    let half = text.len() / 2;
    let at = (0..=half).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..at).unwrap_or(text)
}

/// A text in up to three parts.
pub(super) fn thirds(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(3).max(1);
    letters.chunks(size).map(|part| part.iter().collect()).collect()
}
