//! What a proxy says that was taken over, as the broker reads it; and what an honest one says of any body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::{
    ask::{
        Dialect, Exchange, Language, Question, QUESTION_LIMIT, Request, Scheme, ToBroker, Way, Whose, bounds,
    },
    link::heard,
    serving::read_body,
};

const LANGUAGES: [Language; 6] = [
    Language::Graphql,
    Language::PullRequest,
    Language::Model(Dialect::AnthropicMessages),
    Language::Model(Dialect::OpenaiChat),
    Language::Model(Dialect::OpenaiResponses),
    Language::Model(Dialect::Gemini),
];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = heard(bytes) {
        assert_eq!(bounds::check(&message), Ok(()));
    }
    for language in LANGUAGES {
        let said = read_body(language, bytes);
        assert_eq!(said, read_body(language, bytes), "one body has one meaning");
        let question = Question::Request(Box::new(Request {
            host: "api.example.com".to_owned(),
            port: 443,
            scheme: Scheme::Https,
            method: "POST".to_owned(),
            target: "/".to_owned(),
            content_type: None,
            headers: Vec::new(),
            placeholders: Vec::new(),
            upgrade: None,
            body: Some(said),
            way: Way::Connect,
            peer: None,
        }));
        let message = ToBroker::Ask { exchange: Exchange(1), whose: Whose(1), question };
        assert_eq!(bounds::check(&message), Ok(()));
        let sent = postcard::to_stdvec(&message).expect("it can be written");
        assert!(sent.len() <= QUESTION_LIMIT);
        assert_eq!(heard(&sent).expect("the broker hears it"), message);
    }
});
