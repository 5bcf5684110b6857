//! The pages that describe the format say what the code does.

use std::fmt::Write as _;

use evidence::{
    body::BLOCK_LIMIT,
    commit::NOTE_LIMIT,
    envelope::{ENVELOPE_LIMIT, SIGNATURES_LIMIT},
    receipt::{LIST_LIMIT, NUMBER_LIMIT, PAYLOAD_LIMIT, TEXT_LIMIT},
};
use serde_json::{Value, json};

use crate::stories;

const SCHEMA: &str = include_str!("../../../../docs/reference/receipt.schema.json");
const PAGE: &str = include_str!("../../../../docs/reference/receipt.md");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn payloads() -> Vec<Value> {
    let bytes = stories::all().into_iter().map(|(_, story)| story.statement.to_bytes().unwrap());
    bytes.map(|bytes| serde_json::from_slice(&bytes).unwrap()).collect()
}

#[test]
fn receipts_are_as_the_schema_says() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for payload in payloads() {
        let faults: Vec<String> = validator
            .iter_errors(&payload)
            .map(|it| format!("{}: {it}", it.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

/// Calls `each` with every object below `value`, and puts back what it changed.
fn every_object(whole: &Value, path: &str, each: &mut dyn FnMut(&str)) {
    let children: Vec<(String, &Value)> = match whole {
        Value::Object(entries) => {
            each(path);
            entries.iter().map(|(key, it)| (key.clone(), it)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, it)| (at.to_string(), it)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (step, child) in children {
        every_object(child, &format!("{path}/{step}"), each);
    }
}

/// What came later: receipts that were written before do not have it, and still hold.
const LATER: &[(&str, &str)] = &[
    ("/predicate", "dismissed"),
    ("/predicate", "followUps"),
    ("/predicate", "headline"),
    ("/predicate", "into"),
];

#[test]
fn the_schema_is_as_strict_as_the_reader() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut objects = 0;
    for payload in payloads() {
        every_object(&payload, "", &mut |path| {
            objects += 1;
            let keys: Vec<String> =
                payload.pointer(path).unwrap().as_object().unwrap().keys().cloned().collect();
            for key in keys {
                let mut changed = payload.clone();
                let entries = changed.pointer_mut(path).unwrap().as_object_mut().unwrap();
                entries.remove(&key);
                let may_lack = LATER.contains(&(path, key.as_str()));
                assert_eq!(validator.is_valid(&changed), may_lack, "without {path}/{key}");
            }
            let mut changed = payload.clone();
            changed.pointer_mut(path).unwrap()["extra"] = json!(1);
            assert!(!validator.is_valid(&changed), "more in {path}");
        });
    }
    assert!(objects > 20, "{objects}");
}

#[test]
fn the_page_has_a_row_for_every_field_and_no_other() {
    let mut rows = String::new();
    fields(&schema(), "", &mut rows);
    assert!(PAGE.contains(&rows), "put this table into docs/reference/receipt.md:\n{rows}");
    let shown = PAGE.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(shown, rows.lines().count(), "a row that is no field");
}

#[test]
fn the_page_tells_the_limits() {
    let grouped = |number: usize| {
        let digits = number.to_string().into_bytes();
        let groups: Vec<String> = digits
            .rchunks(3)
            .rev()
            .map(|group| String::from_utf8(group.to_vec()).unwrap())
            .collect();
        groups.join(",")
    };
    let number = usize::try_from(NUMBER_LIMIT).unwrap();
    for (limit, unit) in [
        (ENVELOPE_LIMIT, " bytes"),
        (PAYLOAD_LIMIT, "."),
        (number, "."),
        (TEXT_LIMIT, " bytes"),
        (LIST_LIMIT, " items"),
        (SIGNATURES_LIMIT, " signatures"),
        (BLOCK_LIMIT, " bytes, on a line"),
        (NOTE_LIMIT, " bytes. It leads"),
    ] {
        let told = format!(" {}{unit}", grouped(limit));
        assert!(PAGE.contains(&told), "{told}");
    }
}

/// A row for each field that holds a value.
fn fields(schema: &Value, path: &str, rows: &mut String) {
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
        items.iter().enumerate().for_each(|(at, it)| fields(it, &format!("{path}[{at}]"), rows));
        return;
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, it) in properties {
            let dot = if path.is_empty() { "" } else { "." };
            fields(it, &format!("{path}{dot}{key}"), rows);
        }
        return;
    }
    let items = schema.get("items");
    if let Some(items) = items.filter(|it| it.get("properties").is_some()) {
        fields(items, &format!("{path}[]"), rows);
        return;
    }
    let dots = if items.is_some() { "[]" } else { "" };
    let meaning = schema["description"].as_str().unwrap();
    writeln!(rows, "| `{path}{dots}` | {meaning} |").unwrap();
}
