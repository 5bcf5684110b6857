//! Lines of JSON-RPC 2.0.
//!
//! **Invariant:** what is written is always a whole line with one JSON object; what is read is never longer than the limit.

use std::io::{BufRead, Read as _};

use serde_json::{Value, json};

use crate::{object::with, outlet::Outlet};

pub(super) const LONGEST_LINE: u64 = 16 << 20;

/// What came.
pub(super) enum Incoming {
    Request {
        id: Value,
        method: String,
        parameters: Value,
    },
    Notification {
        method: String,
        parameters: Value,
    },
    /// An answer to something that we never asked, or an empty line.
    Nothing,
    /// Not a message; the answer to it.
    Malformed(Fault),
    End,
}

/// An answer that says what is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) more: Value,
}

impl Fault {
    pub(super) const PARSE: i64 = -32700;
    pub(super) const INVALID: i64 = -32600;
    pub(super) const UNKNOWN_METHOD: i64 = -32601;
    pub(super) const PARAMETERS: i64 = -32602;
    pub(super) const INTERNAL: i64 = -32603;
    /// ACP's own: authentication is needed.
    pub(super) const AUTHENTICATION: i64 = -32000;
    /// ACP's own: what was named is not there.
    pub(super) const NOT_FOUND: i64 = -32002;

    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), more: Value::Null }
    }

    pub(super) fn with(self, more: Value) -> Self {
        Self { more, ..self }
    }
}

pub(super) fn read(reader: &mut impl BufRead) -> std::io::Result<Incoming> {
    let mut line = Vec::new();
    reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(Incoming::End);
    }
    if line.len() as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
        let message = format!("a line has at most {LONGEST_LINE} bytes");
        return Ok(Incoming::Malformed(Fault::new(Fault::INVALID, message)));
    }
    if line.trim_ascii().is_empty() {
        return Ok(Incoming::Nothing);
    }
    Ok(understood(&line))
}

fn understood(line: &[u8]) -> Incoming {
    let invalid = |why: &str| Incoming::Malformed(Fault::new(Fault::INVALID, why));
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("the line is no JSON: {error}");
            return Incoming::Malformed(Fault::new(Fault::PARSE, message));
        }
    };
    let Value::Object(mut message) = value else {
        return invalid("a message is one JSON object in one line");
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` is not \"2.0\"");
    }
    let parameters = message.remove("params").unwrap_or(Value::Null);
    match (message.remove("method"), message.remove("id")) {
        (Some(Value::String(method)), None) => Incoming::Notification { method, parameters },
        (
            Some(Value::String(method)),
            Some(id @ (Value::String(_) | Value::Number(_) | Value::Null)),
        ) => Incoming::Request { id, method, parameters },
        (Some(Value::String(_)), Some(_)) => invalid("`id` is neither a string nor a number"),
        (Some(_), _) => invalid("`method` is not a string"),
        (None, _) if message.contains_key("result") || message.contains_key("error") => {
            Incoming::Nothing
        }
        (None, _) => invalid("`method` is missing"),
    }
}

impl Outlet {
    pub(super) fn answer(&self, id: &Value, outcome: Result<Value, Fault>) {
        self.send(&match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(fault) => {
                let error = json!({ "code": fault.code, "message": fault.message });
                let error =
                    if fault.more.is_null() { error } else { with(error, "data", fault.more) };
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        });
    }
}
