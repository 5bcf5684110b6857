//! Small questions to JSON that somebody else wrote: what is not there, or is something else, is nothing.

use serde_json::Value;

/// Text at a key, or the empty text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number at a key, such as a line or a column.
pub(crate) fn number(value: &Value, key: &str) -> Option<u32> {
    value.get(key).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
}

/// A list at a key, or the empty one.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A value at the end of a path of keys.
pub(crate) fn deep<'a>(value: &'a Value, keys: &[&str]) -> &'a Value {
    keys.iter().fold(value, |value, key| value.get(*key).unwrap_or(&Value::Null))
}

/// A count at a key.
pub(crate) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// A value as people write it: text without quotes.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Seconds or milliseconds, as somebody said them.
pub(crate) fn seconds(value: &Value, key: &str) -> Option<std::time::Duration> {
    value
        .get(key)
        .and_then(Value::as_f64)
        .and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok())
}

pub(crate) fn milliseconds(value: &Value, key: &str) -> Option<std::time::Duration> {
    let milliseconds = value.get(key).and_then(Value::as_f64)?;
    std::time::Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}
