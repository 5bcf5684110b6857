//! What a request asks of a model: which one, how much at most, and whether it would reach further than the model.
//!
//! A provider offers tools that run on its side: it fetches addresses, searches, connects to servers that the request names. For a
//! sandbox that is a way out which nobody judges. Which tools run in the sandbox is for the broker to know; here they are named.

use serde_json::Value;

use crate::{
    ask::{
        Dialect,
        said::{Connects, Fetches, ModelBody, NAME_LIMIT, Said, TOOLS_LIMIT, cut},
    },
    strict_json,
};

/// Reads a body in the language of a provider.
pub fn read(dialect: Dialect, body: &[u8]) -> Said {
    match said(dialect, body) {
        Ok(said) => Said::Model(said),
        Err(why) => Said::unreadable(&why),
    }
}

fn said(dialect: Dialect, body: &[u8]) -> Result<ModelBody, String> {
    let value = strict_json::read(body).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Err("it is not an object".to_owned());
    }
    let most = match dialect {
        Dialect::AnthropicMessages => number(&value, &["max_tokens"]),
        Dialect::OpenaiChat => number(&value, &["max_completion_tokens", "max_tokens"]),
        Dialect::OpenaiResponses => number(&value, &["max_output_tokens"]),
        Dialect::Gemini => one_of(&value, ["generationConfig", "generation_config"])?
            .and_then(|it| number(it, &["maxOutputTokens", "max_output_tokens"])),
    };
    let model = value.get("model").and_then(Value::as_str).map(|name| cut(name, NAME_LIMIT));
    Ok(ModelBody {
        model,
        most_output_tokens: most,
        bytes: body.len() as u64,
        connects: Connects::ALL.into_iter().find(|it| is_used(value.get(it.as_str()))),
        tools: tools(dialect, &value)?,
        fetches: fetches(dialect, &value),
    })
}

/// Gemini takes two spellings of a name. With both of them nobody knows which one counts.
fn one_of<'a>(value: &'a Value, names: [&str; 2]) -> Result<Option<&'a Value>, String> {
    match names.map(|name| value.get(name)) {
        [Some(_), Some(_)] => Err(format!("it has both `{}` and `{}`", names[0], names[1])),
        [one, other] => Ok(one.or(other)),
    }
}

fn number(value: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| value.get(name)?.as_u64())
}

fn is_used(value: Option<&Value>) -> bool {
    value.is_some_and(|it| !it.is_null() && it.as_array().is_none_or(|it| !it.is_empty()))
}

/// The kinds of all tools, each once.
fn tools(dialect: Dialect, body: &Value) -> Result<Vec<String>, String> {
    let mut kinds: Vec<String> = Vec::new();
    let mut add = |kind: &str| {
        let kind = cut(kind, NAME_LIMIT);
        if kinds.contains(&kind) {
            return Ok(());
        }
        if kinds.len() == TOOLS_LIMIT {
            return Err(format!("it has more than {TOOLS_LIMIT} kinds of tools"));
        }
        kinds.push(kind);
        Ok(())
    };
    let tools = match body.get("tools") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err("its tools are no list".to_owned()),
    };
    for tool in tools {
        match dialect {
            // Gemini's tools are known by their keys, all others by `type`.
            Dialect::Gemini => {
                for key in tool.as_object().into_iter().flat_map(|it| it.keys()) {
                    add(key)?;
                }
            }
            Dialect::AnthropicMessages | Dialect::OpenaiChat | Dialect::OpenaiResponses => {
                match tool.get("type") {
                    None => {}
                    Some(Value::String(kind)) => add(kind)?,
                    // What is not text is told as JSON, which is the name of no tool.
                    Some(kind) => add(&kind.to_string())?,
                }
            }
        }
    }
    Ok(kinds)
}

/// The first content that is an address.
fn fetches(dialect: Dialect, body: &Value) -> Option<Fetches> {
    let parts = |key: &str| body.get(key).unwrap_or(&Value::Null);
    match dialect {
        Dialect::AnthropicMessages => content(parts("messages"), &anthropic_source)
            .or_else(|| content(parts("system"), &anthropic_source)),
        Dialect::OpenaiChat => content(parts("messages"), &openai_part),
        Dialect::OpenaiResponses => content(parts("input"), &openai_part),
        Dialect::Gemini => content(parts("contents"), &gemini_part),
    }
}

type Look<'a> = &'a dyn Fn(&Value) -> Option<Fetches>;

/// Looks at every part of the conversation. What a program said to a tool (`input`, `arguments`) is not content.
fn content(value: &Value, look: Look<'_>) -> Option<Fetches> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| content(item, look)),
        Value::Object(part) => look(value).or_else(|| {
            let nested = ["content", "parts", "output"].into_iter().filter_map(|key| part.get(key));
            nested.into_iter().find_map(|inner| content(inner, look))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn anthropic_source(part: &Value) -> Option<Fetches> {
    let kind = part.get("source").and_then(|source| source.get("type"));
    (kind.and_then(Value::as_str) == Some("url")).then_some(Fetches::SourceUrl)
}

fn openai_part(part: &Value) -> Option<Fetches> {
    let image = part.get("image_url").map(|image| image.get("url").unwrap_or(image));
    if image.and_then(Value::as_str).is_some_and(|url| !is_inline(url)) {
        return Some(Fetches::ImageUrl);
    }
    has(part, &["file_url", "video_url"]).then_some(Fetches::FileUrl)
}

fn gemini_part(part: &Value) -> Option<Fetches> {
    has(part, &["fileData", "file_data"]).then_some(Fetches::FileData)
}

/// Whether any of the names is there, and not nothing.
fn has(part: &Value, names: &[&str]) -> bool {
    names.iter().filter_map(|name| part.get(name)).any(|it| !it.is_null())
}

fn is_inline(url: &str) -> bool {
    url.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_second_spelling_hides_nothing() {
        let said = |dialect, body: Value| read(dialect, body.to_string().as_bytes());
        let fetches = |said| {
            let Said::Model(body) = said else { panic!("{said:?}") };
            body.fetches
        };
        let part = json!({ "fileData": null, "file_data": { "file_uri": "https://evil.example" } });
        let gemini = said(Dialect::Gemini, json!({ "contents": [{ "parts": [part] }] }));
        assert_eq!(fetches(gemini), Some(Fetches::FileData));
        let part = json!({ "file_url": null, "video_url": "https://evil.example" });
        let openai = said(Dialect::OpenaiChat, json!({ "messages": [{ "content": [part] }] }));
        assert_eq!(fetches(openai), Some(Fetches::FileUrl));
        for body in [
            json!({ "generationConfig": {}, "generation_config": { "max_output_tokens": 9 } }),
            json!({ "tools": { "googleSearch": {} } }),
        ] {
            let said = said(Dialect::Gemini, body);
            assert!(matches!(said, Said::Unreadable(_)), "{said:?}");
        }
    }
}
