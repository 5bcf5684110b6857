//! SOCKS5, as far as it opens connections: no password, CONNECT alone.
//!
//! ```text
//!  program            we
//!  05 01 00      ──▶                    greeting
//!                ◀──  05 00             no password is needed
//!  05 01 00 03 … ──▶                    request
//!                ◀──  05 00 …           reply
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::target::{self, Authority, TargetError};

/// What we say to a greeting that offers to go without a password.
pub const WELCOME: [u8; 2] = [5, 0];

/// What we say to a greeting that does not.
pub const UNWELCOME: [u8; 2] = [5, 0xff];

/// Whether the program can do without a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    WithoutPassword,
    OnlyWithPassword,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    Name(Authority),
    /// An address: one that our own DNS has handed out, or one that nobody may dial.
    Address(SocketAddr),
}

/// The codes of RFC 1928 that we use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Succeeded,
    Failed,
    NotAllowed,
    HostUnreachable,
    Refused,
    CommandNotSupported,
    AddressNotSupported,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SocksError {
    #[error("this is not SOCKS version 5")]
    Version,
    #[error("the greeting offers no method")]
    NoMethods,
    #[error("the reserved byte is not zero")]
    Reserved,
    #[error("SOCKS opens connections here, and does nothing else")]
    Command,
    #[error("the kind of address is unknown")]
    AddressKind,
    #[error("the port is zero")]
    Port,
    #[error("{0}")]
    Host(#[from] TargetError),
}

impl SocksError {
    /// What the program is told, where the protocol has a word for it.
    pub const fn reply(&self) -> Option<Reply> {
        match self {
            Self::Version | Self::NoMethods => None,
            Self::Reserved | Self::Port => Some(Reply::Failed),
            Self::Command => Some(Reply::CommandNotSupported),
            Self::AddressKind => Some(Reply::AddressNotSupported),
            Self::Host(_) => Some(Reply::NotAllowed),
        }
    }
}

/// Reads the greeting, once all of it is there, and tells how many bytes it has.
pub fn greeting(buffer: &[u8]) -> Result<Option<(Greeting, usize)>, SocksError> {
    match buffer {
        [] | [5] => Ok(None),
        [5, 0, ..] => Err(SocksError::NoMethods),
        [5, count, rest @ ..] => {
            let count = usize::from(*count);
            let Some(methods) = rest.get(..count) else {
                return Ok(None);
            };
            let greeting = if methods.contains(&0) {
                Greeting::WithoutPassword
            } else {
                Greeting::OnlyWithPassword
            };
            Ok(Some((greeting, 2 + count)))
        }
        [_, ..] => Err(SocksError::Version),
    }
}

/// Reads the request, once all of it is there, and tells how many bytes it has.
pub fn request(buffer: &[u8]) -> Result<Option<(Destination, usize)>, SocksError> {
    if !matches!(buffer, [] | [5, ..]) {
        return Err(SocksError::Version);
    }
    if !matches!(buffer, [_] | [] | [_, 1..=3, ..]) {
        return Err(SocksError::Command);
    }
    if !matches!(buffer, [] | [_] | [_, _] | [_, _, 0, ..]) {
        return Err(SocksError::Reserved);
    }
    let [_, command, _, kind, rest @ ..] = buffer else {
        return Ok(None);
    };
    let length = match (kind, rest) {
        (1, _) => 4,
        (4, _) => 16,
        (3, []) => return Ok(None),
        (3, [length, ..]) => 1 + usize::from(*length),
        (_, _) => return Err(SocksError::AddressKind),
    };
    let (Some(address), Some([high, low])) = (rest.get(..length), rest.get(length..length + 2))
    else {
        return Ok(None);
    };
    if *command != 1 {
        return Err(SocksError::Command);
    }
    let port = u16::from_be_bytes([*high, *low]);
    if port == 0 {
        return Err(SocksError::Port);
    }
    Ok(Some((destination(*kind, address, port)?, 4 + length + 2)))
}

/// By the kind, never by the length: a name of three letters has as many bytes as an address.
fn destination(kind: u8, address: &[u8], port: u16) -> Result<Destination, SocksError> {
    let ip = match kind {
        1 => <[u8; 4]>::try_from(address).ok().map(|octets| IpAddr::from(Ipv4Addr::from(octets))),
        4 => <[u8; 16]>::try_from(address).ok().map(|octets| IpAddr::from(Ipv6Addr::from(octets))),
        _ => {
            let name = address.get(1..).unwrap_or_default();
            return Ok(Destination::Name(Authority { host: target::host(name)?, port }));
        }
    };
    ip.map(|ip| Destination::Address((ip, port).into())).ok_or(SocksError::AddressKind)
}

/// Our answer to a request. The address in it means nothing, and is zero.
pub const fn reply(code: Reply) -> [u8; 10] {
    let code = match code {
        Reply::Succeeded => 0,
        Reply::Failed => 1,
        Reply::NotAllowed => 2,
        Reply::HostUnreachable => 4,
        Reply::Refused => 5,
        Reply::CommandNotSupported => 7,
        Reply::AddressNotSupported => 8,
    };
    [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(name: &[u8], port: u16) -> Vec<u8> {
        let length = u8::try_from(name.len()).unwrap();
        [&[5, 1, 0, 3, length], name, &port.to_be_bytes()].concat()
    }

    #[test]
    fn a_program_greets_without_a_password() {
        assert_eq!(greeting(&[5, 1, 0]), Ok(Some((Greeting::WithoutPassword, 3))));
        assert_eq!(greeting(&[5, 2, 2, 0, 9]), Ok(Some((Greeting::WithoutPassword, 4))));
        assert_eq!(greeting(&[5, 1, 2]), Ok(Some((Greeting::OnlyWithPassword, 3))));
        assert_eq!(greeting(&[5, 0]), Err(SocksError::NoMethods));
        assert_eq!(greeting(&[4, 1]), Err(SocksError::Version));
        assert_eq!(greeting(b"GET"), Err(SocksError::Version));
    }

    #[test]
    fn a_request_names_a_host_or_an_address() {
        let place = |bytes: &[u8]| request(bytes).unwrap().unwrap().0;
        let name = |name: &str| Destination::Name(target::authority(name.as_bytes()).unwrap());
        assert_eq!(place(&named(b"a.Test", 443)), name("a.test:443"));
        assert_eq!(place(&named(b"abc", 80)), name("abc:80"));
        assert_eq!(place(&named(b"abcde.test.test", 80)), name("abcde.test.test:80"));
        assert_eq!(
            place(&[5, 1, 0, 1, 1, 2, 3, 4, 0, 80]),
            Destination::Address("1.2.3.4:80".parse().unwrap())
        );
        let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat();
        assert_eq!(place(&v6), Destination::Address("[::1]:80".parse().unwrap()));
    }

    #[test]
    fn what_is_not_one_connection_to_one_host_is_refused() {
        let refused = |bytes: &[u8]| request(bytes).unwrap_err();
        for name in [
            &b"attacker.test\0.google.com"[..],
            b"a\r\n.test",
            b"a b.test",
            b"a@b.test",
            b"a#.test",
            b"\xc3\xa4.test",
            b"127.0.0.1",
            b"0x7f.1",
            b"a.test.",
            b"",
            b"xn--a.test",
            &[b'a'; 255],
        ] {
            let error = refused(&named(name, 443));
            assert_eq!(error.reply(), Some(Reply::NotAllowed), "{error}");
        }
        assert_eq!(
            refused(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 80]).reply(),
            Some(Reply::CommandNotSupported)
        );
        assert_eq!(
            refused(&[5, 3, 0, 1, 1, 2, 3, 4, 0, 80]).reply(),
            Some(Reply::CommandNotSupported)
        );
        assert_eq!(refused(&[5, 9]), SocksError::Command);
        assert_eq!(refused(&[5, 1, 1]), SocksError::Reserved);
        assert_eq!(refused(&[5, 1, 0, 2]), SocksError::AddressKind);
        assert_eq!(refused(&[5, 1, 0, 1, 1, 2, 3, 4, 0, 0]), SocksError::Port);
        assert_eq!(reply(Reply::NotAllowed), [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_the_same_in_any_pieces(
            start in prop_oneof![Just(vec![5, 1, 0, 3]), Just(vec![5, 1, 0, 1]), Just(vec![5, 2, 0]), Just(vec![])],
            rest in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = [start, rest].concat();
            let whole = request(&bytes);
            for end in 0..bytes.len() {
                match request(&bytes[..end]) {
                    Ok(None) => {}
                    other => prop_assert_eq!(&other, &whole),
                }
            }
            let whole = greeting(&bytes);
            for end in 0..bytes.len() {
                match greeting(&bytes[..end]) {
                    Ok(None) => {}
                    other => prop_assert_eq!(&other, &whole),
                }
            }
        }
    }
}
