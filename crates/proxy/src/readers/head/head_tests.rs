//! What is refused, and what becomes of what is not, one line each.

use super::*;
use crate::ask::Upgrade;

fn read(head: &str) -> Result<RequestHead, HeadError> {
    let mut scan = Scan::of_request();
    let read = request(&mut scan, head.as_bytes())?;
    let (head, used) = read.expect("the head is whole");
    assert!(used > 0);
    Ok(head)
}

fn told(heads: &[&str]) -> String {
    let line = |head: &&str| match read(head) {
        Ok(read) => format!("{head:?}: accepted as {:?}", read.encode().escape_ascii().to_string()),
        Err(error) => format!("{head:?}: {} {error}", error.refusal().0),
    };
    heads.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_head_that_could_be_read_in_two_ways_is_refused() {
    let heads = [
        "\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.1\nHost: a.test\n\n",
        "GET / HTTP/1.1\r\nHost: a.test\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\rX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nX: a\0b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nX: a\u{1b}b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nX: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nnocolon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\nhost: a.test\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /\tx HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n",
        "GET /\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a.test\r\n\r\n",
        "GET / http/1.1\r\nHost: a.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
        "get / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "QUERY / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://ok.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
        "GET //evil/path HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a/..%2fb HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a/%252e%252e/b HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a\\b HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a;x=1/b HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a%00 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a%zz HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n",
        "CONNECT http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
    ];
    insta::assert_snapshot!(told(&heads));
}

#[test]
fn a_body_has_one_length() {
    let with = |headers: &str| format!("POST / HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n\r\n");
    let bad = [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -1",
        "Content-Length: 05",
        "Content-Length: 0x5",
        "Content-Length: ",
        "Content-Length: 99999999999999999999",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: Chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding:\u{b}chunked",
        "Transfer_Encoding: chunked",
        "Content_Length: 5",
        "Connection: Content-Length\r\nContent-Length: 5",
        "Connection: close, Host",
        "Expect: 200-ok",
        "Content-Type: a\r\nContent-Type: b",
        "Authorization: a\r\nauthorization: b",
    ];
    let heads: Vec<String> = bad.iter().map(|headers| with(headers)).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    insta::assert_snapshot!(told(&heads));
    let length = |headers: &str| read(&with(headers)).unwrap().body;
    assert_eq!(length("Content-Length: 5"), BodyLength::Exactly(5));
    assert_eq!(length("Content-Length:\t0 "), BodyLength::Exactly(0));
    assert_eq!(length("transfer-encoding: chunked"), BodyLength::Chunked);
    assert_eq!(length("X: y"), BodyLength::Nothing);
}

#[test]
fn only_a_whole_handshake_asks_for_a_websocket() {
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let with = |method: &str, headers: &str| {
        read(&format!("{method} / HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n\r\n"))
            .map(|head| head.upgrade)
    };
    let whole = format!(
        "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n{key}\r\nSec-WebSocket-Version: 13"
    );
    assert_eq!(with("GET", &whole), Ok(Upgrade::WebSocket));
    assert_eq!(with("POST", &whole), Err(HeadError::WebSocket));
    assert_eq!(with("GET", &whole.replace("13", "8")), Err(HeadError::WebSocket));
    assert_eq!(
        with("GET", &whole.replace("Connection: keep-alive, Upgrade\r\n", "")),
        Err(HeadError::WebSocket)
    );
    assert_eq!(with("GET", &format!("{whole}\r\nContent-Length: 3")), Err(HeadError::WebSocket));
    for h2c in
        ["Upgrade: h2c", "Upgrade: H2C, websocket", "Upgrade: h2c/14", "HTTP2-Settings: AAMAAABk"]
    {
        assert_eq!(with("GET", h2c), Err(HeadError::Http2), "{h2c}");
    }
    assert_eq!(with("GET", "Upgrade: TLS/1.0\r\nConnection: Upgrade"), Err(HeadError::Upgrade));
    assert_eq!(with("GET", "Connection: Upgrade"), Ok(Upgrade::Refused));
}

#[test]
fn a_tunnel_is_opened_by_old_and_new_clients() {
    for head in [
        "CONNECT A.test:443 HTTP/1.1\r\nHost: a.TEST:443\r\nProxy-Connection: Keep-Alive\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.0\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.0\r\nUser-Agent: x\r\n\r\n",
    ] {
        let read = read(head).unwrap();
        assert_eq!(read.verb, Verb::Connect);
        let RequestTarget::Authority(place) = read.target else { panic!("{head}") };
        assert_eq!(place.to_string(), "a.test:443");
    }
}

#[test]
fn what_goes_onward_is_what_was_judged_without_what_was_ours() {
    let head = "POST http://a.test:8080/x%2Fy?q=%41 HTTP/1.1\r\nhOST: A.test:8080\r\nConnection: close, X-Private\r\n\
                X-Private: 1\r\nProxy-Authorization: Basic eA==\r\nTE: trailers\r\nKeep-Alive: 5\r\nTrailer: X\r\n\
                X-HTTP-Method-Override: DELETE\r\nx_http_method: PUT\r\nExpect: 100-continue\r\nX-Kept: a  b\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let read = read(head).unwrap();
    assert!(read.overrides_method());
    assert_eq!(read.expectation, Expectation::Continue);
    assert_eq!(read.persistence, Persistence::Close);
    let RequestTarget::Absolute(_, path) = &read.target else { panic!() };
    let onward = read.onward(path, "a.test:8080", Upgrade::Refused).unwrap();
    assert_eq!(
        String::from_utf8(onward.encode()).unwrap(),
        "POST /x%2Fy?q=%41 HTTP/1.1\r\nhOST: a.test:8080\r\nX-Kept: a  b\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
}

#[test]
fn a_header_that_we_add_cannot_become_two() {
    let mut headers =
        read("GET / HTTP/1.1\r\nHost: a.test\r\nX_Api.Key: mine\r\n\r\n").unwrap().headers;
    headers.remove_alike("x-api-key");
    assert_eq!(headers.iter().count(), 1);
    assert_eq!(headers.append("X-Api-Key", b"a\r\nX: y"), Err(HeadError::Value));
    assert_eq!(headers.append("X Y", b"a"), Err(HeadError::Name));
    assert_eq!(headers.append("X-Api-Key", b"fine"), Ok(()));
    assert_eq!(headers.text("x-api-key"), Some("fine"));
}

#[test]
fn a_head_has_limits() {
    let error = |bytes: String| request(&mut Scan::of_request(), bytes.as_bytes()).unwrap_err();
    assert_eq!(error("A".repeat(LINE_LIMIT + 2)), HeadError::LineTooLong);
    let long = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(HEAD_LIMIT));
    assert_eq!(error(long), HeadError::TooLong);
    let many = format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(HEADER_LIMIT + 1));
    assert_eq!(error(many), HeadError::TooManyHeaders);
    let most =
        format!("GET / HTTP/1.1\r\nHost: a.test\r\n{}\r\n", "X: y\r\n".repeat(HEADER_LIMIT - 1));
    assert!(request(&mut Scan::of_request(), most.as_bytes()).unwrap().is_some());
}

