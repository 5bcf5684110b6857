//! The head of a request and its body: what is accepted has one meaning, however it is cut, and what goes onward has the same.
#![no_main]

use proxy::{
    ask::Upgrade,
    readers::{
        framing::{ChunkReader, Chunked},
        head::{
            BodyLength, HEAD_LIMIT, HEADER_LIMIT, HeadError, RequestHead, RequestTarget, Scan,
            request, response,
        },
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let cut = usize::from(*cut).max(1);
    let read = whole(bytes);
    assert_eq!(read, in_pieces(bytes, cut), "it does not matter how bytes arrive");
    if let Ok(Some((head, used))) = read {
        assert!(used <= bytes.len() && used <= HEAD_LIMIT && bytes[..used].ends_with(b"\r\n\r\n"));
        assert!(head.headers.iter().count() <= HEADER_LIMIT);
        is_written_as_it_is_read(&head);
        goes_onward_as_it_was_judged(&head);
        if head.body == BodyLength::Chunked {
            has_one_body(&bytes[used..], cut);
        }
    }
    if let Ok(Some((_, used))) = response(&mut Scan::of_response(), bytes) {
        assert!(used <= bytes.len() && used <= HEAD_LIMIT);
    }
});

fn whole(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, HeadError> {
    request(&mut Scan::of_request(), bytes)
}

fn in_pieces(bytes: &[u8], cut: usize) -> Result<Option<(RequestHead, usize)>, HeadError> {
    let mut scan = Scan::of_request();
    for end in (cut..bytes.len()).step_by(cut) {
        if let Some(found) = request(&mut scan, &bytes[..end])? {
            return Ok(Some(found));
        }
    }
    request(&mut scan, bytes)
}

fn is_written_as_it_is_read(head: &RequestHead) {
    let written = head.encode();
    // A blank behind each colon may be new: what was nearly too long may be too long now.
    if written.len() > HEAD_LIMIT - 2 * HEADER_LIMIT {
        return;
    }
    let (again, used) = whole(&written).expect("our own").expect("all of it");
    assert_eq!((&again, used), (head, written.len()));
    assert_eq!(again.encode(), written);
}

fn goes_onward_as_it_was_judged(head: &RequestHead) {
    let (RequestTarget::Origin(path) | RequestTarget::Absolute(_, path)) = &head.target else {
        return;
    };
    let onward = head.onward(path, "b.test", Upgrade::Refused).expect("it was accepted");
    let (again, _) = whole(&onward.encode()).expect("our own").expect("all of it");
    assert_eq!((again.verb, again.body, again.upgrade), (head.verb, head.body, Upgrade::Refused));
    assert_eq!(again.target, RequestTarget::Origin(path.clone()));
    assert_eq!(again.headers.get("host"), Some(&b"b.test"[..]));
    assert!(!again.overrides_method());
    for ours in ["connection", "proxy-authorization", "upgrade", "te", "expect"] {
        assert_eq!(again.headers.get(ours), None, "{ours} is between the program and us");
    }
}

/// The bytes of a chunked body are the same in any pieces, and it ends at the same place.
fn has_one_body(bytes: &[u8], cut: usize) {
    let one = unchunked([bytes].into_iter());
    assert_eq!(one, unchunked(bytes.chunks(cut)));
    if let Ok((body, used)) = one {
        assert!(body.len() <= used && used <= bytes.len());
    }
}

fn unchunked<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<(Vec<u8>, usize), String> {
    let mut reader = ChunkReader::of_request();
    let (mut body, mut total) = (Vec::new(), 0);
    for mut piece in pieces {
        while !piece.is_empty() {
            let used = match reader.read(piece).map_err(|error| error.to_string())? {
                Chunked::Between { used } => used,
                Chunked::Bytes { bytes, used } => {
                    body.extend_from_slice(bytes);
                    used
                }
                Chunked::Ended { used } => return Ok((body, total + used)),
            };
            total += used;
            piece = &piece[used..];
        }
    }
    Ok((body, total))
}
