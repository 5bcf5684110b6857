//! From directives to steps. A directive that is wrong is an error: a test that misspells one must not pass.

use std::{str::FromStr, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Act, Fault, Mischief, Script, Step, Toolless};
use crate::model::{lures::Lure, usage::Usage};

/// What every directive begins with.
pub(super) const MARK: &str = "play:";

/// What is wrong with a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(String);

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the script is wrong: {}", self.0)
    }
}

impl std::error::Error for Wrong {}

impl Wrong {
    pub(in crate::model) fn unknown(name: &str) -> Self {
        Self(format!("nobody gave the model a script `{name}`"))
    }

    pub(in crate::model) fn endless(name: &str) -> Self {
        Self(format!("`{name}` stands for itself"))
    }
}

impl FromStr for Script {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        parse(text)
    }
}

/// Whether a text has directives in it.
pub(in crate::model) fn carries(text: &str) -> bool {
    directives(text).next().is_some()
}

/// The text of each directive, without the mark.
fn directives(text: &str) -> impl Iterator<Item = &str> {
    let starts_word = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|before| !before.is_alphanumeric())
    };
    text.match_indices(MARK).filter(move |(at, _)| starts_word(*at)).filter_map(|(at, mark)| {
        let rest = text.get(at + mark.len()..)?;
        let line = rest.split(['\n', '\r']).next()?;
        line.split(";;").next().map(str::trim)
    })
}

pub(super) fn parse(text: &str) -> Result<Script, Wrong> {
    let mut script = Script::default();
    let mut next = Pending::default();
    for directive in directives(text) {
        next.take(directive, &mut script)?;
    }
    if next != Pending::default() {
        // What was meant for an answer that is not there gets one.
        let text = next.say.take().unwrap_or_else(|| "Done.".to_owned());
        script.steps.push(next.step(Act::Text(text)));
    }
    Ok(script)
}

/// What was said about the next step so far.
#[derive(Debug, Default, PartialEq)]
struct Pending {
    say: Option<String>,
    think: Option<String>,
    usage: Option<Usage>,
    faults: Vec<Fault>,
}

impl Pending {
    fn step(&mut self, act: Act) -> Step {
        let Self { say, think, usage, faults } = std::mem::take(self);
        Step { act, say, think, usage, faults }
    }

    fn fault(&mut self, kind: Mischief, times: Option<u32>) {
        self.faults.push(Fault { kind, times });
    }

    fn take(&mut self, directive: &str, script: &mut Script) -> Result<(), Wrong> {
        let spoken = Spoken::read(directive)?;
        let words: Vec<&str> = spoken.raw.split_whitespace().collect();
        let times = || match words.as_slice() {
            [] => Ok(None),
            [times] => number(directive, times).map(Some),
            [_, _, ..] => Err(wrong(directive, "has too many words")),
        };
        match spoken.verb.as_str() {
            "say" => self.say = Some(spoken.text()),
            "think" => self.think = Some(spoken.text()),
            "usage" => self.usage = Some(usage(directive, &words)?),
            "error" => {
                let (kind, times) = error(directive, &words)?;
                self.fault(kind, times);
            }
            "wait" => self.fault(Mischief::Wait(seconds(directive, &spoken.raw)?), None),
            "slow" => self.fault(Mischief::Slow(seconds(directive, &spoken.raw)?), None),
            "hang" => self.fault(Mischief::Hang, times()?),
            "stall" => self.fault(Mischief::Stall, times()?),
            "cut" => self.fault(Mischief::Cut, times()?),
            "garble" => self.fault(Mischief::Garble, times()?),
            "badargs" => self.fault(Mischief::BadArguments, times()?),
            "endless" => self.fault(Mischief::Endless, times()?),
            "length" => self.fault(Mischief::Length, times()?),
            "giant" => self.fault(Mischief::Giant { mib: number(directive, &spoken.raw)? }, None),
            "toolless" => script.toolless = Toolless::Plays,
            "inject" => {
                let lure: Lure = spoken.raw.parse().map_err(|error| Wrong(format!("{error}")))?;
                for act in lure.played() {
                    script.steps.push(self.step(act));
                }
            }
            _ => script.steps.push(self.step(act(directive, &spoken)?)),
        }
        Ok(())
    }
}

/// A verb, and what follows it.
struct Spoken {
    verb: String,
    raw: String,
    form: Form,
}

enum Form {
    Typed,
    Base64,
}

