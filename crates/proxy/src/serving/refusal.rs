//! How a program is told that something does not leave.
//!
//! The sentence stands where each kind of client shows it: in a header that `curl -v` prints, as plain text for people, and as JSON
//! for programs, with the members that SDKs of models look for.

use serde_json::json;

use crate::{
    ask::{Refusal, RefusalCode},
    readers::head::HeadError,
};

/// The header with the sentence.
const HEADER: &str = "Lamp-Denied";

/// The longest sentence in a header.
const SENTENCE: usize = 500;

/// A refusal that the gateway decided by itself, because no rule could allow it.
pub(super) fn by_gateway(
    (status, code): (u16, RefusalCode),
    (host, port): (&str, u16),
    reason: impl Into<String>,
) -> Refusal {
    Refusal {
        status,
        code,
        host: host.to_owned(),
        port,
        phase: String::new(),
        rule: None,
        reason: reason.into(),
        remedy: String::new(),
    }
}

/// A head that cannot be read.
pub(super) fn of_head(error: &HeadError, place: (&str, u16)) -> Refusal {
    by_gateway(error.refusal(), place, error.to_string())
}

/// Whether the connection goes on after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
}

/// The whole answer, in the language that `accept` asks for.
pub(super) fn render(refusal: &Refusal, accept: Option<&str>, after: After) -> Vec<u8> {
    let sentence = sentence(refusal);
    let (kind, body) = match accept.filter(|accept| accept.contains("json")) {
        Some(accept) => ("application/problem+json", as_json(refusal, &sentence, accept)),
        None => ("text/plain; charset=utf-8", format!("{sentence}\n")),
    };
    answer(refusal, (kind, &body), after)
}

/// The whole answer, with a body that is somebody else's form of an error.
pub(super) fn render_as(refusal: &Refusal, body: &str, after: After) -> Vec<u8> {
    answer(refusal, ("application/json", body), after)
}

fn answer(refusal: &Refusal, (kind, body): (&str, &str), after: After) -> Vec<u8> {
    let sentence = sentence(refusal);
    let mut head = format!(
        "HTTP/1.1 {} {}\r\n{HEADER}: {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n",
        refusal.status,
        word(refusal.status),
        printable(&sentence),
        body.len(),
    );
    if refusal.status == 405 {
        head.push_str("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n");
    }
    if after == After::Close {
        head.push_str("Connection: close\r\n");
    }
    head.push_str("\r\n");
    let mut out = head.into_bytes();
    out.extend_from_slice(body.as_bytes());
    out
}

/// What a person reads.
pub(super) fn sentence(refusal: &Refusal) -> String {
    let place = match (refusal.host.as_str(), refusal.port) {
        ("", _) => String::new(),
        (host, 0) => format!(" {host}"),
        (host, port) => format!(" {host}:{port}"),
    };
    let phase =
        if refusal.phase.is_empty() { String::new() } else { format!(" in {}", refusal.phase) };
    let rule = refusal.rule.as_ref().map(|rule| format!(" (rule: {rule})")).unwrap_or_default();
    let remedy =
        if refusal.remedy.is_empty() { String::new() } else { format!(" {}", refusal.remedy) };
    format!("Lamplighter refused{place}{phase}: {}{rule}.{remedy}", refusal.reason)
}

fn as_json(refusal: &Refusal, sentence: &str, accept: &str) -> String {
    let code = refusal.code.as_str();
    let error = if accept.contains("vnd.npm") {
        // npm shows what it finds here as it is.
        json!(sentence)
    } else {
        // Where the SDKs of models look.
        json!({ "type": code, "code": code, "message": sentence })
    };
    json!({
        "title": "Refused by Lamplighter",
        "status": refusal.status,
        "detail": sentence,
        "code": code,
        "host": refusal.host,
        "port": refusal.port,
        "phase": refusal.phase,
        "rule": refusal.rule,
        "reason": refusal.reason,
        "remedy": refusal.remedy,
        // Where GitHub's program looks.
        "message": sentence,
        "error": error,
    })
    .to_string()
}

/// A header's value has printable ASCII, and we do not write long ones.
fn printable(text: &str) -> String {
    let plain = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    text.chars().map(plain).take(SENTENCE).collect::<String>().trim().to_owned()
}

const fn word(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        402 => "Payment Required",
        403 => "Forbidden",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal() -> Refusal {
        Refusal {
            status: 403,
            code: RefusalCode::NotAllowed,
            host: "evil.test".to_owned(),
            port: 443,
            phase: "implement".to_owned(),
            rule: None,
            reason: "no rule allows it\r\nX: y é".to_owned(),
            remedy: "Add `evil.test:443` to the policy.".to_owned(),
        }
    }

    #[test]
    fn people_read_a_sentence_with_its_remedy() {
        assert_eq!(
            sentence(&Refusal { reason: "no rule allows it".to_owned(), ..refusal() }),
            "Lamplighter refused evil.test:443 in implement: no rule allows it. Add `evil.test:443` to the policy."
        );
    }

    #[test]
    fn nothing_in_a_refusal_can_add_a_header() {
        let answer = String::from_utf8(render(&refusal(), None, After::Close)).unwrap();
        let (head, _body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(!head.contains("\r\nX: y"), "{head}");
        assert!(head.contains("Lamp-Denied: Lamplighter refused evil.test:443"), "{head}");
        assert!(head.ends_with("Connection: close"), "{head}");
    }

    #[test]
    fn programs_that_ask_for_json_get_it() {
        let answer =
            String::from_utf8(render(&refusal(), Some("application/json"), After::Keep)).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("application/problem+json"), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["code"], "not_allowed");
        assert_eq!(body["error"]["type"], "not_allowed");
        assert_eq!(body["message"], body["detail"], "gh prints it");
        assert_eq!(body["host"], "evil.test");
        let npm = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*";
        let answer = String::from_utf8(render(&refusal(), Some(npm), After::Keep)).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"], body["detail"], "npm prints it");
    }
}
