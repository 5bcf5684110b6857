//! A refusal in the words of a model's provider, so that an agent shows it instead of trying again.

use serde_json::json;

use crate::ask::{Dialect, MODEL_HOST, Refusal};

/// The body for whoever asked `path` of `host`; none where nobody expects a provider's words.
pub fn body(host: &str, path: &str, refusal: &Refusal) -> Option<String> {
    let message = match refusal.remedy.as_str() {
        "" => format!("lamplighter: {}", refusal.reason),
        remedy => format!("lamplighter: {}; {remedy}", refusal.reason),
    };
    let code = refusal.code.as_str();
    let told = match language(host, path)? {
        Dialect::AnthropicMessages => {
            let kind = match refusal.status {
                400 => "invalid_request_error",
                402 => "billing_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                500.. => "api_error",
                _ => "permission_error",
            };
            let error = json!({ "type": kind, "message": message, "code": code });
            json!({ "type": "error", "error": error })
        }
        Dialect::OpenaiChat | Dialect::OpenaiResponses => {
            let kind =
                if code == "budget_hit" { "insufficient_quota" } else { "invalid_request_error" };
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        }
        Dialect::Gemini => {
            let status = match refusal.status {
                400 | 413 => "INVALID_ARGUMENT",
                402 | 429 => "RESOURCE_EXHAUSTED",
                500.. => "UNAVAILABLE",
                _ => "PERMISSION_DENIED",
            };
            let error = json!({ "code": refusal.status, "message": message, "status": status, "details": [{ "reason": code }] });
            json!({ "error": error })
        }
    };
    Some(told.to_string())
}

fn language(host: &str, path: &str) -> Option<Dialect> {
    let path = path.split('?').next().unwrap_or(path);
    let is_model = host == MODEL_HOST || KNOWN_HOSTS.contains(&host);
    if !is_model {
        return None;
    }
    if path.ends_with("/messages") || path.ends_with("/messages/count_tokens") {
        return Some(Dialect::AnthropicMessages);
    }
    if path.ends_with("/chat/completions") || path.ends_with("/embeddings") {
        return Some(Dialect::OpenaiChat);
    }
    if path.ends_with("/responses") || path.ends_with("/responses/compact") {
        return Some(Dialect::OpenaiResponses);
    }
    path.contains("/models/").then_some(Dialect::Gemini)
}

/// The vendors' own hosts, as in the providers' tables.
pub const KNOWN_HOSTS: [&str; 3] =
    ["api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::RefusalCode;

    #[test]
    fn every_vendor_is_answered_for_in_its_own_words() {
        let over = Refusal {
            status: 402,
            code: RefusalCode::Budget,
            host: "api.openai.com".to_owned(),
            port: 443,
            phase: String::new(),
            rule: None,
            reason: "the budget is used up".to_owned(),
            remedy: "raise it with `lamp task budget`".to_owned(),
        };
        let told: Vec<String> = [
            ("api.anthropic.com", "/v1/messages?beta=true"),
            ("model.lamp.internal", "/openai/v1/responses"),
            ("api.openai.com", "/v1/chat/completions"),
            ("generativelanguage.googleapis.com", "/v1beta/models/g:generateContent"),
            ("example.com", "/v1/messages"),
        ]
        .iter()
        .map(|(host, path)| body(host, path, &over).unwrap_or_else(|| "-".to_owned()))
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        {"type":"error","error":{"type":"billing_error","message":"lamplighter: the budget is used up; raise it with `lamp task budget`","code":"budget_hit"}}
        {"error":{"message":"lamplighter: the budget is used up; raise it with `lamp task budget`","type":"insufficient_quota","param":null,"code":"budget_hit"}}
        {"error":{"message":"lamplighter: the budget is used up; raise it with `lamp task budget`","type":"insufficient_quota","param":null,"code":"budget_hit"}}
        {"error":{"code":402,"message":"lamplighter: the budget is used up; raise it with `lamp task budget`","status":"RESOURCE_EXHAUSTED","details":[{"reason":"budget_hit"}]}}
        -
        "#);
    }
}
