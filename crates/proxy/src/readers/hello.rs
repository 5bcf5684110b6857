//! The first message of TLS: whom a program wants to talk to, before anything is encrypted.
//!
//! The message may be spread over several records. It is read for its name, its protocols and its versions only; the handshake
//! itself is left to a TLS library, which reads the same bytes again.

use domain::policy::HostName;

use super::target::{self, TargetError};

/// The most bytes that are kept before a `ClientHello` is complete.
pub const HELLO_LIMIT: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub server_name: Option<HostName>,
    /// Protocols that the program offers, in its order.
    pub protocols: Vec<Vec<u8>>,
    /// The versions that it offers: 0x0303 is TLS 1.2, 0x0304 is TLS 1.3.
    pub versions: Vec<u16>,
    pub encryption: HelloEncryption,
}

/// Whether the hello has another one inside that we cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelloEncryption {
    Plain,
    /// The extension 0xfe0d: the name that we see may not be the one that is meant.
    Encrypted,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    #[error("this is not TLS")]
    NotTls,
    #[error("the ClientHello is longer than {HELLO_LIMIT} bytes")]
    TooLong,
    #[error("the ClientHello is malformed")]
    Malformed,
    #[error("the ClientHello has an extension twice")]
    Twice,
    #[error("the ClientHello does not name exactly one host")]
    Names,
    #[error("the name in the ClientHello is unusable: {0}")]
    Name(TargetError),
    #[error("the ClientHello offers neither TLS 1.2 nor TLS 1.3")]
    Version,
}

/// Reads the `ClientHello` at the beginning of what a program sent, once all of it is there.
pub fn read(buffer: &[u8]) -> Result<Option<Hello>, HelloError> {
    let message = match handshake(buffer)? {
        Some(message) => message,
        None if buffer.len() >= HELLO_LIMIT => return Err(HelloError::TooLong),
        None => return Ok(None),
    };
    client_hello(Bytes(&message)).map(Some)
}

/// The body of the first handshake message, put together from its records.
fn handshake(buffer: &[u8]) -> Result<Option<Vec<u8>>, HelloError> {
    let mut message = Vec::new();
    let mut rest = buffer;
    loop {
        if !matches!(rest, [] | [22] | [22, 3] | [22, 3, 0..=4, ..]) {
            return Err(HelloError::NotTls);
        }
        let [_, _, _, high, low, following @ ..] = rest else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length == 0 || length > HELLO_LIMIT {
            return Err(HelloError::Malformed);
        }
        let fragment = following.get(..length.min(following.len())).unwrap_or_default();
        message.extend_from_slice(fragment);
        if !matches!(message.as_slice(), [] | [1, ..]) {
            return Err(HelloError::NotTls);
        }
        if let [_, a, b, c, body @ ..] = message.as_slice() {
            let wanted = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap_or(usize::MAX);
            if wanted > HELLO_LIMIT {
                return Err(HelloError::TooLong);
            }
            match body.get(..wanted) {
                // A second message in the first flight is not what any client sends.
                Some(_) if body.len() > wanted => return Err(HelloError::Malformed),
                Some(body) => return Ok(Some(body.to_vec())),
                None => {}
            }
        }
        match following.get(length..) {
            Some(next) => rest = next,
            None => return Ok(None),
        }
    }
}

fn client_hello(mut body: Bytes<'_>) -> Result<Hello, HelloError> {
    let legacy = body.number()?;
    body.take(32)?;
    body.short_vector()?;
    body.vector()?;
    body.short_vector()?;
    let mut hello = Hello {
        server_name: None,
        protocols: Vec::new(),
        versions: Vec::new(),
        encryption: HelloEncryption::Plain,
    };
    let mut seen = Vec::new();
    if !body.is_empty() {
        let mut extensions = body.vector()?;
        while !extensions.is_empty() {
            let kind = extensions.number()?;
            let content = extensions.vector()?;
            if seen.contains(&kind) {
                return Err(HelloError::Twice);
            }
            seen.push(kind);
            extension(kind, content, &mut hello)?;
        }
    }
    if !body.is_empty() {
        return Err(HelloError::Malformed);
    }
    if hello.versions.is_empty() {
        hello.versions.push(legacy);
    }
    if hello.versions.iter().any(|version| matches!(version, 0x0303 | 0x0304)) {
        Ok(hello)
    } else {
        Err(HelloError::Version)
    }
}

fn extension(kind: u16, mut content: Bytes<'_>, hello: &mut Hello) -> Result<(), HelloError> {
    match kind {
        0 => hello.server_name = Some(server_name(&mut content)?),
        16 => {
            let mut list = content.vector()?;
            while !list.is_empty() {
                hello.protocols.push(list.short_vector()?.0.to_vec());
            }
        }
        43 => {
            let mut list = content.short_vector()?;
            while !list.is_empty() {
                hello.versions.push(list.number()?);
            }
        }
        0xfe0d => {
            hello.encryption = HelloEncryption::Encrypted;
            return Ok(());
        }
        _ => return Ok(()),
    }
    if content.is_empty() { Ok(()) } else { Err(HelloError::Malformed) }
}