impl Spoken {
    fn read(directive: &str) -> Result<Self, Wrong> {
        let (verb, rest) = directive.split_once([' ', '\t']).unwrap_or((directive, ""));
        let rest = rest.trim();
        let Some(verb) = verb.strip_suffix("64") else {
            return Ok(Self { verb: verb.to_owned(), raw: rest.to_owned(), form: Form::Typed });
        };
        let bytes = STANDARD.decode(rest).map_err(|_| wrong(directive, "is no base64"))?;
        let raw = String::from_utf8(bytes).map_err(|_| wrong(directive, "is no text"))?;
        Ok(Self { verb: verb.to_owned(), raw, form: Form::Base64 })
    }

    /// What follows, with its escapes read.
    fn text(&self) -> String {
        self.meant(&self.raw)
    }

    fn meant(&self, part: &str) -> String {
        match self.form {
            Form::Typed => unescaped(part),
            Form::Base64 => part.to_owned(),
        }
    }

    /// The first word, and the rest.
    fn split(&self) -> (&str, &str) {
        self.raw.split_once(' ').unwrap_or((&self.raw, ""))
    }

    fn items(&self) -> Vec<String> {
        let all = self.raw.split('|').map(str::trim).filter(|item| !item.is_empty());
        all.map(|item| self.meant(item)).collect()
    }
}

fn act(directive: &str, spoken: &Spoken) -> Result<Act, Wrong> {
    let (first, rest) = spoken.split();
    let path = || {
        let named = (!first.is_empty()).then(|| first.to_owned());
        named.ok_or_else(|| wrong(directive, "names no file"))
    };
    Ok(match spoken.verb.as_str() {
        "write" => Act::Write { path: path()?, text: spoken.meant(rest) },
        "edit" => {
            let (old, new) =
                rest.split_once(" => ").ok_or_else(|| wrong(directive, "has no ` => `"))?;
            Act::Edit { path: path()?, old: spoken.meant(old), new: spoken.meant(new) }
        }
        "read" => Act::Read { path: path()? },
        "shell" => Act::Shell { command: spoken.raw.clone() },
        "plan" => Act::Plan { items: spoken.items() },
        "exitplan" => Act::ExitPlan { plan: spoken.text() },
        "ask" => {
            let mut items = spoken.items().into_iter();
            let question = items.next().ok_or_else(|| wrong(directive, "asks nothing"))?;
            Act::Ask { question, choices: items.collect() }
        }
        "tool" => Act::Tool { name: first.to_owned(), arguments: rest.trim().to_owned() },
        "forever" => {
            let inner = Spoken::read(&spoken.raw)?;
            Act::Forever(Box::new(act(&spoken.raw, &inner)?))
        }
        "text" | "answer" => Act::Text(spoken.text()),
        "refuse" => Act::Refuse(spoken.text()),
        "lure" => {
            let lure: Lure = spoken.raw.parse().map_err(|error| Wrong(format!("{error}")))?;
            Act::Text(lure.text().to_owned())
        }
        "script" => Act::Script(spoken.raw.clone()),
        _ => return Err(wrong(directive, "has a verb that nobody knows")),
    })
}

fn usage(directive: &str, words: &[&str]) -> Result<Usage, Wrong> {
    let mut numbers = words.iter().map(|word| number(directive, word));
    let mut next = || numbers.next().transpose();
    let missing = || wrong(directive, "needs two or three numbers");
    let input = next()?.ok_or_else(missing)?;
    let output = next()?.ok_or_else(missing)?;
    let cached = next()?.unwrap_or(0);
    if next()?.is_some() {
        return Err(missing());
    }
    Ok(Usage { input, cached, output })
}

fn error(directive: &str, words: &[&str]) -> Result<(Mischief, Option<u32>), Wrong> {
    let (words, after) = match words {
        [before @ .., "after", seconds] => (before, Some(number(directive, seconds)?)),
        words => (words, None),
    };
    let (status, times) = match words {
        [status] => (number(directive, status)?, None),
        [status, times] => (number(directive, status)?, Some(number(directive, times)?)),
        [] | [_, _, _, ..] => return Err(wrong(directive, "needs a status")),
    };
    if !(400..600).contains(&status) {
        return Err(wrong(directive, "has a status that is no error"));
    }
    Ok((Mischief::Error { status, after }, times))
}

fn seconds(directive: &str, word: &str) -> Result<Duration, Wrong> {
    let number = word.parse::<f64>().ok();
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    duration.ok_or_else(|| wrong(directive, "needs seconds"))
}

fn number<N: FromStr>(directive: &str, word: &str) -> Result<N, Wrong> {
    word.parse().map_err(|_| wrong(directive, "has something else where a number belongs"))
}

fn wrong(directive: &str, why: &str) -> Wrong {
    Wrong(format!("`{directive}` {why}"))
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
    out
}
