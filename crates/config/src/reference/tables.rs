//! Tables of keys, for the pages in `docs/reference`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    FileKind,
    shape::{Field, Kind, Presence, Record},
};

pub(crate) fn of(file: FileKind) -> String {
    let mut page = Page::default();
    if let Kind::Record(record) = file.shape() {
        page.table("Top level", &record, "");
    }
    page.text.trim_end().to_owned()
}

#[derive(Default)]
struct Page {
    text: String,
    /// The sections that have a table, by what they are for, with their titles.
    told: BTreeMap<String, String>,
}

impl Page {
    /// One table for a section, then one for each section inside it. A section
    /// that appears again under another key refers to its first table.
    fn table(&mut self, title: &str, record: &Record, path: &str) {
        let keys: Vec<&str> = record.fields.iter().map(|field| field.key).collect();
        let identity = format!("{} {}", record.help, keys.join(" "));
        if let Some(first) = self.told.get(&identity) {
            self.text += &["### ", title, "\n\nThe same keys as ", first, ".\n\n"].concat();
            return;
        }
        self.told.insert(identity, title.to_owned());
        self.text += &["### ", title, "\n\n", &record.help, "\n\n"].concat();
        if record.fields.is_empty() {
            return;
        }
        self.text += "| key | value | left out | |\n|---|---|---|---|\n";
        self.text.extend(record.fields.iter().map(row));
        self.text.push('\n');
        for field in &record.fields {
            self.inner(&field.kind, &format!("{path}{}", field.key));
        }
    }

    fn inner(&mut self, kind: &Kind, path: &str) {
        let below = format!("{path}.");
        match kind {
            Kind::Record(record) => self.table(&format!("`{path}`"), record, &below),
            Kind::List(item) => self.inner(item, &format!("{path}[]")),
            Kind::Choice { key, options } => {
                for (word, record) in options.iter().filter(|(_, it)| !it.fields.is_empty()) {
                    self.table(&format!("`{path}` with `{key}: {word}`"), record, &below);
                }
            }
            Kind::ShortOrLong { long, .. } => self.table(&format!("`{path}`"), long, &below),
            Kind::Text(_)
            | Kind::Value(_)
            | Kind::Number { .. }
            | Kind::Decimal(_)
            | Kind::Flag
            | Kind::Words(_) => {}
        }
    }
}

fn row(field: &Field) -> String {
    let Field { key, help, kind, presence } = field;
    format!("| `{key}` | {} | {} | {help} |\n", called(kind), absent(presence))
}

fn called(kind: &Kind) -> String {
    match kind {
        Kind::Text(form) | Kind::Value(form) | Kind::Decimal(form) => form.name.to_owned(),
        Kind::Number { least, most } if least == most => format!("`{least}`"),
        Kind::Number { least, most } => format!("{least} to {most}"),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Words(words) => {
            words.iter().map(|word| format!("`{}`", word.word)).collect::<Vec<_>>().join(", ")
        }
        Kind::List(item) => format!("list: {}", called(item)),
        Kind::Record(_) => "section".to_owned(),
        Kind::Choice { key, options } => {
            let words: Vec<String> = options.iter().map(|(word, _)| format!("`{word}`")).collect();
            format!("section with `{key}`: {}", words.join(", "))
        }
        Kind::ShortOrLong { short, .. } => short.name.to_owned(),
    }
}

fn absent(presence: &Presence) -> String {
    match presence {
        Presence::Required => "**required**".to_owned(),
        Presence::Optional { default: Value::Null | Value::Object(_) } => String::new(),
        Presence::Optional { default: Value::Array(items) } if items.is_empty() => String::new(),
        Presence::Optional { default: Value::Array(items) } => {
            format!("`[{}]`", items.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
        Presence::Optional {
            default: default @ (Value::Bool(_) | Value::Number(_) | Value::String(_)),
        } => format!("`{}`", plain(default)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
