//! The language of GraphQL and nothing else, and what is said of it.

use proptest::prelude::*;
use serde_json::json;

use super::{
    document::{self, DEPTH_LIMIT, DocumentError},
    graphql, pull_request,
};
use crate::{
    ask::{
        Exchange, Question, Said, ToBroker, Whose, bounds,
        said::{FIELDS_LIMIT, NAME_LIMIT, Operation, Origin, RootField},
    },
    link::heard,
};

fn said(query: &str) -> Said {
    graphql::read(json!({ "query": query }).to_string().as_bytes())
}

#[test]
fn a_document_is_the_language_and_nothing_else() {
    for text in [
        "",
        "{",
        "{}",
        "{ a",
        "{ a }}",
        "query",
        "query q",
        "{ a(b) }",
        "{ a(b: ) }",
        "{ a(b: 01) }",
        "{ a(b: \"x) }",
        "{ a(b: \"\\x\") }",
        "{ a \u{a0} b }",
        "{ a % b }",
        "{ a } extend type X { y: Z }",
        "query($a: ) { b }",
        "query($a: T, $a: T) { b }",
        "fragment on on T { a } { a }",
        "fragment f on T { a } fragment f on T { b } { a }",
        "{ a(b: 1, b: 2) }",
        "{ ..a }",
        "{ ... }",
    ] {
        assert!(document::read(text).is_err(), "{text}");
    }
    let deep = "{a".repeat(DEPTH_LIMIT + 1);
    assert_eq!(document::read(&deep), Err(DocumentError::TooDeep));
    let list = format!("{{ a(b: {}", "[".repeat(DEPTH_LIMIT + 1));
    assert_eq!(document::read(&list), Err(DocumentError::TooDeep));
    let fine = "\u{feff}# comment\nquery Q($a: [T!]! = [1.5e3, -2] @d, $b: T) @live { \
                x: y(a: $a, b: {c: \"\\u00e4 \\\"}\", d: \"\"\"block \\\"\"\" } \"\"\"}) @include(if: $b) { ...f ... on U { z } ... { w } } }, \
                fragment f on U { v }";
    let document = document::read(fine).unwrap();
    assert_eq!(document.operations.len(), 1);
    assert_eq!(document.fragments.len(), 1);
}

#[test]
fn an_operation_is_told_by_the_names_of_its_root_fields() {
    let field = |name: &str, from| RootField { name: name.to_owned(), from };
    let unclear = |why: &str| Origin::Unclear(why.to_owned());
    let mutation = |fields| Said::Graphql(Operation::Mutation(fields));
    assert_eq!(said("{ viewer { login } }"), Said::Graphql(Operation::Query));
    assert_eq!(said("subscription { x }"), Said::Graphql(Operation::Subscription));
    assert_eq!(
        said("mutation { a: b(input: {headRefName: \"x\"}) { c } ...f } fragment f on M { d }"),
        mutation(vec![
            field("b", Origin::Branch("x".to_owned())),
            field("d", unclear("`d` takes one argument, `input`")),
        ])
    );
    for (input, from) in [
        ("{headRefName: x}", Origin::Branch("x".to_owned())),
        ("{headRefName: \"x\", headRepositoryId: null}", Origin::Branch("x".to_owned())),
        ("{headRefName: \"x\", headRepositoryId: \"R\"}", Origin::Elsewhere),
        ("{headRefName: null}", Origin::Nothing),
        ("{headRefName: [\"x\"]}", Origin::Nothing),
        ("{headRefName: \"x\\ny\"}", Origin::Nothing),
        ("{headRefName: \"x\", other: [{y: $z}]}", unclear("`$z` is not declared")),
        ("7", Origin::Nothing),
    ] {
        let text = format!("mutation {{ a(input: {input}) {{ c }} }}");
        assert_eq!(said(&text), mutation(vec![field("a", from)]), "{input}");
    }
}

#[test]
fn a_long_name_is_cut_and_too_many_fields_are_not_read() {
    let text = format!("mutation {{ {} }}", "x".repeat(NAME_LIMIT + 1));
    let Said::Graphql(Operation::Mutation(fields)) = said(&text) else { panic!("a mutation") };
    assert_eq!(fields[0].name.len(), NAME_LIMIT);
    let many = format!("mutation {{ {} }}", "x ".repeat(FIELDS_LIMIT));
    assert!(matches!(said(&many), Said::Unreadable(_)));
}

/// Looked up one by one, the variables of this document would be compared some 10¹⁰ times.
#[test]
fn a_document_full_of_variables_is_read_at_once() {
    let declared = (0..14_000).fold(String::new(), |all, it| all + "$v" + &it.to_string() + ":T");
    let used = "$v13999".repeat(9_000);
    let spread = "...F".repeat(31);
    let query = format!("mutation({declared}){{{spread}}}fragment F on M{{f(input:[{used}])}}");
    let Said::Graphql(Operation::Mutation(fields)) = said(&query) else { panic!("it can be read") };
    assert_eq!(fields.len(), 31);
    let pairs = (0..20_000).fold(String::new(), |all, it| all + "k" + &it.to_string() + ":1 ");
    let query = format!("mutation{{f(input:{{{pairs}k0:1}})}}");
    assert!(matches!(said(&query), Said::Unreadable(why) if why.contains("twice")));
}

/// Whether the broker would hear it.
fn is_heard(said: Said) -> bool {
    let question = Question::Request(Box::new(crate::ask::Request {
        host: "api.github.com".to_owned(),
        port: 443,
        scheme: crate::ask::Scheme::Https,
        method: "POST".to_owned(),
        target: "/graphql".to_owned(),
        content_type: None,
        headers: Vec::new(),
        placeholders: Vec::new(),
        upgrade: None,
        body: Some(said),
        way: crate::ask::Way::Connect,
        peer: None,
    }));
    let message = ToBroker::Ask { exchange: Exchange(1), whose: Whose(1), question };
    bounds::check(&message) == Ok(())
        && heard(&postcard::to_stdvec(&message).unwrap()).unwrap() == message
}

proptest! {
    #[test]
    fn any_document_is_read_without_a_panic(text in "[a-z{}()\\[\\]:$@!.\"\\\\ #\n,=&|0-9-]{0,60}", rest in any::<String>()) {
        let _ = document::read(&text);
        let _ = document::read(&rest);
        prop_assert!(is_heard(said(&text)));
        prop_assert!(is_heard(said(&rest)));
    }

    #[test]
    fn whatever_a_body_is_the_broker_hears_what_is_said_of_it(
        key in "(query|head|issue|model|tools|type|max_tokens|messages|[^\"]{0,600})",
        text in any::<String>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        use crate::ask::Dialect;
        let inner = json!({ key.clone(): text, "type": text, (text.clone()): key });
        let body = json!({ key: [inner], "query": text, "head": text, "model": text, "tools": [inner] }).to_string();
        for body in [body.as_bytes(), &bytes[..]] {
            prop_assert!(is_heard(graphql::read(body)));
            prop_assert!(is_heard(pull_request::read(body)));
            for dialect in [Dialect::AnthropicMessages, Dialect::OpenaiChat, Dialect::OpenaiResponses, Dialect::Gemini] {
                prop_assert!(is_heard(crate::model::body::read(dialect, body)));
            }
        }
    }
}
