//! `OpenAI`'s Chat Completions, and what speaks like them; also Ollama.

use serde_json::{Value, json};

use super::{
    Failure, Question,
    answer::{AnswerEnd, Draft, count},
};
use crate::{
    conversation::{Entry, Said},
    object::with,
    settings::Format,
};

pub(super) fn body(format: Format, model: &str, question: &Question<'_>) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": question.system })];
    for entry in question.entries {
        match entry {
            Entry::User(text) | Entry::Summary(text) => {
                messages.push(json!({ "role": "user", "content": text }));
            }
            Entry::Assistant(said) => messages.push(assistant(said)),
            Entry::Results(results) => messages.extend(
                results
                    .iter()
                    .map(|it| json!({ "role": "tool", "tool_call_id": it.id, "content": it.text })),
            ),
        }
    }
    // The usage is told only to who asks for it; the platform charges by it.
    let body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models refuse the old name; Ollama knows only that.
    let limit = match format {
        Format::Ollama => "max_tokens",
        Format::Openai | Format::Anthropic | Format::Gemini => "max_completion_tokens",
    };
    let body = with(body, limit, question.max_output_tokens);
    if question.tools.is_empty() {
        return body;
    }
    let tool = |offer: &crate::tools::Offer| {
        let function =
            json!({ "name": offer.name, "description": offer.about, "parameters": offer.schema });
        json!({ "type": "function", "function": function })
    };
    with(body, "tools", question.tools.iter().map(tool).collect::<Value>())
}

fn assistant(said: &Said) -> Value {
    let message = json!({ "role": "assistant", "content": said.text });
    if said.calls.is_empty() {
        return message;
    }
    let call = |call: &crate::conversation::Call| {
        let arguments = call.arguments.object().to_string();
        let function = json!({ "name": call.name, "arguments": arguments });
        json!({ "id": call.id, "type": "function", "function": function })
    };
    with(message, "tool_calls", said.calls.iter().map(call).collect::<Value>())
}

pub(super) fn take(event: &Value, draft: &mut Draft) -> Result<(), Failure> {
    if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
        count(&mut draft.usage.cache_read, usage, "/prompt_tokens_details/cached_tokens");
        let mut prompt = draft.usage.context();
        count(&mut prompt, usage, "/prompt_tokens");
        draft.usage.input = prompt.saturating_sub(draft.usage.cache_read);
        count(&mut draft.usage.output, usage, "/completion_tokens");
        count(&mut draft.usage.thinking, usage, "/completion_tokens_details/reasoning_tokens");
    }
    let Some(choice) = event.pointer("/choices/0") else { return Ok(()) };
    let word = |path: &str| choice.pointer(path).and_then(Value::as_str).unwrap_or("");
    draft.text(word("/delta/content"))?;
    for name in ["/delta/reasoning_content", "/delta/reasoning"] {
        if !word(name).is_empty() {
            draft.thought(word(name))?;
        }
    }
    let refusal = word("/delta/refusal");
    if !refusal.is_empty() {
        draft.text(refusal)?;
        draft.refused();
    }
    let calls = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
    for (at, call) in calls.into_iter().flatten().enumerate() {
        let part = |path: &str| call.pointer(path).and_then(Value::as_str).unwrap_or("");
        // Some servers count nothing, and send each call as a whole.
        let index = match call.get("index").and_then(Value::as_u64) {
            Some(index) => index,
            None if part("/id").is_empty() => at as u64,
            None => draft.call_count() as u64,
        };
        draft.call(index, part("/id"), part("/function/name"))?;
        draft.arguments(index, part("/function/arguments"))?;
    }
    match word("/finish_reason") {
        "" => {}
        "length" => draft.ends(AnswerEnd::MaxTokens),
        "content_filter" => draft.ends(AnswerEnd::Refusal),
        _ => draft.ends(AnswerEnd::Whole),
    }
    Ok(())
}
