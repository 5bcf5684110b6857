//! What a value in a file may look like: how to read it, and how to describe it.
//!
//! One description serves three readers. [`Shape::read`] turns a node into a
//! typed value and reports what is wrong; [`Shape::kind`] is what the JSON Schema
//! and the reference pages are made of; [`Shape::write`] gives the value back as
//! it would be written. Because [`record!`](crate::shape::record) makes all three
//! from one list of fields, they cannot drift apart.

mod basic;
mod choice;
mod record;
mod text;
mod words;

use serde_json::Value;

pub use basic::Count;
pub(crate) use choice::{choice, read_tag};
pub(crate) use record::{Fields, Need, record};
pub(crate) use text::{Form, read_text, text};
pub(crate) use words::{flag, known_words, read_word, words};

use crate::{
    problem::Problems,
    yaml::{Content, Node},
};

pub(crate) trait Shape: Sized {
    /// The value, or `None` after reporting why not.
    fn read(node: &Node, problems: &mut Problems) -> Option<Self>;

    fn kind() -> Kind;

    /// The value as a person would write it. `Null` is a key that is left out.
    fn write(&self) -> Value;
}

/// What may be written in one place.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Text(Form),
    /// Text that may look like a number or a switch to other readers of YAML.
    Value(Form),
    Number {
        least: u64,
        most: u64,
    },
    Decimal(Form),
    Flag,
    Words(Vec<Word>),
    List(Box<Self>),
    Record(Record),
    /// A section whose other keys depend on the word under `key`.
    Choice {
        key: &'static str,
        options: Vec<(&'static str, Record)>,
    },
    /// A text for the usual case, or a section for more.
    ShortOrLong {
        short: Form,
        long: Record,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) word: &'static str,
    pub(crate) help: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) help: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) help: String,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
}

#[derive(Debug, Clone)]
pub(crate) enum Presence {
    Required,
    /// What holds when the key is left out.
    Optional {
        default: Value,
    },
}

/// The first sentences of a doc comment, as one line.
pub(crate) fn one_line(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Reports that the key being read should be something else.
pub(crate) fn report_mismatch(
    node: &Node,
    wanted: &str,
    help: impl Into<String>,
    problems: &mut Problems,
) {
    let key = problems.key();
    let what = match &node.content {
        Content::Broken => return,
        Content::Nothing => format!("{key} is empty, but must be {wanted}"),
        Content::Text { .. } | Content::List(_) | Content::Section(_) => {
            format!("{key} must be {wanted}, not {}", node.describe())
        }
    };
    problems.report(node.place, what, help);
}
