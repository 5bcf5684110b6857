//! A model that plays scripts: Anthropic Messages, `OpenAI` Chat and Responses, Gemini and Ollama, streamed or whole.
//!
//! ```text
//!  request ──▶ wire: which language ──▶ conversation ──▶ play: script, step ──▶ toolbox: a call
//!     │                                                                            │
//!     └──▶ seen, used                 beats ◀── wire: events or JSON ◀── reply ◀───┘
//! ```
//!
//! The real programs talk to it as to the real thing. What it does stands in the prompt (see [`script`]), or in what the test gave it:
//!
//! ```
//! use testkit::model::{Model, Script};
//!
//! # fn main() -> anyhow::Result<()> {
//! let model = Model::new();
//! model.on("Write a plan", Script::new().read("README.md").text("1. Fix the sum."));
//! model.otherwise("play: shell make test ;; play: text Done. ;;".parse()?);
//! # Ok(())
//! # }
//! ```
//!
//! [`Model::answer`] is the whole of it: a request in, [`Beat`]s out. Two can play them: [`serve`] at a socket, and a host of the toy internet in
//! `tests/internet`. The same request gets the same answer, byte for byte, but for faults that happen a few times.

mod beats;
mod conversation;
mod lures;
mod play;
mod reply;
mod request;
pub mod script;
mod seen;
mod serve;
pub mod stories;
mod toolbox;
mod usage;
mod wire;

use std::{
    collections::BTreeMap,
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

pub use self::{
    beats::{Beat, Head, Length},
    lures::{Lure, UnknownLure},
    play::Asked,
    request::{LARGEST_BODY, Request, key_hash},
    script::{Act, Fault, Mischief, Script, Step},
    seen::Seen,
    serve::serve,
    usage::Usage,
};
use self::{
    conversation::Delivery,
    play::{Place, Played, Repertoire, Rule, Tries},
    reply::{Reply, Trouble},
    request::Unreadable,
    wire::{Wanted, Wire},
};

/// The model. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Model {
    inner: Arc<Mutex<Inner>>,
    /// Apart, because it is held while rules are asked, and a rule may look at the model.
    tries: Arc<Mutex<Tries>>,
}

#[derive(Debug, Default)]
struct Inner {
    repertoire: Repertoire,
    /// The only key that is taken, if not every one is.
    key: Option<String>,
    seen: Vec<Seen>,
    used: BTreeMap<String, Usage>,
    log: Option<fs_err::File>,
}

