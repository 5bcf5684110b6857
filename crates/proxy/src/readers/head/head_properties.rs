//! What holds for every head: it arrives in any pieces, another reader agrees, and it is written as it was read.

use proptest::prelude::*;

use super::*;

fn token() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9_-]{0,12}"
}

fn header_line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (token(), "[ -~]{0,20}").prop_map(|(name, value)| format!("{name}: {value}")),
        1 => Just("Host: a.test".to_owned()),
        1 => Just("Content-Length: 3".to_owned()),
        1 => Just("Transfer-Encoding: chunked".to_owned()),
        1 => Just("Connection: close, x".to_owned()),
        1 => Just("Expect: 100-continue".to_owned()),
        1 => "[ -~\t]{0,20}",
    ]
}

/// Heads that are nearly right.
fn head_text() -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![
        Just("GET"),
        Just("POST"),
        Just("CONNECT"),
        Just("OPTIONS"),
        Just("get"),
        Just("PRI")
    ];
    let target = prop_oneof![
        4 => "/[a-z0-9./%;]{0,12}(\\?[a-z=&%+]{0,8})?",
        1 => Just("http://a.test/x".to_owned()),
        1 => Just("a.test:443".to_owned()),
        1 => Just("*".to_owned()),
        1 => "[!-~]{1,12}",
    ];
    let version = prop_oneof![6 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0"), 1 => Just("HTTP/2.0")];
    let end = prop_oneof![9 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("\r\n ")];
    let lines = proptest::collection::vec((header_line(), end), 0..6);
    (method, target, version, any::<bool>(), lines).prop_map(
        |(method, target, version, host, lines)| {
            let mut text = format!("{method} {target} {version}\r\n");
            if host {
                text.push_str("Host: a.test\r\n");
            }
            for (line, end) in lines {
                text.push_str(&line);
                text.push_str(end);
            }
            text.push_str("\r\n");
            text.into_bytes()
        },
    )
}

/// Fed in pieces, as a socket would.
fn in_pieces(bytes: &[u8], cuts: &[usize]) -> Result<Option<(RequestHead, usize)>, HeadError> {
    let mut scan = Scan::of_request();
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    for end in ends {
        if let Some(found) = request(&mut scan, &bytes[..end])? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn httparse_agrees(bytes: &[u8], head: &RequestHead) -> Result<(), TestCaseError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut other = httparse::Request::new(&mut headers);
    let status = other.parse(bytes);
    prop_assert!(matches!(status, Ok(httparse::Status::Complete(_))), "httparse: {:?}", status);
    prop_assert_eq!(other.method, Some(head.verb.as_str()));
    let ours: Vec<(&str, &[u8])> =
        head.headers.iter().map(|h| (h.name.as_str(), h.value.as_slice())).collect();
    let theirs: Vec<(&str, &[u8])> =
        other.headers.iter().map(|h| (h.name, h.value.trim_ascii())).collect();
    prop_assert_eq!(ours, theirs);
    match &head.target {
        RequestTarget::Origin(path) => prop_assert_eq!(other.path, Some(path.as_str())),
        RequestTarget::Asterisk => prop_assert_eq!(other.path, Some("*")),
        RequestTarget::Authority(place) => {
            prop_assert_eq!(other.path.map(str::to_ascii_lowercase), Some(place.to_string()));
        }
        RequestTarget::Absolute(_, path) => {
            prop_assert!(other.path.unwrap().ends_with(path.as_str()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = request(&mut Scan::of_request(), &bytes);
        let _ = response(&mut Scan::of_response(), &bytes);
    }

    #[test]
    fn a_head_is_the_same_in_any_pieces(
        bytes in head_text(),
        cuts in proptest::collection::vec(any::<usize>(), 0..8),
    ) {
        prop_assert_eq!(in_pieces(&bytes, &[]), in_pieces(&bytes, &cuts));
    }

    #[test]
    fn another_reader_agrees_with_what_we_accept(bytes in head_text()) {
        if let Ok(Some((head, _))) = in_pieces(&bytes, &[]) {
            httparse_agrees(&bytes, &head)?;
        }
    }

    #[test]
    fn what_was_read_is_written_and_read_again(bytes in head_text()) {
        if let Ok(Some((head, _))) = in_pieces(&bytes, &[]) {
            let written = head.encode();
            let (again, used) = in_pieces(&written, &[]).unwrap().unwrap();
            prop_assert_eq!(used, written.len());
            prop_assert_eq!(again.encode(), written);
            prop_assert_eq!(again, head);
        }
    }

    #[test]
    fn what_goes_onward_is_accepted_by_the_same_reader(bytes in head_text()) {
        if let Ok(Some((head, _))) = in_pieces(&bytes, &[]) {
            let path = match &head.target {
                RequestTarget::Origin(path) | RequestTarget::Absolute(_, path) => path.clone(),
                RequestTarget::Authority(_) | RequestTarget::Asterisk => return Ok(()),
            };
            let onward = head.onward(&path, "b.test", crate::ask::Upgrade::Refused).unwrap();
            let (again, _) = in_pieces(&onward.encode(), &[]).unwrap().unwrap();
            prop_assert_eq!(again.body, head.body);
            prop_assert_eq!(again.target, RequestTarget::Origin(path));
        }
    }
}
