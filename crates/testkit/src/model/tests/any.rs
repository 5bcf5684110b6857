//! Whatever comes, there is an answer.

use proptest::prelude::*;

use super::*;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Into::into),
        "(play: |;; |write|error 500|[a-z ]{0,8}|\\PC{0,4}){0,6}".prop_map(Value::String),
        Just(json!("user")),
        Just(json!("play: write a b ;; play: cut ;; play: shell ls ;;")),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = prop_oneof![
            proptest::sample::select(vec![
                "messages",
                "role",
                "content",
                "tools",
                "name",
                "input_schema",
                "properties",
                "required",
                "type",
                "enum",
                "text",
                "input",
                "contents",
                "parts",
                "functionDeclarations",
                "parameters",
                "function",
                "stream",
                "model",
                "anyOf",
                "items",
                "instructions",
                "system",
                "tool_calls",
                "response_format",
                "json_schema",
                "schema",
            ])
            .prop_map(str::to_owned),
            "[a-z]{1,5}".prop_map(|key: String| key),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::vec((key, inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn target() -> impl Strategy<Value = String> {
    let known = [
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/x/chat/completions",
        "/responses",
        "/api/chat",
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:streamGenerateContent?alt=sse&key=k",
        "/v1beta/models/m:countTokens",
        "/v1/models",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,20}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_body_gets_an_answer_or_a_reason(target in target(), body in value(), method in "(POST|GET|PUT)") {
        let asked = Request { method, ..post(&target, &body) };
        let model = Model::new();
        model.otherwise("play: write a b ;; play: plan A | B ;; play: text x ;;".parse().unwrap());
        let beats = model.answer(&asked);
        let seen = model.requests();
        prop_assert_eq!(seen.len(), 1);
        let Some(status) = seen[0].status else {
            prop_assert_eq!(beats, vec![Beat::Silence]);
            return Ok(());
        };
        let scripted = seen[0].step.is_some();
        prop_assert!(status == 200 || (400..500).contains(&status) || scripted, "{:?}", seen);
    }

    #[test]
    fn bytes_that_are_no_json_get_a_reason(target in target(), body: Vec<u8>, packing in "(gzip|zstd|deflate|identity|x)") {
        let mut asked = post(&target, &Value::Null);
        asked.body = body;
        asked.headers.push(("content-encoding".into(), packing));
        let model = Model::new();
        model.answer(&asked);
        prop_assert!(model.requests()[0].status.is_some());
    }
}
