//! Gemini's generateContent.
//!
//! It knows calls by their order and name, and wants the signature of a call back with it.

use serde_json::{Value, json};

use super::{
    Failure, Question,
    answer::{AnswerEnd, Draft, count},
};
use crate::{
    conversation::{End, Entry, Said},
    object::with,
};

pub(super) fn path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    // A name may have a colon, which here begins what is asked.
    let name: Vec<String> = model
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    let name = name.concat();
    format!("/v1beta/models/{name}:streamGenerateContent?alt=sse")
}

pub(super) fn body(question: &Question<'_>) -> Value {
    let body = json!({
        "systemInstruction": { "parts": [{ "text": question.system }] },
        "contents": contents(question.entries),
        "generationConfig": { "maxOutputTokens": question.max_output_tokens },
    });
    if question.tools.is_empty() {
        return body;
    }
    let tool = |offer: &crate::tools::Offer| json!({ "name": offer.name, "description": offer.about, "parameters": offer.schema });
    let tools: Vec<Value> = question.tools.iter().map(tool).collect();
    with(body, "tools", json!([{ "functionDeclarations": tools }]))
}

fn contents(entries: &[Entry]) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for entry in entries {
        let (role, parts) = match entry {
            Entry::User(text) | Entry::Summary(text) => ("user", vec![json!({ "text": text })]),
            Entry::Assistant(said) => ("model", said_parts(said)),
            Entry::Results(results) => {
                let part = |it: &crate::conversation::CallResult| {
                    let response = match it.end {
                        End::Done => json!({ "output": it.text }),
                        End::Failed => json!({ "error": it.text }),
                    };
                    json!({ "functionResponse": { "name": it.name, "response": response } })
                };
                ("user", results.iter().map(part).collect())
            }
        };
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(parts),
            Some(_) | None => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn said_parts(said: &Said) -> Vec<Value> {
    let mut parts = Vec::new();
    if !said.text.trim().is_empty() {
        parts.push(json!({ "text": said.text }));
    }
    parts.extend(said.calls.iter().map(|call| {
        let part =
            json!({ "functionCall": { "name": call.name, "args": call.arguments.object() } });
        match &call.signature {
            Some(signature) => with(part, "thoughtSignature", signature.as_str()),
            None => part,
        }
    }));
    parts
}

pub(super) fn take(event: &Value, draft: &mut Draft) -> Result<(), Failure> {
    if let Some(usage) = event.get("usageMetadata") {
        let mut prompt = draft.usage.context();
        count(&mut draft.usage.cache_read, usage, "/cachedContentTokenCount");
        count(&mut prompt, usage, "/promptTokenCount");
        draft.usage.input = prompt.saturating_sub(draft.usage.cache_read);
        let mut spoken = draft.usage.output.saturating_sub(draft.usage.thinking);
        count(&mut spoken, usage, "/candidatesTokenCount");
        count(&mut draft.usage.thinking, usage, "/thoughtsTokenCount");
        draft.usage.output = spoken.saturating_add(draft.usage.thinking);
    }
    if event.pointer("/promptFeedback/blockReason").is_some_and(|reason| !reason.is_null()) {
        draft.ends(AnswerEnd::Refusal);
    }
    let Some(candidate) = event.pointer("/candidates/0") else { return Ok(()) };
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        let text = part.get("text").and_then(Value::as_str).unwrap_or("");
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            draft.thought(text)?;
        } else {
            draft.text(text)?;
        }
        if let Some(call) = part.get("functionCall") {
            let word = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or("");
            let nothing = json!({});
            let arguments = call.get("args").unwrap_or(&nothing);
            let signature = part.get("thoughtSignature").and_then(Value::as_str);
            draft.whole_call(word("id"), word("name"), arguments, signature)?;
        }
    }
    match candidate.get("finishReason").and_then(Value::as_str).unwrap_or("") {
        "" => {}
        "STOP" | "FINISH_REASON_UNSPECIFIED" => draft.ends(AnswerEnd::Whole),
        "MAX_TOKENS" => draft.ends(AnswerEnd::MaxTokens),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => draft.ends(AnswerEnd::MalformedCall),
        _ => draft.ends(AnswerEnd::Refusal),
    }
    Ok(())
}
