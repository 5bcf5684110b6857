//! JSON with exactly one spelling.
//!
//! What we write is compact, has its keys in the order in which the types declare them, every key of a type, whole numbers only, and sets
//! in the order of their bytes. What we read is read into the same type, written again, and compared. So a key that is unknown, missing,
//! doubled or moved, a space, another escape, or a byte too many is refused, without a rule for each of them.

use serde::{Serialize, de::DeserializeOwned};

use crate::visible::line;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    #[error("it has {length} bytes, and {limit} are allowed")]
    TooLarge { length: usize, limit: usize },
    #[error("it is not what was expected: {0}")]
    Shape(String),
    #[error(
        "it says the right things in another spelling than ours, so it was written or changed by someone else"
    )]
    Spelling,
}

/// The only spelling of `value`.
pub fn write(value: &impl Serialize) -> Result<Vec<u8>, NotCanonical> {
    serde_json::to_vec(value).map_err(|error| NotCanonical::Shape(line(&error.to_string(), 200)))
}

/// Reads at most `limit` bytes that [`write()`] could have written.
pub fn read<T: Serialize + DeserializeOwned>(
    bytes: &[u8],
    limit: usize,
) -> Result<T, NotCanonical> {
    if bytes.len() > limit {
        return Err(NotCanonical::TooLarge { length: bytes.len(), limit });
    }
    // Its message may repeat a stranger's words.
    let shape = |error: serde_json::Error| NotCanonical::Shape(line(&error.to_string(), 200));
    let value: T = serde_json::from_slice(bytes).map_err(shape)?;
    if write(&value)? != bytes {
        return Err(NotCanonical::Spelling);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        name: String,
        count: u64,
        set: BTreeSet<String>,
        maybe: Option<u64>,
    }

    fn refusal(text: &str) -> String {
        read::<Sample>(text.as_bytes(), 1000).unwrap_err().to_string()
    }

    #[test]
    fn only_one_spelling_is_read() {
        let right = r#"{"name":"a\"é","count":7,"set":["a","b"],"maybe":null}"#;
        let value: Sample = read(right.as_bytes(), 1000).unwrap();
        assert_eq!(write(&value).unwrap(), right.as_bytes());
        for wrong in [
            r#"{"count":7,"name":"a","set":[],"maybe":null}"#,
            r#"{"name":"a", "count":7,"set":[],"maybe":null}"#,
            r#"{"name":"\u0061","count":7,"set":[],"maybe":null}"#,
            r#"{"name":"a","count":7,"set":["b","a"],"maybe":null}"#,
            r#"{"name":"a","count":7,"set":["a","a"],"maybe":null}"#,
            r#"{"name":"a","count":7,"set":[]}"#,
            "{\"name\":\"a\",\"count\":7,\"set\":[],\"maybe\":null}\n",
        ] {
            assert!(refusal(wrong).contains("another spelling"), "{wrong}");
        }
        for wrong in [
            "",
            "{}",
            "null",
            "[[[[",
            r#"{"name":"a","name":"a","count":7,"set":[],"maybe":null}"#,
            r#"{"name":"a","count":7.0,"set":[],"maybe":null}"#,
            r#"{"name":"a","count":-7,"set":[],"maybe":null}"#,
            r#"{"name":"a","count":7,"set":[],"maybe":null,"more":1}"#,
            r#"{"name":"a","count":7,"set":[],"maybe":null}{}"#,
        ] {
            assert!(refusal(wrong).starts_with("it is not what was expected"), "{wrong}");
        }
    }

    #[test]
    fn a_strangers_words_do_not_reach_a_terminal_in_an_error() {
        let hostile = format!("{{\"\\u001b[2J{}\":1}}", "x".repeat(900));
        let told = refusal(&hostile);
        assert!(told.len() < 300 && !told.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn length_is_looked_at_first() {
        let error = read::<Sample>(&[b'['; 1001], 1000).unwrap_err();
        assert_eq!(error, NotCanonical::TooLarge { length: 1001, limit: 1000 });
    }
}
