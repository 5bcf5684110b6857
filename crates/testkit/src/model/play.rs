//! Finds the script that a conversation plays, and its place in it.
//!
//! Nothing about a conversation is remembered: which step is next follows from the messages that the request brings. So one server serves any
//! number of programs at once, and retries, resumed sessions and new processes go on where they were. What is remembered is only how often a
//! fault that happens a few times has happened.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{
    conversation::{Conversation, Turn},
    reply::{End, Flood, Middle, Trouble},
    request::digest,
    script::{self, Act, Mischief, Script, Step, Toolless, Wrong},
    toolbox::{Call, Toolbox, value_of_schema},
    usage::Usage,
};

/// What a rule looks at: one text of the user's, and what surrounds it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The text. A rule is asked about each, beginning with the last.
    pub text: &'a str,
    /// What the program itself says. It is the same for every text of a conversation.
    pub system: &'a str,
    pub model: &'a str,
    pub tools: usize,
}

type Predicate = Arc<dyn Fn(&Asked<'_>) -> bool + Send + Sync>;

/// A script for prompts that say a certain thing.
#[derive(Clone)]
pub(super) struct Rule {
    pub(super) holds: Predicate,
    pub(super) script: Script,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("script", &self.script).finish_non_exhaustive()
    }
}

/// What a model was given to play.
#[derive(Debug, Clone, Default)]
pub(super) struct Repertoire {
    pub(super) rules: Vec<Rule>,
    pub(super) named: BTreeMap<String, Script>,
    pub(super) otherwise: Option<Script>,
    /// Where programs work that do not say it.
    pub(super) directory: Option<String>,
}

/// How often each fault has happened.
#[derive(Debug, Default)]
pub(super) struct Tries(BTreeMap<(String, usize, usize), u32>);

/// What is played.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Played {
    Error {
        place: Place,
        status: u16,
        after: Option<u32>,
    },
    Hang {
        place: Place,
    },
    Answer {
        place: Place,
        answer: Box<Answer>,
    },
    /// A title or a summary, which belongs to no script.
    Aside(String),
}

/// Which step of how many, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) step: usize,
    pub(super) of: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) think: Option<String>,
    pub(super) text: String,
    pub(super) call: Option<Call>,
    pub(super) end: End,
    pub(super) flood: Flood,
    pub(super) usage: Usage,
    pub(super) trouble: Trouble,
}

/// What a program gets that asks for a title or a summary.
const TITLE: &str = "A scripted title";
/// What it gets that has tools, but no script.
const NOTHING: &str = "There is nothing to play.";
/// Scripts may stand for each other so deep.
const DEEPEST: usize = 8;

/// A script, and the turn that it begins after.
struct Found {
    script: Script,
    start: usize,
    /// What tells one playing of a fault from another.
    key: String,
}

impl Repertoire {
    pub(super) fn play(&self, asked: &Conversation, tries: &mut Tries) -> Result<Played, Wrong> {
        let found = self.find(asked)?;
        let plays = found.as_ref().is_some_and(|it| it.script.toolless == Toolless::Plays);
        if asked.tools.is_empty() && !plays {
            let shaped = asked.schema.as_ref().map(|schema| value_of_schema(schema).to_string());
            return Ok(Played::Aside(shaped.unwrap_or_else(|| TITLE.to_owned())));
        }
        let Some(Found { script, start, key }) = found else {
            return Ok(Played::Aside(NOTHING.to_owned()));
        };
        let toolbox = Toolbox::new(asked, self.directory.as_deref());
        // The same prompt at another model, or from a program that works elsewhere, is another playing. Nothing finer will do: a program
        // that tries again may say everything else a little differently.
        let directory = toolbox.directory().unwrap_or_default();
        let key = digest(&[key.as_bytes(), asked.model.as_bytes(), b" ", directory.as_bytes()]);
        let mut steps = Vec::new();
        self.unfold(&script, &mut steps, DEEPEST)?;
        // What a program has no tool for is left out, so that one script fits all of them.
        let mut steps: Vec<(Step, Option<Call>)> = steps
            .into_iter()
            .map(|step| (toolbox.call(&step.act), step))
            .filter(|(call, step)| call.is_some() || ends(&step.act))
            .map(|(call, step)| (step, call))
            .collect();
        if steps.last().is_none_or(|(step, _)| !ends(&step.act)) {
            steps.push((Step::new(Act::Text("Done.".to_owned())), None));
        }
        let done = asked.answers_after(start);
        let stays = |step: &Step| matches!(step.act, Act::Forever(_));
        let forever = steps.iter().position(|(step, _)| stays(step)).unwrap_or(usize::MAX);
        let at = done.min(forever).min(steps.len().saturating_sub(1));
        let place = Place { step: at + 1, of: steps.len() };
        let Some((step, call)) = steps.into_iter().nth(at) else {
            return Ok(Played::Aside(NOTHING.to_owned()));
        };
        Ok(perform(step, call, place, &mut |fault, times| tries.happens(&key, at, fault, times)))
    }

