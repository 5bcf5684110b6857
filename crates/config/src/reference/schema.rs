//! JSON Schema, draft 2020-12, as editors read it.

use serde_json::{Map, Value, json};

use crate::{
    FileKind,
    shape::{Field, Form, Kind, Presence, Record},
};

pub(crate) fn of(file: FileKind) -> Value {
    let title = match file {
        FileKind::Server => "lamp.yaml",
        FileKind::Agent => "agents/*.yaml",
        FileKind::Policy => "policy.yaml",
    };
    let mut schema = kind(&file.shape());
    if let Some(keys) = schema.as_object_mut() {
        keys.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        keys.insert("title".to_owned(), title.into());
    }
    schema
}

fn kind(described: &Kind) -> Value {
    match described {
        Kind::Text(form) => text(form),
        Kind::Value(form) => {
            json!({ "type": ["string", "number", "boolean"], "description": form.help })
        }
        Kind::Number { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Decimal(form) => json!({ "type": "number", "description": form.help }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Words(words) => {
            let words: Vec<Value> = words
                .iter()
                .map(|word| json!({ "const": word.word, "description": word.help }))
                .collect();
            json!({ "oneOf": words })
        }
        Kind::List(item) => json!({ "type": "array", "items": kind(item) }),
        Kind::Record(fields) => record(fields, None),
        Kind::Choice { key, options } => {
            let options: Vec<Value> =
                options.iter().map(|(word, fields)| record(fields, Some((key, word)))).collect();
            json!({ "oneOf": options })
        }
        Kind::ShortOrLong { short, long } => json!({ "oneOf": [text(short), record(long, None)] }),
    }
}

fn text(form: &Form) -> Value {
    let mut schema = json!({ "type": "string", "description": form.help });
    if let (Some(pattern), Some(keys)) = (form.pattern, schema.as_object_mut()) {
        keys.insert("pattern".to_owned(), pattern.into());
    }
    schema
}

fn record(described: &Record, tag: Option<(&str, &str)>) -> Value {
    let mut properties: Map<String, Value> =
        described.fields.iter().map(|it| (it.key.to_owned(), field(it))).collect();
    let mut required: Vec<&str> = described
        .fields
        .iter()
        .filter(|field| matches!(field.presence, Presence::Required))
        .map(|field| field.key)
        .collect();
    if let Some((key, word)) = tag {
        properties.insert(key.to_owned(), json!({ "const": word }));
        required.insert(0, key);
    }
    json!({
        "type": "object",
        "description": described.help,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The field's own words say more about it than its form's.
fn field(described: &Field) -> Value {
    let mut schema = kind(&described.kind);
    if let Some(keys) = schema.as_object_mut() {
        keys.insert("description".to_owned(), described.help.clone().into());
        if let Presence::Optional { default } = &described.presence
            && !default.is_null()
        {
            keys.insert("default".to_owned(), default.clone());
        }
    }
    schema
}
