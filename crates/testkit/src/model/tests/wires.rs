//! Each language: the bytes of a stream as a picture, and what a program reads out of them.

use serde_json::json;

use super::*;
use crate::model::Usage;

const SCRIPT: &str = "Go. play: think Hm, a file. ;; play: say I write it. ;; play: usage 100 20 30 ;; play: write a.txt hello ;; \
                      play: usage 7 8 ;; play: text All is done. ;;";

#[test]
fn streams_look_as_programs_expect_them() {
    for wire in ALL {
        let asked = request(wire, How::Streamed, &[Line::User(SCRIPT)]);
        let (status, text) = body(&Model::new().answer(&asked));
        assert_eq!(status, 200);
        insta::assert_snapshot!(format!("stream_of_{}", wire.name()), text);
    }
}

#[test]
fn a_stream_and_a_whole_answer_say_the_same() {
    let model = Model::new();
    for wire in ALL {
        for lines in [&[Line::User(SCRIPT)][..], &[Line::User(SCRIPT), Line::Called]] {
            let streamed = played(&model, wire, How::Streamed, lines);
            let whole = played(&model, wire, How::Whole, lines);
            assert_eq!(streamed, whole, "{wire:?}");
        }
    }
}

#[test]
fn a_call_and_a_text_arrive_in_every_language() {
    let model = Model::new();
    for wire in ALL {
        let heard = played(&model, wire, How::Streamed, &[Line::User(SCRIPT)]);
        assert_eq!((heard.thought.as_str(), heard.text.as_str()), ("Hm, a file.", "I write it."));
        let written = json!({ "path": "a.txt", "content": "hello\n" });
        assert_eq!(heard.call, Some(("write".to_owned(), written)), "{wire:?}");
        let usage = match wire {
            Wire::Ollama => Usage { input: 130, cached: 0, output: 20 },
            Wire::Anthropic | Wire::Chat | Wire::Responses | Wire::Gemini => {
                Usage { input: 100, cached: 30, output: 20 }
            }
        };
        assert_eq!(heard.usage, Some(usage), "{wire:?}");
        assert_eq!(model.requests().last().unwrap().told, heard.usage, "{wire:?}");
        let heard = played(&model, wire, How::Streamed, &[Line::User(SCRIPT), Line::Called]);
        assert_eq!((heard.text.as_str(), &heard.call), ("All is done.", &None), "{wire:?}");
    }
}

