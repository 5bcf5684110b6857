//! Somebody changes a receipt. Whatever they change is found.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use evidence::{
    envelope::{ENVELOPE_LIMIT, Envelope, EnvelopeError},
    keys::SigningKey,
    verify::{Known, verify},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stories::{self, signing_key, trusted};

/// The way from the top to one leaf.
type Path = Vec<String>;

fn leaves(value: &Value, path: &Path, found: &mut Vec<Path>) {
    let deeper = |step: String| [path.as_slice(), &[step]].concat();
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            entries.iter().for_each(|(key, it)| leaves(it, &deeper(key.clone()), found));
        }
        Value::Array(items) if !items.is_empty() => {
            let mut items = items.iter().enumerate();
            items.by_ref().for_each(|(at, it)| leaves(it, &deeper(at.to_string()), found));
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => {
            found.push(path.clone());
        }
    }
}

fn all_leaves(value: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    leaves(value, &Vec::new(), &mut found);
    found
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        other @ (Value::Object(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)) => &mut other[step.as_str()],
    })
}

/// Other values that a forger would put instead of `old`, of the same kind where there is one.
fn others(old: &Value) -> Vec<Value> {
    match old {
        Value::Null => vec![json!("x"), json!(1), json!([])],
        Value::Bool(it) => vec![json!(!it)],
        Value::Number(it) => {
            let it = it.as_u64().unwrap();
            vec![json!(it + 1), json!(it.saturating_sub(1).max(u64::from(it == 0))), json!("7")]
        }
        Value::String(text) if text.is_empty() => vec![json!("x"), Value::Null],
        Value::String(text) => {
            let turned: String = text.chars().map(|it| if it == '1' { '2' } else { '1' }).collect();
            vec![json!(format!("{text}x")), json!(""), json!(turned), Value::Null]
        }
        Value::Array(_) => vec![json!(["x"]), Value::Null],
        Value::Object(_) => vec![json!({"x": 1}), Value::Null],
    }
}

/// The envelope with another payload, and the signatures that were there.
fn with_payload(envelope: &Value, payload: &[u8]) -> Vec<u8> {
    let mut changed = envelope.clone();
    changed["payload"] = json!(STANDARD.encode(payload));
    serde_json::to_vec(&changed).unwrap()
}

fn check(bytes: &[u8], keys: &[&SigningKey]) -> Result<(), EnvelopeError> {
    verify(bytes, &trusted(keys), &Known::default()).map(|_| ())
}

#[test]
fn a_change_of_any_field_of_what_is_signed_is_found() {
    let key = signing_key(1);
    let bad = EnvelopeError::BadSignature(key.public().id());
    for (name, story) in stories::all() {
        let envelope: Value =
            serde_json::from_slice(&story.envelope().to_bytes().unwrap()).unwrap();
        let payload: Value = serde_json::from_slice(story.envelope().payload()).unwrap();
        assert_eq!(check(&with_payload(&envelope, story.envelope().payload()), &[&key]), Ok(()));
        let found = all_leaves(&payload);
        assert!(found.len() > 60, "{name}: {} leaves", found.len());
        for path in found {
            for other in others(at(&mut payload.clone(), &path)) {
                let mut changed = payload.clone();
                assert_ne!(*at(&mut changed, &path), other, "{path:?}");
                *at(&mut changed, &path) = other;
                let changed = serde_json::to_vec(&changed).unwrap();
                let refused = check(&with_payload(&envelope, &changed), &[&key]);
                assert_eq!(refused, Err(bad.clone()), "{name}: {path:?}");
            }
        }
    }
}

/// Without the signature, so that it is seen that the reader looks at every field itself: a field that could be missing would be one that
/// nobody notices.
#[test]
fn a_field_that_is_missing_doubled_or_new_is_refused_even_if_it_is_signed() {
    let payload = stories::happy().statement.to_bytes().unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let refused = |changed: &Value| {
        let bytes = serde_json::to_vec(changed).unwrap();
        evidence::receipt::Statement::read(&bytes).is_err()
    };
    assert!(!refused(&payload));
    for path in all_leaves(&payload) {
        let (last, parents) = path.split_last().unwrap();
        let mut changed = payload.clone();
        if let Value::Object(entries) = at(&mut changed, parents) {
            let value = entries.remove(last).unwrap();
            assert!(refused(&changed), "without {path:?}");
            // At its place stands another one of the same value.
            let Value::Object(entries) = at(&mut changed, parents) else { unreachable!() };
            entries.insert(format!("{last}x"), value);
            assert!(refused(&changed), "renamed {path:?}");
        }
        let mut changed = payload.clone();
        if let Value::Object(entries) = at(&mut changed, parents) {
            entries.insert("extra".to_owned(), json!(1));
            assert!(refused(&changed), "more beside {path:?}");
        }
    }
}