fn server_name(content: &mut Bytes<'_>) -> Result<HostName, HelloError> {
    let mut list = content.vector()?;
    let kind = list.byte()?;
    let name = list.vector()?;
    if kind != 0 || !list.is_empty() || !content.is_empty() {
        return Err(HelloError::Names);
    }
    target::host(name.0).map_err(HelloError::Name)
}

/// Bytes that are taken from the front, with an error where there are too few.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], HelloError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(HelloError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, HelloError> {
        self.take(1)?.first().copied().ok_or(HelloError::Malformed)
    }

    fn number(&mut self) -> Result<u16, HelloError> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    fn short_vector(&mut self) -> Result<Self, HelloError> {
        let length = usize::from(self.byte()?);
        self.take(length).map(Self)
    }

    fn vector(&mut self) -> Result<Self, HelloError> {
        let length = usize::from(self.number()?);
        self.take(length).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(bytes: &[u8]) -> Vec<u8> {
        [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
    }

    fn name(host: &[u8]) -> (u16, Vec<u8>) {
        (0, vector(&[&[0][..], &vector(host)].concat()))
    }

    /// A `ClientHello`, in records of at most `size` bytes.
    fn hello(extensions: &[(u16, Vec<u8>)], size: usize) -> Vec<u8> {
        let extensions: Vec<u8> = extensions
            .iter()
            .flat_map(|(kind, content)| [&kind.to_be_bytes()[..], &vector(content)].concat())
            .collect();
        let body =
            [&[3, 3][..], &[7; 32], &[0], &vector(&[0x13, 1]), &[1, 0], &vector(&extensions)]
                .concat();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[1][..], &length[1..], &body].concat();
        message.chunks(size).flat_map(|piece| [&[22, 3, 1][..], &vector(piece)].concat()).collect()
    }

    #[test]
    fn a_hello_tells_its_name_protocols_and_versions() {
        let bytes = hello(
            &[
                name(b"API.test"),
                (16, vector(b"\x02h2\x08http/1.1")),
                (43, vec![4, 3, 4, 3, 3]),
                (0xaaaa, vec![1]),
            ],
            16_000,
        );
        let read = read(&bytes).unwrap().unwrap();
        assert_eq!(read.server_name.unwrap().as_str(), "api.test");
        assert_eq!(read.protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!(read.versions, [0x0304, 0x0303]);
        assert_eq!(read.encryption, HelloEncryption::Plain);
    }

    #[test]
    fn what_hides_or_doubles_its_name_is_seen() {
        let error = |extensions: &[(u16, Vec<u8>)]| read(&hello(extensions, 16_000)).unwrap_err();
        assert_eq!(error(&[name(b"a.test"), name(b"b.test")]), HelloError::Twice);
        let two = vector(&[&[0][..], &vector(b"a.test"), &[0], &vector(b"b.test")].concat());
        assert_eq!(error(&[(0, two)]), HelloError::Names);
        for host in [&b"10.0.0.1"[..], b"a\0.test", b"a.test.", b"", b"a_b.test"] {
            assert!(matches!(error(&[name(host)]), HelloError::Name(_)));
        }
        assert_eq!(error(&[(43, vec![2, 3, 2])]), HelloError::Version);
        assert_eq!(error(&[(16, vec![0, 9, 2])]), HelloError::Malformed);
        let hidden =
            read(&hello(&[name(b"a.test"), (0xfe0d, vec![0; 8])], 16_000)).unwrap().unwrap();
        assert_eq!(hidden.encryption, HelloEncryption::Encrypted);
        assert_eq!(read(&hello(&[], 16_000)).unwrap().unwrap().server_name, None);
    }

    #[test]
    fn what_is_not_a_hello_is_not_tls() {
        for bytes in [
            &b"GET / HTTP/1.1"[..],
            b"SSH-2.0-x",
            b"\x80\x2e\x01\x03\x01",
            b"\x16\x03\x01\x00\x04\x02\0\0\0",
            b"\x15\x03\x03",
        ] {
            assert_eq!(read(bytes), Err(HelloError::NotTls), "{}", bytes.escape_ascii());
        }
        assert_eq!(read(b"\x16\x03\x01\0\0"), Err(HelloError::Malformed));
        assert_eq!(read(b"\x16\x03\x01\0\x04\x01\x01\0\0"), Err(HelloError::TooLong));
        let endless = hello(&[(0xaaaa, vec![0; 9000])], 1);
        assert_eq!(read(&endless[..HELLO_LIMIT]), Err(HelloError::TooLong));
    }

    proptest! {
        #[test]
        fn a_hello_is_the_same_in_any_records_and_pieces(size in 1_usize..200, cut in any::<usize>()) {
            let extensions = [name(b"api.test"), (16, vector(b"\x02h2")), (0xfe0d, vec![1])];
            let bytes = hello(&extensions, size);
            prop_assert_eq!(read(&bytes), read(&hello(&extensions, 16_000)));
            prop_assert_eq!(read(&bytes[..cut % bytes.len()]), Ok(None));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(
            at in any::<usize>(),
            value in any::<u8>(),
            rest in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut bytes = [hello(&[name(b"api.test"), (43, vec![2, 3, 4])], 50), rest.clone()].concat();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = read(&bytes);
            let _ = read(&rest);
        }
    }
}
