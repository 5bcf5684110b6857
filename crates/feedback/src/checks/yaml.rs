//! YAML of strangers, as a tree without surprises.
//!
//! `config` reads the files that our people write, and tells them what is wrong. Here nobody is told anything: a file that cannot be
//! read says nothing about checks. Scalars stay text, so that `on` is no truth value. Aliases are not followed, because following them
//! is how a small file becomes a large one.

use granit_parser::{Event, Parser};

const NESTING_LIMIT: usize = 32;
const NODES_LIMIT: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A word or a text, with the line where it begins.
    Text(String, usize),
    List(Vec<Self>),
    Section(Vec<(String, Self)>),
    /// An alias, or something deeper than anybody writes.
    Unread,
}

impl Node {
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Section(entries) => entries,
            Self::Text(..) | Self::List(_) | Self::Unread => &[],
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Text(..) | Self::Section(_) | Self::Unread => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text, _) => Some(text),
            Self::List(_) | Self::Section(_) | Self::Unread => None,
        }
    }

    /// The line where it begins, or 0 where that is not known.
    pub(super) fn line(&self) -> usize {
        match self {
            Self::Text(_, line) => *line,
            Self::List(items) => items.first().map_or(0, Self::line),
            Self::Section(entries) => entries.first().map_or(0, |(_, value)| value.line()),
            Self::Unread => 0,
        }
    }
}

/// The first document.
pub(super) fn parse(text: &str) -> Option<Node> {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        disallow_directives: true,
        flow_nesting_limit: NESTING_LIMIT,
        block_nesting_limit: NESTING_LIMIT,
    };
    let mut open: Vec<Open> = Vec::new();
    let mut first = None;
    for (count, event) in Parser::new_from_str_with_options(text, options).enumerate() {
        if count > NODES_LIMIT {
            return None;
        }
        let (event, span) = event.ok()?;
        let node = match event {
            Event::Scalar(text, ..) => Node::Text(text.into_owned(), span.start.line()),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Section(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                Open::List(items) => Node::List(items),
                Open::Section(entries, _) => Node::Section(entries),
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => Node::Unread,
            // Marks carry nothing, and what a newer parser adds is not asked for.
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            | _ => {
                continue;
            }
        };
        match open.last_mut() {
            None => {
                first.get_or_insert(node);
            }
            Some(Open::List(items)) => items.push(node),
            Some(Open::Section(entries, key)) => match key.take() {
                None => *key = Some(node),
                Some(Node::Text(key, _)) => entries.push((key, node)),
                // A key that is no word is none that anybody asks for.
                Some(Node::List(_) | Node::Section(_) | Node::Unread) => {}
            },
        }
        if open.len() > NESTING_LIMIT {
            return None;
        }
    }
    first
}

/// A list or section whose end has not been seen; a section with the key whose value comes next.
enum Open {
    List(Vec<Node>),
    Section(Vec<(String, Node)>, Option<Node>),
}
