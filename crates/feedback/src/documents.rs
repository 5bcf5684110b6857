//! Finds the documents in what was printed: JSON in lines, JSON as a whole, XML. What is left is text.
//!
//! Tools print documents between other lines, so each line that may begin one is tried. How often and how much is tried is limited, so that
//! nobody makes us read the same bytes again and again, or keep more than they sent.

use serde_json::Value;

use crate::{
    compiler, go,
    javascript::{eslint, jest_report},
    junit,
    location::Workspace,
    python::{mypy, pytest_report, ruff},
    report::Report,
    rust, sarif,
};

/// Places in one stream where a document of several lines may turn out not to be one. What is one costs nothing: it is read once.
const MOST_TRIES: usize = 16;
/// Values in one document: each takes far more memory than the two bytes that it can be written in.
const MOST_VALUES: usize = 500_000;

/// Reads documents, with what has to be remembered from one line to the next.
pub(crate) struct Documents<'a> {
    workspace: &'a Workspace,
    suites: &'a mut rust::libtest::Suites,
    report: Report,
    go: go::events::Events,
    rust: rust::events::Events,
    /// What is no document, or none that we understand.
    rest: String,
}

/// Takes the documents out of the text. What is left is handed back.
pub(crate) fn read(
    text: &str,
    suites: &mut rust::libtest::Suites,
    workspace: &Workspace,
) -> (Report, String) {
    let mut documents = Documents {
        workspace,
        suites,
        report: Report::new(),
        go: go::events::Events::default(),
        rust: rust::events::Events::default(),
        rest: String::new(),
    };
    documents.scan(text);
    documents.go.finish(&mut documents.report, workspace);
    (documents.report, documents.rest)
}

impl Documents<'_> {
    fn scan(&mut self, text: &str) {
        let mut tries = MOST_TRIES;
        let mut rest = text;
        while !rest.is_empty() {
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            let length = self.document(line, rest, &mut tries).unwrap_or_else(|| {
                self.rest.push_str(line);
                line.len()
            });
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// How long the document is that begins here, if there is one.
    fn document(&mut self, line: &str, rest: &str, tries: &mut usize) -> Option<usize> {
        let bare = line.trim();
        match bare.as_bytes().first()? {
            b'{' | b'[' => {
                if let Some(value) = value(bare) {
                    return self.understood(&value).then_some(line.len());
                }
                // Most lines that look like JSON are not: a document of several lines begins with little more than its bracket.
                let begins = ["{", "[", "[{", "{}"].contains(&bare)
                    || bare.starts_with("[{")
                    || bare.starts_with("{\"")
                    || bare.starts_with("{ \"");
                if !begins || *tries == 0 {
                    return None;
                }
                let found = first_value(rest).filter(|(value, _)| self.understood(value));
                *tries -= usize::from(found.is_none());
                found.map(|(_, length)| length)
            }
            b'<' if junit::begins(bare) => {
                if *tries == 0 {
                    return None;
                }
                let indent = line.len() - line.trim_start().len();
                let found = junit::read(rest.get(indent..)?, self.workspace);
                *tries -= usize::from(found.is_none());
                let (report, length) = found?;
                self.report.join(report);
                Some(indent + length.max(1))
            }
            _ => None,
        }
    }

    fn understood(&mut self, value: &Value) -> bool {
        match value {
            Value::Array(items) => {
                // One that is not understood is another tool's: then it is text.
                let known = items.first().is_some_and(|item| {
                    ruff::speaks_json(item)
                        || eslint::speaks_json(item)
                        || compiler::speaks_json(item)
                });
                for item in items.iter().filter(|_| known) {
                    self.item(item);
                }
                known
            }
            Value::Object(_) => self.object(value),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    fn item(&mut self, item: &Value) -> bool {
        if ruff::speaks_json(item) {
            ruff::take(item, &mut self.report, self.workspace);
        } else if eslint::speaks_json(item) {
            eslint::take(item, &mut self.report, self.workspace);
        } else if compiler::speaks_json(item) {
            compiler::take(item, &mut self.report, self.workspace);
        } else {
            return false;
        }
        true
    }

    fn object(&mut self, value: &Value) -> bool {
        let (report, workspace) = (&mut self.report, self.workspace);
        if go::events::speaks(value) {
            if let Some(compiler) = self.go.take(value, report, workspace) {
                self.rest.push_str(compiler);
            }
        } else if rust::events::speaks(value) {
            self.rust.take(value, self.suites, report, workspace);
        } else if rust::messages::speaks(value) {
            rust::messages::take(value, report, workspace);
        } else if sarif::speaks(value) {
            sarif::take(value, report, workspace);
        } else if jest_report::speaks(value) {
            jest_report::take(value, report, workspace);
        } else if pytest_report::speaks(value) {
            pytest_report::take(value, report, workspace);
        } else if mypy::speaks_json(value) {
            mypy::take(value, report, workspace);
        } else if go::build::speaks_json(value) {
            go::build::take(value, report, workspace);
        } else {
            return self.item(value);
        }
        true
    }
}

/// The one value that a line is.
fn value(line: &str) -> Option<Value> {
    affordable(line).then(|| serde_json::from_str(line).ok())?
}

/// The value that a text begins with, and its length. What follows it is somebody else's.
fn first_value(text: &str) -> Option<(Value, usize)> {
    if !affordable(text) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

fn affordable(text: &str) -> bool {
    text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).take(MOST_VALUES + 1).count()
        <= MOST_VALUES
}
