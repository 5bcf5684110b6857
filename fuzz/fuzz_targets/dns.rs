//! Questions for names: every answer is to that question, is small, and is no question itself.
#![no_main]

use std::net::Ipv4Addr;

use proxy::readers::dns::{DnsError, QUESTION_LIMIT, RecordKind, frame, read, unframe};
use libfuzzer_sys::fuzz_target;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 7);

fuzz_target!(|bytes: &[u8]| {
    if let Some((message, used)) = unframe(bytes) {
        assert!(used <= bytes.len());
        assert_eq!(frame(message), &bytes[..used]);
    }
    match read(bytes) {
        Ok(question) => {
            assert!(bytes.len() <= QUESTION_LIMIT);
            if let Some(host) = &question.host {
                assert_eq!(host.as_str(), host.as_str().to_ascii_lowercase());
                assert!(contains_labels(bytes, host.as_str()), "the name that was asked for");
            }
            let known = question.address(ADDRESS);
            assert_eq!(known.ends_with(&ADDRESS.octets()), ends_in_address(&question, &known));
            for answer in [known, question.no_record(), question.no_name(), question.failure()] {
                answers(bytes, &answer);
            }
        }
        Err(error) => {
            if let Some(answer) = error.answer() {
                assert_eq!((answer.len(), &answer[..2]), (12, &bytes[..2]));
                assert_eq!(read(&answer), Err(DnsError::NoQuestion));
            }
        }
    }
});

/// Only a question for an IPv4 address gets one; with EDNS something stands behind it.
fn ends_in_address(question: &proxy::readers::dns::Question, answer: &[u8]) -> bool {
    let has_record = answer[7] == 1;
    assert_eq!(has_record, question.kind == RecordKind::A);
    has_record && answer[11] == 0
}

fn answers(asked: &[u8], answer: &[u8]) {
    assert!(answer.len() <= 512, "it fits into the smallest packet");
    assert_eq!(answer[..2], asked[..2], "the same number");
    assert_eq!(answer[2] & 0x81, 0x80 | (asked[2] & 1), "an answer, and asked as it was");
    let question = 12..asked.len().min(answer.len()).min(12 + 4);
    assert_eq!(answer[question.clone()], asked[question], "the same question");
    assert_eq!(read(answer), Err(DnsError::NoQuestion), "nobody answers an answer");
}

/// Whether the labels of `host` stand in the message, in any case of letters.
fn contains_labels(message: &[u8], host: &str) -> bool {
    let labels: Vec<u8> = host
        .split('.')
        .flat_map(|label| {
            let length = u8::try_from(label.len()).expect("a label is short");
            [&[length], label.as_bytes()].concat()
        })
        .collect();
    message[12..].to_ascii_lowercase().starts_with(&labels)
}
