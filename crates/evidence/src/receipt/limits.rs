//! How much a receipt may say, wherever it says it.

use serde_json::Value;

use super::Receipt;
use crate::visible::is_visible;

/// Bytes of one text.
pub const TEXT_LIMIT: usize = 2000;
/// Items of one list.
pub const LIST_LIMIT: usize = 500;
/// The largest number that every reader of JSON gets right.
pub const NUMBER_LIMIT: u64 = (1 << 53) - 1;

/// Why a receipt is neither signed nor believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    #[error("`{place}` has {length} bytes, and {TEXT_LIMIT} are allowed")]
    LongText { place: String, length: usize },
    #[error("`{place}` has a letter that nobody sees")]
    Hidden { place: String },
    #[error("`{place}` has {length} items, and {LIST_LIMIT} are allowed")]
    LongList { place: String, length: usize },
    #[error("`{place}` is larger than {NUMBER_LIMIT}, which not every reader gets right")]
    LargeNumber { place: String },
    #[error("it cannot be written: {0}")]
    Unwritable(String),
}

impl Receipt {
    /// What keeps this receipt from being signed, if anything does.
    pub fn fault(&self) -> Option<ReceiptFault> {
        match serde_json::to_value(self) {
            Ok(value) => fault("", &value),
            Err(error) => Some(ReceiptFault::Unwritable(error.to_string())),
        }
    }
}

fn fault(place: &str, value: &Value) -> Option<ReceiptFault> {
    let place = || place.trim_start_matches('.').to_owned();
    match value {
        Value::Null | Value::Bool(_) => None,
        Value::Number(number) => {
            let is_small = number.as_u64().is_some_and(|it| it <= NUMBER_LIMIT);
            (!is_small).then(|| ReceiptFault::LargeNumber { place: place() })
        }
        Value::String(text) if text.len() > TEXT_LIMIT => {
            Some(ReceiptFault::LongText { place: place(), length: text.len() })
        }
        Value::String(text) => {
            (!text.chars().all(is_visible)).then(|| ReceiptFault::Hidden { place: place() })
        }
        Value::Array(items) if items.len() > LIST_LIMIT => {
            Some(ReceiptFault::LongList { place: place(), length: items.len() })
        }
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(at, item)| fault(&format!("{}.{at}", place()), item))
        }
        // The keys are ours.
        Value::Object(entries) => {
            let mut entries = entries.iter();
            entries.find_map(|(key, item)| fault(&format!("{}.{key}", place()), item))
        }
    }
}
