//! SOCKS: what is accepted is written in one way, and means the same in any pieces.
#![no_main]

use std::{fmt::Debug, net::IpAddr};

use proxy::readers::socks::{Destination, greeting, request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(used) = same_in_pieces(bytes, greeting).map(|(_, used)| used) {
        assert_eq!(used, 2 + usize::from(bytes[1]));
    }
    if let Some((destination, used)) = same_in_pieces(bytes, request) {
        let written = written(&destination);
        assert_eq!(written.to_ascii_lowercase(), bytes[..used].to_ascii_lowercase());
        assert_eq!(request(&written), Ok(Some((destination, written.len()))));
    }
});

/// What a reader makes of bytes, if it accepts them: of all of them, and of every beginning that is long enough.
fn same_in_pieces<T: Debug + PartialEq, E: Debug + PartialEq>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<Option<(T, usize)>, E>,
) -> Option<(T, usize)> {
    let whole = read(bytes);
    for end in 0..bytes.len().min(300) {
        match read(&bytes[..end]) {
            Ok(None) => {}
            decided => assert_eq!(decided, whole),
        }
    }
    let accepted = whole.ok().flatten()?;
    assert!(accepted.1 <= bytes.len());
    Some(accepted)
}

fn written(destination: &Destination) -> Vec<u8> {
    let (kind, address, port) = match destination {
        Destination::Name(place) => {
            let name = place.host.as_str();
            let length = u8::try_from(name.len()).expect("a name is short");
            (3, [&[length], name.as_bytes()].concat(), place.port)
        }
        Destination::Address(address) => match address.ip() {
            IpAddr::V4(ip) => (1, ip.octets().to_vec(), address.port()),
            IpAddr::V6(ip) => (4, ip.octets().to_vec(), address.port()),
        },
    };
    assert_ne!(port, 0);
    [&[5, 1, 0, kind][..], &address, &port.to_be_bytes()].concat()
}
