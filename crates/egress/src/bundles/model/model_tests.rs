//! What a body may ask of a provider.

use serde_json::{Value, json};

use super::*;

fn told(which: ModelProvider, costs: Costs, body: &Value) -> String {
    let provider = provider(which).unwrap();
    let said = proxy::model::body::read(costs.into(), body.to_string().as_bytes());
    match judge_body(&provider, ProviderTools::Refused, &said) {
        Ok(wanted) => format!("{:?} {:?}", wanted.model, wanted.most_output_tokens),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_provider_is_read_and_has_operations() {
    for which in ModelProvider::ALL {
        let provider = provider(which).unwrap();
        assert!(provider.operations.iter().any(|operation| operation.costs.is_some()));
        assert!(provider.host.is_none() || provider.place().is_some());
        let header = provider.key("x").0;
        assert!(provider.strip.contains(&header), "the program's own {header} would stay");
        assert!(provider.strip.iter().all(|it| *it == it.to_ascii_lowercase()));
    }
}

#[test]
fn the_proxy_answers_in_the_words_of_the_tables_hosts() {
    let hosts = ModelProvider::ALL
        .iter()
        .filter_map(|which| provider(*which).unwrap().place())
        .map(|place| place.host().to_string())
        .collect::<Vec<_>>();
    assert_eq!(hosts, proxy::model::refused::KNOWN_HOSTS);
}

#[test]
fn a_body_that_was_read_in_another_language_is_refused() {
    let provider = provider(ModelProvider::Openai).unwrap();
    let said = proxy::github::graphql::read(br#"{"query":"{a}"}"#);
    let told = judge_body(&provider, ProviderTools::Allowed, &said);
    assert!(matches!(told, Err(BodyError::Malformed(_))), "{told:?}");
}

#[test]
fn tools_that_run_at_the_provider_and_content_that_it_would_fetch_are_refused() {
    let anthropic = |body: &Value| told(ModelProvider::Anthropic, Costs::AnthropicMessages, body);
    let chat = |body: &Value| told(ModelProvider::Openai, Costs::OpenaiChat, body);
    let responses = |body: &Value| told(ModelProvider::Openai, Costs::OpenaiResponses, body);
    let gemini = |body: &Value| told(ModelProvider::Gemini, Costs::Gemini, body);
    let input = json!({ "type": "tool_use", "name": "fetch", "input": { "source": { "type": "url", "url": "https://x" } } });
    let all = [
        anthropic(
            &json!({ "model": "m", "max_tokens": 9, "tools": [{ "name": "a", "input_schema": {} }, { "type": "bash_20250124", "name": "bash" }] }),
        ),
        anthropic(
            &json!({ "model": "m", "messages": [{ "role": "assistant", "content": [input] }] }),
        ),
        anthropic(&json!({ "tools": [{ "type": "web_fetch_20250910", "name": "web_fetch" }] })),
        anthropic(&json!({ "tools": [{ "type": 7 }] })),
        anthropic(&json!({ "mcp_servers": [{ "type": "url", "url": "https://evil.example" }] })),
        anthropic(&json!({ "mcp_servers": [] })),
        anthropic(
            &json!({ "messages": [{ "content": [{ "type": "tool_result", "content": [{ "type": "image", "source": { "type": "url", "url": "https://evil.example/?d" } }] }] }] }),
        ),
        chat(
            &json!({ "model": "m", "max_completion_tokens": 5, "messages": [{ "content": [{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } }] }] }),
        ),
        chat(
            &json!({ "messages": [{ "content": [{ "type": "image_url", "image_url": { "url": "https://evil.example/?d" } }] }] }),
        ),
        chat(&json!({ "web_search_options": {} })),
        responses(
            &json!({ "model": "m", "max_output_tokens": 7, "input": "hello", "tools": [{ "type": "function" }, { "type": "local_shell" }] }),
        ),
        responses(&json!({ "tools": [{ "type": "mcp", "server_url": "https://evil.example" }] })),
        responses(&json!({ "tools": [{ "type": "web_search" }] })),
        responses(
            &json!({ "input": [{ "type": "function_call_output", "output": [{ "type": "input_image", "image_url": "https://evil.example" }] }] }),
        ),
        responses(
            &json!({ "input": [{ "content": [{ "type": "input_file", "file_url": "https://evil.example" }] }] }),
        ),
        gemini(
            &json!({ "generationConfig": { "maxOutputTokens": 3 }, "tools": [{ "functionDeclarations": [] }] }),
        ),
        gemini(&json!({ "tools": [{ "functionDeclarations": [], "urlContext": {} }] })),
        gemini(
            &json!({ "contents": [{ "parts": [{ "fileData": { "fileUri": "https://evil.example" } }] }] }),
        ),
        anthropic(&json!([])),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    Some("m") Some(9)
    Some("m") None
    the tool `web_fetch_20250910` runs at the provider and could carry data past the gateway
    the tool `7` runs at the provider and could carry data past the gateway
    the tool `mcp_servers` runs at the provider and could carry data past the gateway
    None None
    `source.url` has the provider fetch from an address that nobody has judged
    Some("m") Some(5)
    `image_url` has the provider fetch from an address that nobody has judged
    the tool `web_search_options` runs at the provider and could carry data past the gateway
    Some("m") Some(7)
    the tool `mcp` runs at the provider and could carry data past the gateway
    the tool `web_search` runs at the provider and could carry data past the gateway
    `image_url` has the provider fetch from an address that nobody has judged
    `file_url` has the provider fetch from an address that nobody has judged
    None Some(3)
    the tool `urlContext` runs at the provider and could carry data past the gateway
    `fileData` has the provider fetch from an address that nobody has judged
    the body is not JSON that can be read in one way only: it is not an object
    "#);
}