#[test]
fn each_language_says_in_its_own_way_why_it_stopped() {
    let model = Model::new();
    let mut told = String::new();
    for wire in ALL {
        let stop = |script: &str| played(&model, wire, How::Streamed, &[Line::User(script)]).stop;
        let stops = [
            "play: shell ls ;;",
            "play: text x ;;",
            "play: length ;; play: text x ;;",
            "play: refuse No. ;;",
        ];
        told.extend([wire.name(), ": ", &stops.map(stop).join(", "), "\n"]);
    }
    insta::assert_snapshot!(told, @"
    anthropic-messages: tool_use, end_turn, max_tokens, refusal
    openai-chat: tool_calls, stop, length, content_filter
    openai-responses: completed, completed, incomplete, completed
    gemini: STOP, STOP, MAX_TOKENS, SAFETY
    ollama: stop, stop, length, stop
    ");
}

#[test]
fn a_chat_tells_what_was_used_only_to_who_asked_for_it() {
    let model = Model::new();
    let mut asked = request(Wire::Chat, How::Streamed, &[Line::User("play: text x ;;")]);
    let text = String::from_utf8(asked.body).unwrap();
    asked.body = text.replace("\"include_usage\":true", "\"include_usage\":false").into_bytes();
    let (_, stream) = body(&model.answer(&asked));
    assert!(!stream.contains("usage"), "{stream}");
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    assert_eq!(model.used(), [].into());
    assert_eq!(model.requests()[0].told, None);
}

#[test]
fn a_free_tool_gets_text_and_a_group_is_named() {
    let model = Model::new();
    let tools = json!([{ "type": "custom", "name": "apply_patch" }, { "type": "namespace", "name": "shells", "tools": [
        { "type": "function", "name": "exec_command", "parameters": { "type": "object", "properties": { "cmd": {} } } }] }]);
    let heard: Vec<Value> = ["play: write a b ;;", "play: shell ls ;;"]
        .iter()
        .map(|prompt| {
            let asked = json!({ "model": "m", "input": prompt, "tools": tools });
            let (_, text) = body(&model.answer(&post("/responses", &asked)));
            serde_json::from_str::<Value>(&text).unwrap()["output"][0].clone()
        })
        .collect();
    assert_eq!(heard[0]["type"], "custom_tool_call");
    assert_eq!(heard[0]["input"], "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n");
    assert_eq!(
        (&heard[1]["type"], &heard[1]["namespace"]),
        (&json!("function_call"), &json!("shells"))
    );
}

#[test]
fn who_declares_no_tools_gets_a_title_or_what_its_schema_says() {
    let model = Model::new();
    let schema = json!({ "type": "object", "required": ["title"], "properties": { "title": { "type": "string" } } });
    let plain = json!({ "messages": [{ "role": "user", "content": SCRIPT }] });
    let shaped = json!({ "messages": [{ "role": "user", "content": SCRIPT }], "response_format": { "json_schema": { "schema": schema } } });
    let toolless = json!({ "messages": [{ "role": "user", "content": format!("play: toolless ;; {SCRIPT}") }] });
    let texts = [plain, shaped, toolless].map(|asked| {
        let (_, text) = body(&model.answer(&post("/chat/completions", &asked)));
        reader::whole(Wire::Chat, &serde_json::from_str(&text).unwrap()).text
    });
    assert_eq!(texts, ["A scripted title", "{\"title\":\"scripted title\"}", "All is done."]);
}

#[test]
fn models_are_listed_and_tokens_counted() {
    let model = Model::new();
    let get = |target: &str, header: Option<&str>| Request {
        method: "GET".into(),
        target: target.into(),
        headers: header.map(|name| (name.to_owned(), "1".to_owned())).into_iter().collect(),
        body: Vec::new(),
    };
    let prompt = json!({ "messages": [{ "role": "user", "content": "12345678" }] });
    let told: Vec<String> = [
        get("/v1/models", None),
        get("/v1/models", Some("anthropic-version")),
        get("/v1beta/models?key=secret", None),
        get("/v1/models/any", None),
        get("/v1beta/models/any", None),
        get("/api/tags", None),
        post("/v1/messages/count_tokens?beta=true", &prompt),
        post("/v1beta/models/m:countTokens", &prompt),
    ]
    .iter()
    .map(|asked| format!("{:?}", body(&model.answer(asked))))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    (200, "{\"object\":\"list\",\"data\":[{\"id\":\"scripted-model\",\"object\":\"model\",\"created\":1767225600,\"owned_by\":\"scripted\"},{\"id\":\"scripted-small\",\"object\":\"model\",\"created\":1767225600,\"owned_by\":\"scripted\"}]}")
    (200, "{\"data\":[{\"type\":\"model\",\"id\":\"scripted-model\",\"display_name\":\"scripted-model\",\"created_at\":\"2026-01-01T00:00:00Z\"},{\"type\":\"model\",\"id\":\"scripted-small\",\"display_name\":\"scripted-small\",\"created_at\":\"2026-01-01T00:00:00Z\"}],\"has_more\":false,\"first_id\":\"scripted-model\",\"last_id\":\"scripted-small\"}")
    (200, "{\"models\":[{\"name\":\"models/scripted-model\",\"displayName\":\"scripted-model\",\"version\":\"1\",\"inputTokenLimit\":200000,\"outputTokenLimit\":32000,\"supportedGenerationMethods\":[\"generateContent\",\"countTokens\"]},{\"name\":\"models/scripted-small\",\"displayName\":\"scripted-small\",\"version\":\"1\",\"inputTokenLimit\":200000,\"outputTokenLimit\":32000,\"supportedGenerationMethods\":[\"generateContent\",\"countTokens\"]}]}")
    (200, "{\"id\":\"any\",\"object\":\"model\",\"created\":1767225600,\"owned_by\":\"scripted\"}")
    (200, "{\"name\":\"models/any\",\"displayName\":\"any\",\"version\":\"1\",\"inputTokenLimit\":200000,\"outputTokenLimit\":32000,\"supportedGenerationMethods\":[\"generateContent\",\"countTokens\"]}")
    (200, "{\"models\":[{\"name\":\"scripted-model\",\"model\":\"scripted-model\",\"size\":1},{\"name\":\"scripted-small\",\"model\":\"scripted-small\",\"size\":1}]}")
    (200, "{\"input_tokens\":13}")
    (200, "{\"totalTokens\":13}")
    "#);
    assert!(!format!("{:?}", model.requests()).contains("secret"));
}

#[test]
fn packed_bodies_are_read_and_bombs_are_not() {
    use std::io::Write as _;
    let model = Model::new();
    let plain = request(Wire::Chat, How::Whole, &[Line::User("play: text packed ;;")]);
    let packed = |packing: &str, bytes: Vec<u8>| {
        let mut asked = Request { body: bytes, ..plain.clone() };
        asked.headers.push(("content-encoding".into(), packing.into()));
        body(&model.answer(&asked))
    };
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    deflate.write_all(&plain.body).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        plain.body.as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for (packing, bytes) in
        [("gzip", gzip(&plain.body)), ("deflate", deflate.finish().unwrap()), ("zstd", zstd)]
    {
        let (status, text) = packed(packing, bytes);
        assert!(status == 200 && text.contains("packed"), "{packing}: {status} {text}");
    }
    let bomb = gzip(&vec![b' '; crate::model::LARGEST_BODY + 1]);
    let statuses = [packed("gzip", bomb).0, packed("br", Vec::new()).0, packed("gzip", vec![1]).0];
    assert_eq!(statuses, [413, 415, 400]);
}

#[test]
fn what_is_no_request_of_a_models_is_refused_in_the_right_words() {
    let model = Model::new();
    model.require_key("right");
    let no_json = |target: &str| Request {
        method: "POST".into(),
        target: target.into(),
        headers: vec![("x-api-key".into(), "right".into())],
        body: b"{".to_vec(),
    };
    let get = Request { method: "GET".into(), ..no_json("/v1/messages") };
    let told: Vec<String> = [
        no_json("/v1/messages"),
        no_json("/v1beta/models/m:generateContent"),
        no_json("/v1/responses"),
        no_json("/api/chat"),
        get,
        no_json("/v1/elsewhere"),
        post("/v1/messages", &json!({})),
        post("/v1/messages/count_tokens", &json!({})),
        Request { body: b"[]".to_vec(), ..no_json("/chat/completions") },
        Request {
            body: json!({ "messages": [{ "role": "user", "content": "play: dance" }] })
                .to_string()
                .into(),
            ..no_json("/v1/messages")
        },
    ]
    .iter()
    .map(|asked| format!("{:?}", body(&model.answer(asked))))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    (400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"the body is no JSON: EOF while parsing an object at line 1 column 1\"},\"request_id\":\"req_scripted\"}")
    (400, "{\"error\":{\"code\":400,\"message\":\"the body is no JSON: EOF while parsing an object at line 1 column 1\",\"status\":\"INVALID_ARGUMENT\"}}")
    (400, "{\"error\":{\"message\":\"the body is no JSON: EOF while parsing an object at line 1 column 1\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}")
    (400, "{\"error\":\"the body is no JSON: EOF while parsing an object at line 1 column 1\"}")
    (405, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"the path wants a POST\"},\"request_id\":\"req_scripted\"}")
    (404, "{\"error\":{\"message\":\"the model has no such path\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}")
    (401, "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"the key is not the one\"},\"request_id\":\"req_scripted\"}")
    (401, "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"the key is not the one\"},\"request_id\":\"req_scripted\"}")
    (400, "{\"error\":{\"message\":\"the body is no object\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}")
    (400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"the script is wrong: `dance` has a verb that nobody knows\"},\"request_id\":\"req_scripted\"}")
    "#);
    assert_eq!(wanted(&no_json("/models/:generateContent")), Wanted::Unknown);
}
