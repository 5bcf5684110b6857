//! Objects of JSON, where a key is there only sometimes.

use serde_json::Value;

/// The object with one more key.
pub(crate) fn with(object: Value, key: &str, value: impl Into<Value>) -> Value {
    match object {
        Value::Object(mut keys) => {
            keys.insert(key.to_owned(), value.into());
            Value::Object(keys)
        }
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => other,
    }
}