impl Model {
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tries(&self) -> MutexGuard<'_, Tries> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays this where one text of the user's is so. Rules are asked in order, and before directives in the same text.
    pub fn when(
        &self,
        holds: impl Fn(&Asked<'_>) -> bool + Send + Sync + 'static,
        script: Script,
    ) -> &Self {
        self.lock().repertoire.rules.push(Rule { holds: Arc::new(holds), script });
        self
    }

    /// Plays this for prompts that contain a marker.
    pub fn on(&self, marker: &str, script: Script) -> &Self {
        let marker = marker.to_owned();
        self.when(move |asked| asked.text.contains(&marker), script)
    }

    /// A script that directives can name.
    pub fn named(&self, name: &str, script: Script) -> &Self {
        self.lock().repertoire.named.insert(name.to_owned(), script);
        self
    }

    /// What is played for prompts that have no script.
    pub fn otherwise(&self, script: Script) -> &Self {
        self.lock().repertoire.otherwise = Some(script);
        self
    }

    /// Where programs work, for those whose prompts do not say it and whose tools want absolute paths.
    pub fn at(&self, directory: &str) -> &Self {
        self.lock().repertoire.directory = Some(directory.to_owned());
        self
    }

    /// Takes only this key, and answers others with 401.
    pub fn require_key(&self, key: &str) -> &Self {
        self.lock().key = Some(key.to_owned());
        self
    }

    /// Writes a line of JSON for each request from now on.
    pub fn log_to(&self, file: fs_err::File) -> &Self {
        self.lock().log = Some(file);
        self
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    /// What answers said that was used, by model. An answer that was not read to its end is in it as if it had been.
    pub fn used(&self) -> BTreeMap<String, Usage> {
        self.lock().used.clone()
    }

    /// Forgets requests, sums, and how often faults have happened. What it was given to play stays.
    pub fn reset(&self) {
        let mut inner = self.lock();
        inner.seen.clear();
        inner.used.clear();
        drop(inner);
        *self.tries() = Tries::default();
    }

    /// Answers a request. Whatever it is, there is an answer.
    pub fn answer(&self, request: &Request) -> Vec<Beat> {
        let mut seen = Seen {
            method: request.method.clone(),
            path: request.path().to_owned(),
            headers: request.headers.iter().map(|(name, _)| name.clone()).collect(),
            key: request.key().map(key_hash),
            ..Seen::default()
        };
        let beats = self.beats(request, &mut seen);
        seen.status = beats.iter().find_map(|beat| match beat {
            Beat::Head(head) => Some(head.status),
            Beat::Bytes(_)
            | Beat::Again { .. }
            | Beat::Endless(_)
            | Beat::Pause(_)
            | Beat::Silence
            | Beat::Cut => None,
        });
        let mut inner = self.lock();
        if let Some(told) = seen.told {
            *inner.used.entry(seen.model.clone()).or_default() += told;
        }
        if let (Some(log), Ok(line)) = (&mut inner.log, serde_json::to_string(&seen)) {
            // A full disk is no reason to answer nothing.
            let _ = writeln!(log, "{line}");
        }
        inner.seen.push(seen);
        beats
    }

    fn beats(&self, request: &Request, seen: &mut Seen) -> Vec<Beat> {
        let wanted = wire::wanted(request);
        match wanted {
            Wanted::Answer(wire) => {
                seen.wire = Some(wire.name());
                match self.permitted(request).and_then(|()| request.json()) {
                    Ok(body) => self.reply(wire, request, &body, seen),
                    Err(why) => failure(wire, why.status, &why.reason, None, seen),
                }
            }
            Wanted::Count(wire) => {
                "counts".clone_into(&mut seen.what);
                match self.permitted(request).and_then(|()| request.json()) {
                    Ok(body) => {
                        let tokens = body.to_string().len().div_ceil(4);
                        beats::json(200, &wire.count(tokens))
                    }
                    Err(why) => failure(wire, why.status, &why.reason, None, seen),
                }
            }
            Wanted::Models(wire) => {
                "models".clone_into(&mut seen.what);
                beats::json(200, &wire::models(wire, request.path()))
            }
            Wanted::Greeting => {
                "greets".clone_into(&mut seen.what);
                beats::whole(200, "text/plain", Vec::new())
            }
            Wanted::Unknown => failure(Wire::Chat, 404, "the model has no such path", None, seen),
            Wanted::Method(wire) => failure(wire, 405, "the path wants a POST", None, seen),
        }
    }

    fn permitted(&self, request: &Request) -> Result<(), Unreadable> {
        let key = self.lock().key.clone();
        match key {
            Some(key) if request.key() != Some(&key) => {
                Err(Unreadable { status: 401, reason: "the key is not the one".to_owned() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn reply(&self, wire: Wire, request: &Request, body: &Value, seen: &mut Seen) -> Vec<Beat> {
        let asked = wire.read(body, request.path());
        let model = if asked.model.is_empty() { "scripted-model" } else { &asked.model };
        model.clone_into(&mut seen.model);
        seen.tools = asked.tools.iter().map(|tool| tool.name.clone()).collect();
        seen.turns = asked.turns.len();
        seen.prompt = seen::tail(asked.last_prompt().unwrap_or_default());
        seen.remembered = asked.remembered();

        let repertoire = self.lock().repertoire.clone();
        let played = repertoire.play(&asked, &mut self.tries());

        let (place, reply, trouble) = match played {
            Err(wrong) => return failure(wire, 400, &wrong.to_string(), None, seen),
            Ok(Played::Error { place, status, after }) => {
                seen.step = Some(told(place));
                let reason = format!("scripted error {status}");
                return failure(wire, status, &reason, after, seen);
            }
            Ok(Played::Hang { place }) => {
                seen.step = Some(told(place));
                "hangs".clone_into(&mut seen.what);
                return vec![Beat::Silence];
            }
            Ok(Played::Aside(text)) => {
                "aside".clone_into(&mut seen.what);
                (None, aside(request, model, text), Trouble::default())
            }
            Ok(Played::Answer { place, answer }) => {
                let play::Answer { think, text, call, end, flood, usage, trouble } = *answer;
                seen.what = call
                    .as_ref()
                    .map_or_else(|| "says".to_owned(), |call| format!("calls {}", call.name));
                let id = request.id();
                let model = model.to_owned();
                let reply = Reply { id, model, think, text, flood, call, end, usage };
                (Some(place), reply, trouble)
            }
        };
        seen.step = place.map(told);
        let mut beats = match asked.delivery {
            Delivery::Stream => {
                let events = wire.stream(&reply, &asked);
                let (beats, used) = reply::stream_beats(&events, wire.framing(), &trouble);
                seen.told = used;
                beats
            }
            Delivery::Whole => {
                // Half of an answer tells nothing.
                let whole = trouble.middle.is_none() && reply.flood != reply::Flood::Endless;
                seen.told = whole.then_some(reply.usage);
                reply.whole_beats(&wire.whole(&reply), &trouble)
            }
        };
        seen.told = seen.told.map(|usage| wire.understood(usage));
        if let Some(wait) = trouble.wait {
            beats.insert(0, Beat::Pause(wait));
        }
        beats
    }
}

fn told(place: Place) -> String {
    format!("{}/{}", place.step, place.of)
}

/// A short text that belongs to no script.
fn aside(request: &Request, model: &str, text: String) -> Reply {
    Reply {
        id: request.id(),
        model: model.to_owned(),
        think: None,
        text,
        flood: reply::Flood::None,
        call: None,
        end: reply::End::Done,
        usage: Usage { input: 10, cached: 0, output: 5 },
    }
}

/// An error in the words of the language.
fn failure(
    wire: Wire,
    status: u16,
    reason: &str,
    after: Option<u32>,
    seen: &mut Seen,
) -> Vec<Beat> {
    seen.what = format!("error {status}");
    let mut beats = beats::json(status, &wire.error(status, reason));
    if let (Some(seconds), Some(Beat::Head(head))) = (after, beats.first_mut()) {
        head.headers.push(("retry-after", seconds.to_string()));
    }
    beats
}

#[cfg(test)]
mod tests;
