//! Takes out of what was recorded all that is different each time, and what is long and tells us nothing.
//!
//! Ids become `id-1`, `id-2` in the order of their appearance; times become `TIME`, and what a clock or a kernel counted becomes 0.
//! What programs list about themselves (tools, commands, descriptions of them) is cut: it is theirs, and no reader looks at it.

use std::collections::BTreeMap;

use regex_lite::{Captures, Regex};
use serde_json::Value;

/// Entries of a list that are kept, and letters of a text.
const ENTRIES: usize = 12;
const LETTERS: usize = 600;

/// The same of what a program lists about itself.
const OWN_ENTRIES: usize = 3;
const OWN_LETTERS: usize = 40;

const OWN: [&str; 14] = [
    "agents",
    "availableCommands",
    "availableModels",
    "available_output_styles",
    "capabilities",
    "commands",
    "description",
    "models",
    "options",
    "plugins",
    "skills",
    "slash_commands",
    "terminal_slash_commands",
    "tools",
];

/// UUIDs, long numbers in hex, and what programs and models put behind a word of theirs.
const IDS: &str = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(ses|msg|prt|toolu|call|resp|req|chatcmpl|fc)[_-][0-9A-Za-z_]{8,}|\b[0-9a-f]{14,}\b";
const TIMES: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?";
const PROCESSES: &str = r"(/tmp/cc-socks/|PGID: )\d+";

#[derive(Debug)]
pub(crate) struct Tidy {
    url: String,
    ids: Regex,
    times: Regex,
    processes: Regex,
    /// What was called how, in the order of appearance.
    names: BTreeMap<String, String>,
}

impl Tidy {
    pub(crate) fn new(url: &str) -> Result<Self, regex_lite::Error> {
        Ok(Self {
            url: url.to_owned(),
            ids: Regex::new(IDS)?,
            times: Regex::new(TIMES)?,
            processes: Regex::new(PROCESSES)?,
            names: BTreeMap::new(),
        })
    }

    pub(crate) fn line(&mut self, line: &Value) -> String {
        let mut line = line.clone();
        self.tidy(&mut line, "");
        line.to_string()
    }

    fn tidy(&mut self, value: &mut Value, key: &str) {
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    self.tidy(value, key);
                }
            }
            Value::Array(list) => {
                list.truncate(if OWN.contains(&key) { OWN_ENTRIES } else { ENTRIES });
                for value in list {
                    self.tidy(value, key);
                }
            }
            Value::String(text) => *text = self.text(text, key),
            Value::Number(_) if is_measured(key) => *value = Value::from(0),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn text(&mut self, text: &str, key: &str) -> String {
        let text = text.replace(&self.url, "http://model.lamp.internal");
        let text = self.times.replace_all(&text, "TIME");
        let text = self.processes.replace_all(&text, "${1}0");
        let (ids, names) = (&self.ids, &mut self.names);
        let text = ids.replace_all(&text, |found: &Captures<'_>| {
            let found = found.get(0).map_or("", |it| it.as_str());
            // A word of a language is no id.
            if !found.contains(|c: char| c.is_ascii_digit()) {
                return found.to_owned();
            }
            let next = format!("id-{}", names.len() + 1);
            names.entry(found.to_owned()).or_insert(next).clone()
        });
        let letters = if OWN.contains(&key) { OWN_LETTERS } else { LETTERS };
        if text.chars().count() <= letters {
            return text.into_owned();
        }
        let kept: String = text.chars().take(letters).collect();
        format!("{kept} …")
    }
}

/// A number that a clock or a kernel gave, or that depends on where this was recorded.
fn is_measured(key: &str) -> bool {
    const ENDS: [&str; 6] = ["_ms", "Ms", "time", "Time", "timestamp", "_at"];
    ENDS.iter().any(|end| key.ends_with(end)) || ["pid", "used"].contains(&key)
}
