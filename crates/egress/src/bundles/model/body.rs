//! What a request asks of a model: which one, how much at most, and whether it would reach further than the model.
//!
//! A provider offers tools that run on its side: it fetches addresses, searches, connects to servers that the request names. For a
//! sandbox that is a way out which nobody judges, so only tools that run in the sandbox are let through, and content is sent, not
//! fetched.

use serde_json::Value;

use super::{Costs, Provider, ProviderTools};
use crate::bundles::strict_json;

/// What has to be known to put a price on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub model: Option<String>,
    /// The most that the answer may have.
    pub most_output_tokens: Option<u64>,
    pub body_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body is not JSON that can be read in one way only: {0}")]
    Malformed(String),
    #[error("the tool `{0}` runs at the provider and could carry data past the gateway")]
    Tool(String),
    #[error("`{0}` has the provider fetch from an address that nobody has judged")]
    Fetch(&'static str),
}

pub fn read(
    provider: &Provider,
    tools: ProviderTools,
    costs: Costs,
    body: &[u8],
) -> Result<Wanted, BodyError> {
    let value = strict_json::read(body).map_err(|error| BodyError::Malformed(error.to_string()))?;
    if !value.is_object() {
        return Err(BodyError::Malformed("it is not an object".to_owned()));
    }
    let most = match costs {
        Costs::AnthropicMessages => number(&value, &["max_tokens"]),
        Costs::OpenaiChat => number(&value, &["max_completion_tokens", "max_tokens"]),
        Costs::OpenaiResponses => number(&value, &["max_output_tokens"]),
        Costs::Gemini => {
            let config = value.get("generationConfig").or_else(|| value.get("generation_config"));
            config.and_then(|it| number(it, &["maxOutputTokens", "max_output_tokens"]))
        }
    };
    let model = value.get("model").and_then(Value::as_str).map(ToOwned::to_owned);
    match tools {
        ProviderTools::Allowed => {}
        ProviderTools::Refused => check(provider, costs, &value)?,
    }
    Ok(Wanted { model, most_output_tokens: most, body_bytes: body.len() as u64 })
}

fn number(value: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| value.get(name)?.as_u64())
}

fn check(provider: &Provider, costs: Costs, body: &Value) -> Result<(), BodyError> {
    for key in ["mcp_servers", "web_search_options", "plugins"] {
        if body
            .get(key)
            .is_some_and(|it| !it.is_null() && it.as_array().is_none_or(|it| !it.is_empty()))
        {
            return Err(BodyError::Tool(key.to_owned()));
        }
    }
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        check_tool(provider, costs, tool)?;
    }
    let parts = |key: &str| body.get(key).unwrap_or(&Value::Null);
    match costs {
        Costs::AnthropicMessages => {
            content(parts("messages"), &anthropic_source)?;
            content(parts("system"), &anthropic_source)
        }
        Costs::OpenaiChat => content(parts("messages"), &openai_part),
        Costs::OpenaiResponses => content(parts("input"), &openai_part),
        Costs::Gemini => content(parts("contents"), &gemini_part),
    }
}

fn check_tool(provider: &Provider, costs: Costs, tool: &Value) -> Result<(), BodyError> {
    let is_known = |kind: &str| {
        provider.tools.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => kind.starts_with(start),
            None => known == kind,
        })
    };
    match costs {
        // Gemini's tools are known by their keys, all others by `type`.
        Costs::Gemini => {
            let keys = tool.as_object().into_iter().flat_map(|it| it.keys());
            match keys.into_iter().find(|key| !is_known(key)) {
                Some(key) => Err(BodyError::Tool(key.clone())),
                None => Ok(()),
            }
        }
        Costs::AnthropicMessages | Costs::OpenaiChat | Costs::OpenaiResponses => {
            match tool.get("type") {
                None => Ok(()),
                Some(Value::String(kind)) if is_known(kind) => Ok(()),
                Some(kind) => {
                    let kind = kind.as_str().map_or_else(|| kind.to_string(), ToOwned::to_owned);
                    Err(BodyError::Tool(kind))
                }
            }
        }
    }
}

type Look<'a> = &'a dyn Fn(&Value) -> Result<(), BodyError>;

/// Looks at every part of the conversation. What a program said to a tool (`input`, `arguments`) is not content.
fn content(value: &Value, look: Look<'_>) -> Result<(), BodyError> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| content(item, look)),
        Value::Object(part) => {
            look(value)?;
            let nested = ["content", "parts", "output"].into_iter().filter_map(|key| part.get(key));
            nested.into_iter().try_for_each(|inner| content(inner, look))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn anthropic_source(part: &Value) -> Result<(), BodyError> {
    let kind = part.get("source").and_then(|source| source.get("type"));
    if kind.and_then(Value::as_str) == Some("url") {
        return Err(BodyError::Fetch("source.url"));
    }
    Ok(())
}

fn openai_part(part: &Value) -> Result<(), BodyError> {
    let image = part.get("image_url").map(|image| image.get("url").unwrap_or(image));
    if image.and_then(Value::as_str).is_some_and(|url| !is_inline(url)) {
        return Err(BodyError::Fetch("image_url"));
    }
    let file = part.get("file_url").or_else(|| part.get("video_url"));
    if file.is_some_and(|url| !url.is_null()) {
        return Err(BodyError::Fetch("file_url"));
    }
    Ok(())
}

fn gemini_part(part: &Value) -> Result<(), BodyError> {
    if part.get("fileData").or_else(|| part.get("file_data")).is_some_and(|it| !it.is_null()) {
        return Err(BodyError::Fetch("fileData"));
    }
    Ok(())
}

fn is_inline(url: &str) -> bool {
    url.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
}
