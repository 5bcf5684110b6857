//! YAML as a tree that remembers where everything stood.
//!
//! Scalars stay text until a reader knows what they should be, so that `no` and
//! `1.10` are never something else by accident. What makes a file hard to read
//! or dangerous to load is refused here, for all files: duplicate keys, anchors
//! and aliases, tags, several documents, deep nesting, large files.

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};

use crate::problem::{Place, Problems, quoted};

/// A file that people write by hand is a few kilobytes.
pub(crate) const SIZE_LIMIT: usize = 1024 * 1024;
const NESTING_LIMIT: usize = 32;
const KEYS_LIMIT: usize = 1000;

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Text {
        text: String,
        style: Style,
    },
    List(Vec<Node>),
    Section(Vec<Entry>),
    /// A key without a value, or `~`.
    Nothing,
    /// Something that was reported while the tree was built.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Quoted,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Section(entries) => entries,
            Content::Text { .. } | Content::List(_) | Content::Nothing | Content::Broken => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            Content::Text { .. } | Content::Section(_) | Content::Nothing | Content::Broken => &[],
        }
    }

    pub(crate) fn is_empty_list(&self) -> bool {
        matches!(&self.content, Content::List(items) if items.is_empty())
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text { text, .. } => Some(text),
            Content::List(_) | Content::Section(_) | Content::Nothing | Content::Broken => None,
        }
    }

    /// What a person sees here, for "must be a number, not …".
    pub(crate) fn describe(&self) -> String {
        match &self.content {
            Content::Text { text, style: Style::Plain } => quoted(text),
            Content::Text { text, style: Style::Quoted } => format!("the text {}", quoted(text)),
            Content::List(_) => "a list".to_owned(),
            Content::Section(_) => "a section with keys".to_owned(),
            Content::Nothing => "empty".to_owned(),
            Content::Broken => "broken".to_owned(),
        }
    }
}

/// Reads one document. Reports at least one problem wherever it answers `None`.
pub(crate) fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    if text.len() > SIZE_LIMIT {
        let what = format!("the file has {} bytes; {SIZE_LIMIT} is the limit", text.len());
        problems.report(Place::START, what, "check that this is the right file");
        return None;
    }
    if let Some(place) = control_character(text) {
        let help = "save the file as plain UTF-8 text";
        problems.report(place, "the file contains a control character", help);
        return None;
    }
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        disallow_directives: true,
        flow_nesting_limit: NESTING_LIMIT,
        block_nesting_limit: NESTING_LIMIT,
    };
    let mut tree = Tree { open: Vec::new(), documents: Vec::new(), problems };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => tree.take(event, &span),
            Err(error) => {
                tree.problems.report(place_of(&error), explain(&error), help(text, &error));
                return None;
            }
        }
    }
    let mut documents = tree.documents.into_iter();
    let first = documents.next();
    if let Some(second) = documents.next() {
        let help = "write each into a file of its own";
        problems.report(second.place, "a second document begins here", help);
    }
    first
}

/// Builds the tree from events, on a stack of its own instead of the program's.
struct Tree<'a> {
    open: Vec<Open>,
    documents: Vec<Node>,
    problems: &'a mut Problems,
}

/// A list or section whose end has not been seen.
struct Open {
    place: Place,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Section { entries: Vec<Entry>, key: Option<Node> },
}