fn answer(head: &str) -> Result<ResponseHead, HeadError> {
    response(&mut Scan::of_response(), head.as_bytes())
        .map(|read| read.expect("the head is whole").0)
}

#[test]
fn answers_are_read_as_strictly_but_for_their_letters() {
    let fine = answer("HTTP/1.1 200 OK\r\nX: \u{e4}\r\nConnection: keep-alive\r\n\r\n").unwrap();
    assert_eq!((fine.status, fine.reason.as_slice()), (200, b"OK".as_slice()));
    assert_eq!(
        fine.onward(BodyLength::Exactly(2), Upgrade::Refused).unwrap().headers.iter().count(),
        1
    );
    assert_eq!(answer("HTTP/1.1 204\r\n\r\n").unwrap().status, 204);
    assert_eq!(answer("HTTP/1.0 200 OK\r\n\r\n").unwrap().persistence, Persistence::Close);
    for (head, error) in [
        ("HTTP/1.1 99 x\r\n\r\n", HeadError::Status),
        ("HTTP/1.1 600 x\r\n\r\n", HeadError::Status),
        ("HTTP/1.1 2000 x\r\n\r\n", HeadError::Status),
        ("HTTP/2 200\r\n\r\n", HeadError::Version),
        ("HTTP/1.1  200 OK\r\n\r\n", HeadError::Status),
        ("HTTP/1.1 200 OK\nX: y\r\n\r\n", HeadError::BareLineFeed),
        ("HTTP/1.1 200 OK\r\n X: y\r\n\r\n", HeadError::Folded),
    ] {
        assert_eq!(answer(head), Err(error), "{head:?}");
    }
}

#[test]
fn an_answer_ends_by_what_it_answers() {
    let length = |head: &str, to: AnswerTo| {
        let (head, _) = response(&mut Scan::of_response(), head.as_bytes()).unwrap().unwrap();
        head.body_length(to)
    };
    let five = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(length(five, AnswerTo::Other), Ok(BodyLength::Exactly(5)));
    assert_eq!(length(five, AnswerTo::Head), Ok(BodyLength::Nothing));
    assert_eq!(length(five, AnswerTo::Connect), Ok(BodyLength::Nothing));
    assert_eq!(length(&five.replace("200", "304"), AnswerTo::Other), Ok(BodyLength::Nothing));
    assert_eq!(length(&five.replace("200", "103"), AnswerTo::Other), Ok(BodyLength::Nothing));
    assert_eq!(length("HTTP/1.1 200 OK\r\n\r\n", AnswerTo::Other), Ok(BodyLength::UntilClose));
    assert_eq!(
        length("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", AnswerTo::Other),
        Ok(BodyLength::Chunked)
    );
    let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(length(old, AnswerTo::Other), Err(HeadError::TransferCoding));
    let both = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(length(both, AnswerTo::Other), Err(HeadError::LengthAndChunks));
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n";
    assert_eq!(length(two, AnswerTo::Other), Err(HeadError::TwoLengths));
}
