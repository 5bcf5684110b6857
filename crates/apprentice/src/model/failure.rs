//! What went wrong with the model, in words that the platform can type.

use std::time::Duration;

use serde_json::Value;

use crate::cut;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Auth,
    RateLimit,
    Overloaded,
    /// No connection, or one that ended before the answer did.
    Unreachable,
    BadRequest,
    Budget,
    /// The answer is malformed, or larger than any answer should be.
    BadAnswer,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Unreachable => "unreachable",
            Self::BadRequest => "bad_request",
            Self::Budget => "budget",
            Self::BadAnswer => "bad_answer",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: Kind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    pub message: String,
}

const LONGEST_MESSAGE: usize = 500;

impl Failure {
    pub fn unreachable(why: impl std::fmt::Display) -> Self {
        Self::new(Kind::Unreachable, &format!("the model cannot be reached: {why}"))
    }

    pub fn bad_answer(why: impl std::fmt::Display) -> Self {
        Self::new(Kind::BadAnswer, &format!("the model's answer cannot be used: {why}"))
    }

    fn new(kind: Kind, message: &str) -> Self {
        let message = cut::line(message, LONGEST_MESSAGE);
        Self { kind, status: None, retry_after: None, message }
    }

    /// What an answer with a status other than 200 means.
    pub fn from_status(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        // Gemini wraps its error into a list when it was asked for a stream.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        let kind = match status {
            400..500 if is_budget(error) => Kind::Budget,
            401 | 403 => Kind::Auth,
            429 => Kind::RateLimit,
            500.. => Kind::Overloaded,
            _ => Kind::BadRequest,
        };
        let told = message(error).unwrap_or("no reason given");
        let failure = Self::new(kind, &format!("the model's server answered {status}: {told}"));
        Self { status: Some(status), retry_after, ..failure }
    }

    /// What an error in the midst of an answer means.
    pub fn from_event(error: &Value) -> Self {
        let word = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or("");
        let words = [word("type"), word("code"), word("status")];
        let has = |part: &str| words.iter().any(|word| word.to_ascii_lowercase().contains(part));
        let kind = if is_budget(error) {
            Kind::Budget
        } else if has("rate_limit") || has("resource_exhausted") {
            Kind::RateLimit
        } else if has("authentication") || has("permission") {
            Kind::Auth
        } else if has("invalid") || has("not_found") {
            Kind::BadRequest
        } else {
            Kind::Overloaded
        };
        let told = message(error).unwrap_or("no reason given");
        Self::new(kind, &format!("the model's server broke off: {told}"))
    }

    /// Whether the same question may have an answer a little later.
    pub(super) fn may_pass(&self) -> bool {
        match self.kind {
            Kind::RateLimit | Kind::Overloaded | Kind::Unreachable | Kind::BadAnswer => true,
            Kind::Auth | Kind::BadRequest | Kind::Budget => false,
        }
    }

    /// Whether the model said that the conversation is longer than its window.
    pub fn is_too_long(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().all(|word| message.contains(word));
        self.kind == Kind::BadRequest
            && (self.status == Some(413)
                || says(&["too long"])
                || says(&["context", "length"])
                || says(&["context", "window"])
                || says(&["token count", "exceeds"]))
    }
}

/// The platform's word, in each provider's form of an error.
fn is_budget(error: &Value) -> bool {
    let is = |value: Option<&Value>| value.and_then(Value::as_str) == Some("budget_hit");
    let mut details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    is(error.get("code")) || is(error.get("type")) || details.any(|it| is(it.get("reason")))
}

fn message(error: &Value) -> Option<&str> {
    let message = error.get("message").or_else(|| error.get("error")).unwrap_or(error);
    message.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_has_a_kind() {
        for (status, body, kind) in [
            (400, json!({"error": {"message": "no"}}), "bad_request"),
            (401, json!({}), "auth"),
            (403, json!("x"), "auth"),
            (402, json!({"type": "error", "error": {"code": "budget_hit"}}), "budget"),
            (402, json!({"error": {"code": 402, "details": [{"reason": "budget_hit"}]}}), "budget"),
            (402, json!([{"error": {"type": "budget_hit"}}]), "budget"),
            (429, json!({"error": {"code": "budget_hit"}}), "budget"),
            (429, json!({}), "rate_limit"),
            (500, json!({"error": {"code": "budget_hit"}}), "overloaded"),
            (529, json!({}), "overloaded"),
            (307, json!({}), "bad_request"),
        ] {
            let failure = Failure::from_status(status, None, body.to_string().as_bytes());
            assert_eq!(failure.kind.name(), kind, "{status} {body}");
        }
    }

    #[test]
    fn what_a_server_says_is_one_short_line() {
        let body = json!({"error": {"message": format!("a\n\u{1b}{}", "x".repeat(9999))}});
        let failure = Failure::from_status(400, None, body.to_string().as_bytes());
        assert!(failure.message.len() < 600 && !failure.message.contains(char::is_control));
    }

    #[test]
    fn a_conversation_that_is_too_long_is_recognised() {
        for message in [
            "prompt is too long: 210000 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens",
            "The input token count (1) exceeds the maximum number of tokens allowed (0).",
        ] {
            let body = json!({"error": {"message": message}}).to_string();
            assert!(Failure::from_status(400, None, body.as_bytes()).is_too_long(), "{message}");
        }
        assert!(!Failure::from_status(400, None, b"{}").is_too_long());
    }
}
