//! A proxy that was taken over says what it likes; the broker hears what is within bounds.

use proptest::prelude::*;

use super::*;
use crate::{
    ask::{
        Exchange, RefusalCode, Scheme, Way, Whose,
        said::{Connects, RootField},
    },
    link::{LinkError, heard},
};

fn request() -> Request {
    Request {
        host: "api.example.com".to_owned(),
        port: 443,
        scheme: Scheme::Https,
        method: "POST".to_owned(),
        target: "/graphql".to_owned(),
        content_type: Some("application/json".to_owned()),
        headers: vec![("git-protocol".to_owned(), "version=2".to_owned())],
        placeholders: vec!["lamp_TOKEN_0".to_owned()],
        upgrade: None,
        body: None,
        way: Way::Connect,
        peer: None,
    }
}

fn asked(request: Request) -> ToBroker {
    let question = Question::Request(Box::new(request));
    ToBroker::Ask { exchange: Exchange(1), whose: Whose(1), question }
}

fn ended(report: Report) -> ToBroker {
    ToBroker::Ended { exchange: Exchange(1), whose: Whose(1), report: Box::new(report) }
}

fn report(text: &str) -> Report {
    let text = || text.to_owned();
    Report {
        host: text(),
        port: 443,
        way: Way::Connect,
        request: Some((text(), text())),
        outcome: Outcome::Refused(Refusal {
            status: 403,
            code: RefusalCode::Forbidden,
            host: text(),
            port: 443,
            phase: text(),
            rule: Some(text()),
            reason: text(),
            remedy: text(),
        }),
        bytes_up: u64::MAX,
        bytes_down: u64::MAX,
        address: None,
        millis: u64::MAX,
        first_byte_millis: None,
        usage: Some(Usage { model: Some(text()), ..Usage::default() }),
        peer: None,
        generation: None,
        rule: Some(text()),
    }
}

/// Whether the broker hears it, over the wire.
fn is_heard(message: &ToBroker) -> bool {
    match heard(&postcard::to_stdvec(message).unwrap()) {
        Ok(heard) => heard == *message,
        Err(LinkError::Malformed(why)) => {
            assert!(why.ends_with("is not within its bounds"), "{why}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn too_much_of_anything_is_not_heard() {
    assert!(is_heard(&ToBroker::Ready));
    assert!(is_heard(&asked(request())));
    let long = |most: usize| "x".repeat(most + 1);
    let field = |name: String, from| RootField { name, from };
    let mutation = |fields| Said::Graphql(Operation::Mutation(fields));
    let model = |change: fn(&mut ModelBody)| {
        let mut body = ModelBody { connects: Some(Connects::Plugins), ..ModelBody::default() };
        change(&mut body);
        Said::Model(body)
    };
    assert!(is_heard(&asked(Request { body: Some(model(|_| {})), ..request() })));
    let bodies = [
        Said::Unreadable(long(SENTENCE_LIMIT)),
        Said::Unreadable("two\nlines".to_owned()),
        Said::PullRequest(Origin::Branch(long(BRANCH_LIMIT))),
        Said::PullRequest(Origin::Unclear(long(SENTENCE_LIMIT))),
        mutation(vec![field(long(NAME_LIMIT), Origin::Nothing)]),
        mutation(vec![field("a".to_owned(), Origin::Branch("\u{7f}".to_owned()))]),
        mutation(vec![field("a".to_owned(), Origin::Nothing); FIELDS_LIMIT + 1]),
        model(|body| body.model = Some("x".repeat(NAME_LIMIT + 1))),
        model(|body| body.tools = vec!["x".repeat(NAME_LIMIT + 1)]),
        model(|body| body.tools = vec![String::new(); TOOLS_LIMIT + 1]),
    ];
    for body in bodies {
        assert!(!is_heard(&asked(Request { body: Some(body.clone()), ..request() })), "{body:?}");
    }
    let changes: [fn(&mut Request); 8] = [
        |it| it.host = "x".repeat(HOST_LIMIT + 1),
        |it| it.method = "x".repeat(LINE_LIMIT + 1),
        |it| it.target = "x".repeat(LINE_LIMIT + 1),
        |it| it.content_type = Some("x".repeat(LINE_LIMIT + 1)),
        |it| it.upgrade = Some("x".repeat(LINE_LIMIT + 1)),
        |it| it.headers = vec![("cookie".to_owned(), String::new())],
        |it| it.headers = vec![("git-protocol".to_owned(), String::new()); 5],
        |it| it.placeholders = vec![String::new(); PLACEHOLDERS_LIMIT + 1],
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut wrong = request();
        change(&mut wrong);
        assert!(!is_heard(&asked(wrong)), "change {at}");
    }
    assert!(!is_heard(&ended(report(&long(TEXT_LIMIT)))));
}

proptest! {
    #[test]
    fn a_report_that_was_fitted_is_heard_however_long_it_was(text in any::<String>(), times in 1_usize..4000) {
        let mut report = report(&text.repeat(times));
        fit(&mut report);
        let sent = postcard::to_stdvec(&ended(report.clone())).unwrap();
        prop_assert!(sent.len() <= crate::ask::QUESTION_LIMIT);
        prop_assert!(is_heard(&ended(report)));
    }

    #[test]
    fn any_bytes_are_a_message_within_bounds_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(message) = heard(&bytes) {
            prop_assert_eq!(check(&message), Ok(()));
        }
    }

    #[test]
    fn a_message_with_a_changed_byte_is_another_within_bounds_or_none(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let body = Some(Said::Unreadable("it is not".to_owned()));
        let mut sent = postcard::to_stdvec(&asked(Request { body, ..request() })).unwrap();
        let at = at.index(sent.len());
        sent[at] = byte;
        if let Ok(message) = heard(&sent) {
            prop_assert_eq!(check(&message), Ok(()));
        }
    }
}
