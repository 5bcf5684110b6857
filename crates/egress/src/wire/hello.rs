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
