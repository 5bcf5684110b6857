//! Which kind of answer it is, and whether it is as its schema says.

use contracts::agent::Mode;
use domain::visible::is_visible;
use serde_json::Value;

use super::{Faults, path};

/// What an answer can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Question,
    Plan,
    Review,
    Notes,
    Change,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Question, Self::Plan, Self::Review, Self::Notes, Self::Change];

    /// What an agent in `mode` is asked for.
    pub(crate) const fn of(mode: Mode) -> Self {
        match mode {
            Mode::Research => Self::Notes,
            Mode::Plan => Self::Plan,
            Mode::Implement => Self::Change,
            Mode::Review => Self::Review,
        }
    }

    /// What it may say instead. A reviewer asks nobody: who does not know whether a change is right says what is to be shown.
    pub(crate) const fn instead(mode: Mode) -> Option<Self> {
        match mode {
            Mode::Research | Mode::Plan | Mode::Implement => Some(Self::Question),
            Mode::Review => None,
        }
    }

    /// The only key of its object.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Notes => "notes",
            Self::Change => "change",
        }
    }

    pub(crate) const fn schema(self) -> &'static str {
        match self {
            Self::Question => {
                include_str!("../../../../docs/reference/prompts/schemas/question.json")
            }
            Self::Plan => include_str!("../../../../docs/reference/prompts/schemas/plan.json"),
            Self::Review => include_str!("../../../../docs/reference/prompts/schemas/review.json"),
            Self::Notes => include_str!("../../../../docs/reference/prompts/schemas/notes.json"),
            Self::Change => include_str!("../../../../docs/reference/prompts/schemas/change.json"),
        }
    }
}

/// The kind of `value`, if an agent in `mode` may give it.
pub(super) fn kind(mode: Mode, value: &Value) -> Result<Kind, Faults> {
    let (wanted, instead) = (Kind::of(mode), Kind::instead(mode));
    let expected = || {
        let other = instead.map(|kind| format!(" or `{}`", kind.name())).unwrap_or_default();
        format!("it must be an object with one key, `{}`{other}", wanted.name())
    };
    let object = value
        .as_object()
        .ok_or_else(|| Faults::one(format!("the answer is not an object: {}", expected())))?;
    let mut keys = object.keys();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        let count = object.len();
        return Err(Faults::one(format!("the answer has {count} keys: {}", expected())));
    };
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == key);
    kind.filter(|kind| *kind == wanted || Some(*kind) == instead)
        .ok_or_else(|| Faults::one(format!("the answer has the key `{key}`: {}", expected())))
}

/// All that is wrong with it, each with its place.
pub(super) fn check(kind: Kind, value: &Value) -> Result<(), Faults> {
    let schema = serde_json::from_str(kind.schema()).map_err(|error| unusable(kind, &error))?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| unusable(kind, &error))?;
    let mut faults: Vec<String> = validator
        .iter_errors(value)
        .take(MOST_FAULTS)
        .map(|error| format!("{}: {}", error.instance_path(), error.masked()))
        .collect();
    look(value, &mut Vec::new(), &mut faults);
    // By place, and not as maps happen to be ordered.
    faults.sort_unstable();
    if faults.is_empty() { Ok(()) } else { Err(Faults::all(faults)) }
}

/// Our own schema is wrong, which the tests would have shown.
fn unusable(kind: Kind, error: &dyn std::fmt::Display) -> Faults {
    Faults::one(format!("the schema of `{}` cannot be used: {error}", kind.name()))
}

/// More than are told. An answer may have hundreds of thousands.
const MOST_FAULTS: usize = 40;

/// Letters of a name in a place.
const LONGEST_KEY: usize = 64;

/// What a schema cannot say: characters that nobody sees, and paths that lead elsewhere.
fn look(value: &Value, place: &mut Vec<String>, faults: &mut Vec<String>) {
    if faults.len() >= MOST_FAULTS {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            let mut tell = |what: &str| faults.push(format!("/{}: {what}", place.join("/")));
            if let Some(odd) = text.chars().find(|it| !is_visible(*it)) {
                tell(&format!("has the character U+{:04X}, which cannot be shown", u32::from(odd)));
            }
            if place.last().is_some_and(|key| key == "path")
                && let Some(what) = path::fault(text)
            {
                tell(&format!("`{text}` {what}"));
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                place.push(at.to_string());
                look(item, place, faults);
                place.pop();
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                place.push(key.chars().take(LONGEST_KEY).collect());
                look(item, place, faults);
                place.pop();
            }
        }
    }
}
