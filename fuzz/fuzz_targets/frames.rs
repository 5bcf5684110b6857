//! What a guest that was taken over may send: no bytes make the reader panic, or keep more than it was given, however they are cut.
#![no_main]

use guest::protocol::{Decoder, Tell, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, u8)| {
    let (bytes, cut) = input;
    let told = read(&[&bytes]);
    let pieces: Vec<_> = bytes.chunks(usize::from(cut).max(1)).collect();
    assert_eq!(told, read(&pieces), "it does not matter how bytes arrive");
    for tell in told {
        let frame = encode(&tell).expect("what was read can be written");
        assert_eq!(read(&[&frame]), [tell]);
    }
});

/// Every message up to the first that is wrong.
fn read(pieces: &[&[u8]]) -> Vec<Tell> {
    let mut decoder = Decoder::default();
    let mut told = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next() {
                Ok(Some(tell)) => told.push(tell),
                Ok(None) => break,
                Err(_) => return told,
            }
        }
    }
    told
}