#[test]
fn a_change_of_any_field_of_the_envelope_is_found() {
    let (one, two) = (signing_key(1), signing_key(2));
    let statement = stories::happy().statement;
    let envelope = Envelope::sign(&statement, &[&one, &two]).unwrap().to_bytes().unwrap();
    assert_eq!(check(&envelope, &[&one, &two]), Ok(()));
    let envelope: Value = serde_json::from_slice(&envelope).unwrap();
    for path in all_leaves(&envelope) {
        for other in others(at(&mut envelope.clone(), &path)) {
            let mut changed = envelope.clone();
            *at(&mut changed, &path) = other;
            let refused = check(&serde_json::to_vec(&changed).unwrap(), &[&one, &two]);
            assert!(refused.is_err(), "{path:?}");
        }
    }
    let mut swapped = envelope.clone();
    let (first, second) =
        (envelope["signatures"][0]["sig"].clone(), envelope["signatures"][1]["sig"].clone());
    swapped["signatures"][0]["sig"] = second;
    swapped["signatures"][1]["sig"] = first;
    let refused = check(&serde_json::to_vec(&swapped).unwrap(), &[&one, &two]);
    assert_eq!(refused, Err(EnvelopeError::BadSignature(one.public().id())));
}

#[test]
fn somebody_elses_signature_is_not_ours() {
    let (ours, theirs) = (signing_key(1), signing_key(66));
    let mut story = stories::happy();
    story.statement.receipt.approval.by.name = "Boss".to_owned();
    let forged = Envelope::sign(&story.statement, &[&theirs]).unwrap().to_bytes().unwrap();
    assert_eq!(check(&forged, &[&ours]), Err(EnvelopeError::UnknownKey(theirs.public().id())));
    let text = String::from_utf8(forged).unwrap();
    let renamed = text.replace(&theirs.public().id().to_string(), &ours.public().id().to_string());
    let refused = check(renamed.as_bytes(), &[&ours]);
    assert_eq!(refused, Err(EnvelopeError::BadSignature(ours.public().id())));
}

#[test]
fn other_spellings_of_the_same_envelope_are_refused() {
    let key = signing_key(1);
    let bytes = stories::happy().envelope().to_bytes().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let payload = value["payload"].as_str().unwrap();
    let signature = &value["signatures"][0];
    let repeated = |count: usize| {
        let mut changed = value.clone();
        changed["signatures"] = Value::Array(vec![signature.clone(); count]);
        changed.to_string()
    };
    let told = [
        String::new(),
        "{}".to_owned(),
        "[".repeat(100_000),
        serde_json::to_string_pretty(&value).unwrap(),
        format!("{text}\n"),
        format!("\u{feff}{text}"),
        format!("{text}{text}"),
        text.replace("{\"payload\"", "{\"payload\":\"\",\"payload\""),
        text.replace("{\"payload\"", "{\"extra\":1,\"payload\""),
        text.replace("in-toto+json", "in-toto+yaml"),
        text.replace(payload, &payload.replace('+', "-").replace('/', "_").replace('=', "")),
        text.replace(payload, &format!("{payload}===")),
        text.replace(payload, &format!("{}\\n{}", &payload[..76], &payload[76..])),
        text.replace("==\"", "\""),
        repeated(0),
        repeated(2),
        repeated(9),
        "x".repeat(ENVELOPE_LIMIT + 1),
    ]
    .map(|wrong| check(wrong.as_bytes(), &[&key]).unwrap_err().to_string());
    insta::assert_snapshot!(told.join("\n"));
}

/// Base64 has bits at its end that mean nothing; they must be zero.
#[test]
fn bits_that_mean_nothing_mean_nothing() {
    let key = signing_key(1);
    let text = String::from_utf8(stories::happy().envelope().to_bytes().unwrap()).unwrap();
    let at = text.find("==\"}]").unwrap();
    let (head, tail) = text.split_at(at);
    let (head, last) = head.split_at(head.len() - 1);
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for other in letters.chars().filter(|it| !last.contains(*it)) {
        let changed = format!("{head}{other}{tail}");
        assert!(check(changed.as_bytes(), &[&key]).is_err(), "{other}");
    }
}

proptest! {
    #[test]
    fn a_changed_byte_anywhere_is_found(place: prop::sample::Index, byte: u8) {
        let key = signing_key(1);
        let bytes = stories::happy().envelope().to_bytes().unwrap();
        let mut changed = bytes.clone();
        changed[place.index(bytes.len())] = byte;
        if changed != bytes {
            prop_assert!(check(&changed, &[&key]).is_err());
        }
    }

    #[test]
    fn a_cut_or_longer_envelope_is_found(length: prop::sample::Index, more in prop::collection::vec(any::<u8>(), 1..20)) {
        let key = signing_key(1);
        let bytes = stories::happy().envelope().to_bytes().unwrap();
        prop_assert!(check(&bytes[..length.index(bytes.len())], &[&key]).is_err());
        prop_assert!(check(&[bytes, more].concat(), &[&key]).is_err());
    }
}