    /// The last text of the user's that has a script: by a rule, or in itself. If none has, the last text with what is played otherwise.
    fn find(&self, asked: &Conversation) -> Result<Option<Found>, Wrong> {
        let prompts = || asked.turns.iter().enumerate().rev();
        for (start, text) in prompts().filter_map(|(at, turn)| Some((at, turn.prompt()?))) {
            let seen = Asked {
                text,
                system: &asked.system,
                model: &asked.model,
                tools: asked.tools.len(),
            };
            let rule = self.rules.iter().find(|rule| (rule.holds)(&seen));
            let script = match rule {
                Some(rule) => rule.script.clone(),
                None if script::carries(text) => Script::parse(text)?,
                None => continue,
            };
            return Ok(Some(Found { script, start, key: digest(&[text.as_bytes()]) }));
        }
        let last = prompts().find(|(_, turn)| turn.prompt().is_some());
        Ok(self.otherwise.clone().map(|script| Found {
            script,
            start: last.map_or(0, |(at, _)| at),
            key: digest(&[last
                .and_then(|(_, turn): (_, &Turn)| turn.prompt())
                .unwrap_or("")
                .as_bytes()]),
        }))
    }

    /// The steps of a script, with those of the scripts that it names.
    fn unfold(&self, script: &Script, into: &mut Vec<Step>, deep: usize) -> Result<(), Wrong> {
        for step in &script.steps {
            let Act::Script(name) = &step.act else {
                into.push(step.clone());
                continue;
            };
            let deep = deep.checked_sub(1).ok_or_else(|| Wrong::endless(name))?;
            let named = self.named.get(name).ok_or_else(|| Wrong::unknown(name))?;
            let first = into.len();
            self.unfold(named, into, deep)?;
            // What was said about the step that stands for others is said about the first of them.
            if let Some(inner) = into.get_mut(first) {
                inner.say = step.say.clone().or(inner.say.take());
                inner.think = step.think.clone().or(inner.think.take());
                inner.usage = step.usage.or(inner.usage);
                inner.faults.extend(step.faults.iter().cloned());
            }
        }
        Ok(())
    }
}

impl Tries {
    /// Whether a fault happens now; if so, it has happened once more.
    fn happens(&mut self, key: &str, step: usize, fault: usize, times: Option<u32>) -> bool {
        let Some(times) = times else { return true };
        let count = self.0.entry((key.to_owned(), step, fault)).or_default();
        let now = *count < times;
        *count += u32::from(now);
        now
    }
}

/// Whether a turn ends with it.
fn ends(act: &Act) -> bool {
    match act {
        Act::Text(_) | Act::Refuse(_) => true,
        Act::Write { .. }
        | Act::Edit { .. }
        | Act::Read { .. }
        | Act::Shell { .. }
        | Act::Plan { .. }
        | Act::ExitPlan { .. }
        | Act::Ask { .. }
        | Act::Tool { .. }
        | Act::Forever(_)
        | Act::Script(_) => false,
    }
}

fn perform(
    step: Step,
    call: Option<Call>,
    place: Place,
    happens: &mut dyn FnMut(usize, Option<u32>) -> bool,
) -> Played {
    let (text, end) = match step.act {
        Act::Text(text) => (join(step.say, Some(text)), End::Done),
        Act::Refuse(text) => (join(step.say, Some(text)), End::Refusal),
        Act::Write { .. }
        | Act::Edit { .. }
        | Act::Read { .. }
        | Act::Shell { .. }
        | Act::Plan { .. }
        | Act::ExitPlan { .. }
        | Act::Ask { .. }
        | Act::Tool { .. }
        | Act::Forever(_)
        | Act::Script(_) => (join(step.say, None), End::Done),
    };
    let mut answer = Answer {
        think: step.think,
        text,
        call,
        end,
        flood: Flood::None,
        usage: step.usage.unwrap_or(Usage::USUAL),
        trouble: Trouble::default(),
    };
    for (at, fault) in step.faults.iter().enumerate() {
        if !happens(at, fault.times) {
            continue;
        }
        match fault.kind {
            // These are the whole answer, so what comes after them has not happened yet.
            Mischief::Error { status, after } => return Played::Error { place, status, after },
            Mischief::Hang => return Played::Hang { place },
            Mischief::Wait(time) => answer.trouble.wait = Some(time),
            Mischief::Slow(time) => answer.trouble.slow = Some(time),
            Mischief::Stall => answer.trouble.middle = Some(Middle::Stall),
            Mischief::Cut => answer.trouble.middle = Some(Middle::Cut),
            Mischief::Garble => answer.trouble.middle = Some(Middle::Garble),
            Mischief::BadArguments => {
                if let Some(call) = &mut answer.call {
                    call.arguments = call.arguments.broken();
                }
            }
            Mischief::Giant { mib } => answer.flood = Flood::Mib(mib),
            Mischief::Endless => answer.flood = Flood::Endless,
            Mischief::Length => answer.end = End::Length,
        }
    }
    Played::Answer { place, answer: Box::new(answer) }
}

fn join(say: Option<String>, text: Option<String>) -> String {
    let parts: Vec<String> = [say, text].into_iter().flatten().collect();
    parts.join("\n")
}
