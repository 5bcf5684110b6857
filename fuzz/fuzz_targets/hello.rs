//! The first message of TLS: whom we read in it is whom the TLS library reads in it, in any records and any pieces.
#![no_main]

use proxy::readers::hello::{HELLO_LIMIT, Hello, read};
use libfuzzer_sys::fuzz_target;
use rustls::server::Acceptor;

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let cut = usize::from(*cut).max(1);
    let whole = read(bytes);
    for end in (cut..bytes.len().min(HELLO_LIMIT)).step_by(cut) {
        if read(&bytes[..end]).is_err() {
            assert!(whole.is_err(), "what was refused is not accepted when more comes");
        }
    }
    let Ok(Some(hello)) = whole else { return };
    assert!(hello.versions.iter().any(|version| matches!(version, 0x0303 | 0x0304)));
    if let Some(name) = &hello.server_name {
        assert_eq!(name.as_str(), name.as_str().to_ascii_lowercase());
    }
    let message = message(bytes);
    let records: Vec<u8> = message.chunks(cut).flat_map(record).collect();
    if records.len() < HELLO_LIMIT {
        assert_eq!(read(&records).as_ref(), Ok(&Some(hello.clone())), "in other records");
    }
    agrees_with_the_library(&hello, &message);
});

fn record(piece: &[u8]) -> Vec<u8> {
    let length = u16::try_from(piece.len()).expect("a piece is short").to_be_bytes();
    [&[22, 3, 1][..], &length, piece].concat()
}

/// The handshake message of records that were accepted.
fn message(mut records: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    while let [_, _, _, high, low, rest @ ..] = records {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        message.extend_from_slice(&rest[..length]);
        records = &rest[length..];
        if let [_, a, b, c, ..] = message.as_slice()
            && message.len() >= 4 + u32::from_be_bytes([0, *a, *b, *c]) as usize
        {
            break;
        }
    }
    message
}

fn agrees_with_the_library(hello: &Hello, message: &[u8]) {
    let records: Vec<u8> = message.chunks(16_000).flat_map(record).collect();
    let mut acceptor = Acceptor::default();
    let mut rest = records.as_slice();
    while !rest.is_empty() {
        if acceptor.read_tls(&mut rest).is_err() {
            return;
        }
    }
    // What the library refuses goes no further than it.
    let Ok(Some(accepted)) = acceptor.accept() else { return };
    let theirs = accepted.client_hello();
    assert_eq!(
        hello.server_name.as_ref().map(|name| name.as_str().to_owned()),
        theirs.server_name().map(str::to_ascii_lowercase),
    );
    let protocols: Vec<Vec<u8>> = theirs.alpn().into_iter().flatten().map(<[u8]>::to_vec).collect();
    assert_eq!(hello.protocols, protocols);
}