impl Tree<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) {
        let place = place(span.start.line(), span.start.col());
        self.refuse_extras(&event, place);
        match event {
            Event::Scalar(text, style, ..) => {
                let content = scalar(&text, style);
                self.add(Node { place, content });
            }
            Event::SequenceStart(..) => {
                self.open(Open { place, kind: OpenKind::List(Vec::new()) });
            }
            Event::MappingStart(..) => {
                let kind = OpenKind::Section { entries: Vec::new(), key: None };
                self.open(Open { place, kind });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let help = "write the value out where it is used";
                self.problems.report(place, "aliases are not read", help);
                self.add(Node { place, content: Content::Broken });
            }
            // Marks carry nothing, and what a newer parser adds is not asked for.
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            | _ => {}
        }
    }

    fn refuse_extras(&mut self, event: &Event<'_>, place: Place) {
        if event.anchor_id().is_some() {
            let help = "write the value out where it is used";
            self.problems.report(place, "anchors are not read", help);
        }
        if let Some(tag) = event.tag() {
            let what = format!("the tag {} is not read", quoted(&tag.original()));
            self.problems.report(place, what, "remove it: the key decides what its value is");
        }
    }

    fn open(&mut self, open: Open) {
        if self.open.len() == NESTING_LIMIT {
            let what = format!("nested more than {NESTING_LIMIT} levels deep");
            self.problems.report(open.place, what, "no key of ours is that deep");
        }
        self.open.push(open);
    }

    fn close(&mut self) {
        let Some(Open { place, kind }) = self.open.pop() else { return };
        if self.open.len() >= NESTING_LIMIT {
            self.add(Node { place, content: Content::Broken });
            return;
        }
        let content = match kind {
            OpenKind::List(items) => Content::List(items),
            OpenKind::Section { entries, .. } => Content::Section(entries),
        };
        self.add(Node { place, content });
    }

    fn add(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return;
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Section { entries, key } => match key.take() {
                None => *key = Some(node),
                Some(key) => add_entry(entries, &key, node, self.problems),
            },
        }
    }
}

fn add_entry(entries: &mut Vec<Entry>, key: &Node, value: Node, problems: &mut Problems) {
    let place = key.place;
    let Some(name) = key.text() else {
        problems.report(place, format!("a key must be a word, not {}", key.describe()), "name it");
        return;
    };
    if entries.len() >= KEYS_LIMIT {
        if !problems.are_many() {
            let what = format!("this section has more than {KEYS_LIMIT} keys");
            problems.report(place, what, "check that this is the right file");
        }
        return;
    }
    if let Some(first) = entries.iter().find(|entry| entry.key == name) {
        let what = format!("the key {} is here twice", quoted(name));
        let help = format!("it is already on line {}; keep one of the two", first.place.line);
        problems.report(place, what, help);
        return;
    }
    entries.push(Entry { key: name.to_owned(), place, value });
}

fn scalar(text: &str, style: ScalarStyle) -> Content {
    match style {
        ScalarStyle::Plain if matches!(text, "" | "~" | "null" | "Null" | "NULL") => {
            Content::Nothing
        }
        ScalarStyle::Plain => Content::Text { text: text.to_owned(), style: Style::Plain },
        ScalarStyle::SingleQuoted
        | ScalarStyle::DoubleQuoted
        | ScalarStyle::Literal
        | ScalarStyle::Folded => Content::Text { text: text.to_owned(), style: Style::Quoted },
    }
}

fn control_character(text: &str) -> Option<Place> {
    let is_refused = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    let (line, column) = text
        .lines()
        .enumerate()
        .find_map(|(line, text)| text.chars().position(is_refused).map(|column| (line, column)))?;
    Some(place(line + 1, column))
}

const fn place(line: usize, column_from_zero: usize) -> Place {
    Place { line, column: column_from_zero + 1 }
}

fn place_of(error: &ScanError) -> Place {
    place(error.marker().line(), error.marker().col())
}

fn explain(error: &ScanError) -> String {
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return format!("nested more than {NESTING_LIMIT} levels deep");
    }
    format!("this is not YAML: {}", error.info())
}

/// A tab in the indentation is the one slip that the parser's words do not explain.
fn help(text: &str, error: &ScanError) -> String {
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return "no key of ours is that deep; check the indentation and brackets".to_owned();
    }
    if matches!(error.kind(), ErrorKind::DirectiveDisallowed) {
        return "remove the line that begins with `%`".to_owned();
    }
    let line = text.lines().nth(error.marker().line().saturating_sub(1)).unwrap_or_default();
    let has_tab = line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t');
    if has_tab {
        return "this line is indented with a tab; use spaces".to_owned();
    }
    "check the indentation, quotes and brackets around here".to_owned()
}
