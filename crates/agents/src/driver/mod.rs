//! Speaking with a running program, in its own language.
//!
//! A driver is started with the program. It tells what the program does, says what people say, and comes back when the program
//! has given an answer, or has not and will not. It does not know how the process ended and what the model was asked: that is
//! looked at afterwards ([`crate::verdict`]).

pub mod acp;
pub(crate) mod claude;
pub(crate) mod lines;
pub(crate) mod plain;

use std::time::Duration;

use contracts::agent::{Answer, Mode, Words};
use domain::transcript::{AgentEvent, ToolKind, Verdict};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    answer::Faults,
    director::{Director, Next as Direction},
    language::{Heard, Over},
    pipe::{self, Pipe, Unheard},
    teller::Teller,
};

/// So long may words be held that could be told.
const MOMENT: Duration = Duration::from_millis(200);

/// What a driver has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Answered(Answer),
    /// The process is over, and this is to be said next.
    Again(String),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    Unheard(Unheard),
    /// It said nothing for so long.
    Silent(Duration),
    /// Its output ended before its turn did.
    Ended,
    /// It says that it failed.
    Failed {
        status: Option<u16>,
        reason: String,
    },
    Refused,
    CutShort(String),
    /// It does not keep to its language.
    Protocol(String),
    Unusable(Faults),
}

impl From<Unheard> for Fault {
    fn from(unheard: Unheard) -> Self {
        Self::Unheard(unheard)
    }
}

/// One conversation.
pub(crate) struct Talk<'a> {
    pub(crate) pipe: &'a mut Pipe,
    pub(crate) teller: &'a mut Teller,
    pub(crate) words: &'a mut mpsc::Receiver<Words>,
    pub(crate) director: &'a mut Director,
    pub(crate) introduced: &'a mut Introduced,
    pub(crate) program: &'static str,
    pub(crate) mode: Mode,
    pub(crate) directory: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) session: Option<&'a str>,
    /// Writes down what the program calls its memory, as soon as it is known.
    pub(crate) noted: &'a (dyn Fn(&str) + Send + Sync),
    /// How long a program may say nothing.
    pub(crate) patience: Duration,
    pub(crate) quiet: Duration,
}

/// What the program said about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Introduced {
    pub(crate) version: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) session: Option<String>,
    is_told: bool,
}

/// What came next.
#[derive(Debug)]
pub(crate) enum Came {
    Line(Value),
    Words(String),
    End,
}

impl Talk<'_> {
    /// The next line that is JSON, or what a person says meanwhile.
    pub(crate) async fn next(&mut self) -> Result<Came, Fault> {
        loop {
            tokio::select! {
                Some(Words(text)) = self.words.recv() => return Ok(Came::Words(text)),
                next = self.pipe.next(MOMENT) => match next? {
                    pipe::Next::Line(line) => {
                        self.quiet = Duration::ZERO;
                        match pipe::object(&line) {
                            Some(value) => return Ok(Came::Line(value)),
                            None => self.pipe.noise(&line)?,
                        }
                    }
                    pipe::Next::Pause => self.pause().await?,
                    pipe::Next::End => return Ok(Came::End),
                }
            }
        }
    }

    /// A person speaks: it is told, and said when the turn is over.
    pub(crate) async fn hear(&mut self, words: String) {
        let has_room = self.director.hear(words.clone());
        self.teller
            .tell(if has_room {
                AgentEvent::Heard { text: words }
            } else {
                let text = "so much was said already that this does not reach it";
                AgentEvent::Trouble { text: text.to_owned() }
            })
            .await;
    }

    /// Nothing came for a moment.
    pub(crate) async fn pause(&mut self) -> Result<(), Fault> {
        self.teller.pause().await;
        self.quiet += MOMENT;
        if self.quiet >= self.patience { Err(Fault::Silent(self.patience)) } else { Ok(()) }
    }

    /// Tells what was heard, and gives back how the turn ended, if it did.
    pub(crate) async fn tell(&mut self, heard: Vec<Heard>) -> Option<Over> {
        let mut over = None;
        for one in heard {
            match one {
                Heard::Hello { version, model } => {
                    self.introduced.version = version.or(self.introduced.version.take());
                    self.introduced.model = model.or(self.introduced.model.take());
                }
                // One that is no name is not passed on: it would be given back to the program, and kept.
                Heard::Session(session) if !is_name(&session) => {}
                Heard::Session(session) => {
                    if self.introduced.session.as_ref() != Some(&session) {
                        (self.noted)(&session);
                    }
                    self.introduced.session = Some(session);
                    self.introduce().await;
                }
                Heard::Over(how) => over = Some(how),
                other @ (Heard::Text(_)
                | Heard::Thought(_)
                | Heard::Break
                | Heard::Tool(_)
                | Heard::Todo(_)
                | Heard::Question { .. }
                | Heard::Trouble(_)) => self.teller.heard(other).await,
            }
        }
        over
    }

    /// Tells who works, once.
    async fn introduce(&mut self) {
        if std::mem::replace(&mut self.introduced.is_told, true) {
            return;
        }
        let known = self.introduced.clone();
        self.teller
            .tell(AgentEvent::Started {
                program: self.program.to_owned(),
                version: known.version,
                model: known.model,
                session: known.session,
            })
            .await;
    }

    /// A turn ended: is there an answer, or something more to say?
    pub(crate) fn after(&mut self, over: Over) -> Result<Direction, Fault> {
        let said = self.teller.take_said();
        match over {
            Over::Cancelled if !self.director.expects_a_stop() => {
                Err(Fault::CutShort("it cancelled its own turn".to_owned()))
            }
            // Somebody's words may be why it was cancelled; then they are said next.
            Over::Ended | Over::Cancelled => match self.director.after(&said) {
                Direction::Unusable(faults) => Err(Fault::Unusable(faults)),
                next @ (Direction::Answered(_) | Direction::Say(_)) => Ok(next),
            },
            Over::Refused => Err(Fault::Refused),
            Over::CutShort(why) => Err(Fault::CutShort(why)),
            Over::Failed { status, reason } => Err(Fault::Failed { status, reason }),
        }
    }
}

/// Bytes of a session's name.
const NAME_LIMIT: usize = 512;

/// Whether this can be what a program calls its memory.
pub(crate) fn is_name(session: &str) -> bool {
    // One that begins so would be taken for a flag.
    !session.starts_with('-')
        && session.len() <= NAME_LIMIT
        && !session.chars().any(char::is_control)
}

/// Whether a program that asks may use a tool. The mount is what holds; this saves it the trouble of trying.
pub(crate) const fn permit(mode: Mode, kind: ToolKind) -> Verdict {
    match (mode, kind) {
        (Mode::Research | Mode::Plan | Mode::Review, ToolKind::Edit) => Verdict::Denied,
        (Mode::Research | Mode::Plan | Mode::Review | Mode::Implement, _) => Verdict::Allowed,
    }
}
