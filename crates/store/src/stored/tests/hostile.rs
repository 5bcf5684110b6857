//! Bodies that we did not write: each is refused, none panics, none makes a long sentence.
//!
//! Most tests take every known body apart: whatever place in it is spoilt, the body is refused.

use std::error::Error as _;

use serde_json::{Value, json};

use super::*;

/// The kind of an event, and the version of its shape.
type Kind = (&'static str, i64);

/// Every known body with one place changed: `change` is called with each value in the tree and gives
/// what to put there instead, if it has a change for this one.
fn spoilt(change: impl Fn(&Value) -> Option<Vec<Value>>) -> Vec<(Kind, Value)> {
    let mut bodies = Vec::new();
    for (_, event) in samples::all() {
        let Stored { kind, version, body } = encode(&event);
        let body: Value = serde_json::from_str(&body).unwrap();
        for place in places(&body) {
            for other in change(body.pointer(&place).unwrap()).unwrap_or_default() {
                let mut spoilt = body.clone();
                *spoilt.pointer_mut(&place).unwrap() = other;
                bodies.push(((kind, version), spoilt));
            }
        }
    }
    bodies
}

/// The JSON pointers of a value and of all values within it.
fn places(value: &Value) -> Vec<String> {
    let within: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, it)| (index.to_string(), it)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let deeper = within.into_iter().flat_map(|(name, value)| {
        places(value).into_iter().map(move |rest| format!("/{name}{rest}"))
    });
    std::iter::once(String::new()).chain(deeper).collect()
}

fn assert_all_refused(bodies: &[(Kind, Value)]) {
    assert!(bodies.len() > 20, "only {} bodies were tried", bodies.len());
    for ((kind, version), body) in bodies {
        let read = decode(kind, *version, &body.to_string());
        assert!(matches!(read, Err(Unreadable::Damaged { .. })), "{kind} {body} gave {read:?}");
    }
}

fn reason(kind: &str, body: &str) -> String {
    let error = decode(kind, 1, body).unwrap_err();
    error.source().unwrap().to_string()
}

#[test]
fn a_number_is_whole_and_not_negative_and_a_number() {
    let wrong = || vec![json!(-1), json!(1.5), json!(1e300), json!("1"), json!(true), json!([1])];
    assert_all_refused(&spoilt(|value| value.is_number().then(wrong)));
}

#[test]
fn a_text_is_a_text() {
    let wrong = || vec![json!(1), json!(true), json!(["x"]), json!({ "x": 1 })];
    assert_all_refused(&spoilt(|value| value.is_string().then(wrong)));
}

#[test]
fn a_list_is_a_list() {
    let wrong = || vec![json!({}), json!("x"), json!(0), json!([[]]), json!([null])];
    assert_all_refused(&spoilt(|value| value.is_array().then(wrong)));
}

#[test]
fn a_record_is_a_record() {
    let wrong = || vec![json!("x"), json!(0), json!(null), json!([[], {}])];
    assert_all_refused(&spoilt(|value| value.is_object().then(wrong)));
}

#[test]
fn a_record_has_no_field_that_we_do_not_know() {
    assert_all_refused(&spoilt(|value| {
        let mut fields = value.as_object()?.clone();
        fields.insert("allow_all".to_owned(), json!(true));
        Some(vec![Value::Object(fields)])
    }));
}

/// Above all a condition: one that is lost would allow more than the approver did.
#[test]
fn a_record_lacks_no_field_even_if_it_may_be_null() {
    assert_all_refused(&spoilt(|value| {
        let fields = value.as_object()?;
        let without = |name: &String| {
            let mut fewer = fields.clone();
            fewer.remove(name);
            Value::Object(fewer)
        };
        Some(fields.keys().map(without).collect())
    }));
}

#[test]
fn a_body_that_ends_too_early_or_too_late_is_refused() {
    for (_, event) in samples::all() {
        let Stored { kind, version, body } = encode(&event);
        for (end, _) in body.char_indices() {
            assert!(decode(kind, version, &body[..end]).is_err(), "{kind} {end}");
        }
        assert!(decode(kind, version, &format!("{body}{body}")).is_err(), "{kind}");
    }
}

#[test]
fn a_field_that_comes_twice_is_refused() {
    let ann = "u_00000000000000000000000001";
    let body = format!(r#"{{"by":"{ann}","by":"{ann}"}}"#);
    assert_eq!(reason("resumed", &body), "duplicate field `by` at line 1 column 41");
}

#[test]
fn the_reason_names_the_value_and_the_place() {
    insta::assert_snapshot!(
        reason("checks_passed", r#"{"evidence":"ABC"}"#),
        @"`ABC` is not a SHA-256 hash: it should be 64 hexadecimal digits in lower case at line 1 column 18"
    );
    insta::assert_snapshot!(
        reason("resumed", r#"{"by":"t_00000000000000000000000001"}"#),
        @"`t_00000000000000000000000001` is not an id: it should be `u_` and 26 letters or digits at line 1 column 37"
    );
    insta::assert_snapshot!(
        reason("done", r#"{"because":"tired"}"#),
        @"unknown word `tired` at line 1 column 19"
    );
    insta::assert_snapshot!(
        reason("implemented", r#"{"commit":"HEAD","session":null}"#),
        @"`HEAD` is not a full commit hash at line 1 column 16"
    );
    insta::assert_snapshot!(
        decode("done", 1, "{}").unwrap_err(),
        @"the stored event `done` of version 1 is damaged"
    );
}

#[test]
fn an_event_of_a_newer_lamp_is_refused_as_such() {
    for (kind, version) in [("teleported", 1), ("admitted", 2), ("admitted", 0), ("", -1)] {
        let error = decode(kind, version, "{}").unwrap_err();
        assert!(matches!(error, Unreadable::UnknownEvent { .. }), "{error}");
    }
    insta::assert_snapshot!(
        decode("admitted", 2, "{}").unwrap_err(),
        @"an event `admitted` of version 2 is stored, which this lamp does not know; a newer one wrote it"
    );
}

#[test]
fn megabytes_in_the_wrong_place_give_a_short_reason() {
    let long = "å".repeat(5 * 1024 * 1024);
    let bodies = [
        ("checks_passed", json!({ "evidence": long })),
        ("resumed", json!({ "by": long })),
        ("done", json!({ "because": long })),
        ("paused", json!({ "why": { long.clone(): 1 } })),
        ("admitted", json!({ long.clone(): 1 })),
    ];
    for (kind, body) in bodies {
        let reason = reason(kind, &body.to_string());
        assert!(reason.len() < 1_100, "{kind} gave {} bytes", reason.len());
    }
}

/// The doors limit what comes in. What is stored has happened, and is read, whatever its size.
#[test]
fn megabytes_in_the_right_place_are_read() {
    let by = domain::id::PersonId::from_u128(1);
    let event = Event::Messaged { by, text: "x".repeat(10 * 1024 * 1024) };
    let stored = encode(&event);
    assert_eq!(decode(stored.kind, stored.version, &stored.body).unwrap(), event);
}

#[test]
fn a_deep_nest_is_refused_before_it_fills_the_stack() {
    for nest in ["[", r#"{"why":"#, r#"{"request":"#] {
        assert!(decode("paused", 1, &nest.repeat(1_000_000)).is_err());
        assert!(decode("requested", 1, &nest.repeat(1_000_000)).is_err());
    }
}
