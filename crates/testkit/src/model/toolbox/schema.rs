//! Values for what a JSON schema requires and a script says nothing about.

use serde_json::{Map, Value, json};

/// A schema that leads to itself is followed so far.
const DEEPEST: usize = 12;

/// A value that fits.
pub(in crate::model) fn value(schema: &Value) -> Value {
    fill(schema, "", DEEPEST)
}

/// Adds what is required and missing.
pub(super) fn complete(schema: &Map<String, Value>, arguments: &mut Map<String, Value>) {
    let properties = schema.get("properties");
    for name in required(schema) {
        if !arguments.contains_key(name) {
            let property = properties.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
            arguments.insert(name.to_owned(), fill(property, name, DEEPEST));
        }
    }
}

/// A value without what its schema does not know, and with what it requires; lists and objects in it as well.
pub(super) fn fitted(schema: &Value, value: &Value) -> Value {
    match (value, schema.get("properties").and_then(Value::as_object)) {
        (Value::Object(object), Some(known)) => {
            let fits = object
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), fitted(known.get(name)?, value))));
            let mut object: Map<String, Value> = fits.collect();
            complete(&schema.as_object().cloned().unwrap_or_default(), &mut object);
            Value::Object(object)
        }
        (Value::Array(items), _) => {
            let item = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(items.iter().map(|value| fitted(item, value)).collect())
        }
        (other, _) => other.clone(),
    }
}

fn required(schema: &Map<String, Value>) -> Vec<&str> {
    let named = schema.get("required").and_then(Value::as_array);
    named.map(|names| names.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn fill(schema: &Value, name: &str, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    for key in ["const", "default"] {
        if let Some(fixed) = schema.get(key) {
            return fixed.clone();
        }
    }
    if let Some(first) = schema.get("enum").and_then(|all| all.get(0)) {
        return first.clone();
    }
    for key in ["anyOf", "oneOf"] {
        let Some(all) = schema.get(key).and_then(Value::as_array) else { continue };
        let is_null = |one: &&Value| one.get("type").is_none_or(|kind| kind != "null");
        if let Some(one) = all.iter().find(is_null) {
            return fill(one, name, depth);
        }
    }
    match kind(schema).as_str() {
        "object" => {
            let Some(object) = schema.as_object() else { return json!({}) };
            let properties = schema.get("properties");
            let filled = required(object).into_iter().map(|name| {
                let property = properties.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
                (name.to_owned(), fill(property, name, depth))
            });
            Value::Object(filled.collect())
        }
        "array" => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(8);
            let item = schema.get("items").unwrap_or(&Value::Null);
            Value::Array((0..least).map(|_| fill(item, name, depth)).collect())
        }
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        "boolean" => Value::Bool(false),
        "null" => Value::Null,
        _ => Value::String(if name.is_empty() {
            "scripted".to_owned()
        } else {
            format!("scripted {name}")
        }),
    }
}

/// The type, in lower case; Gemini writes them in upper case.
fn kind(schema: &Value) -> String {
    let told = match schema.get("type") {
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).find(|kind| *kind != "null")
        }
        Some(other) => other.as_str(),
        None => None,
    };
    let usual = if schema.get("properties").is_some() { "object" } else { "string" };
    told.unwrap_or(usual).to_ascii_lowercase()
}
