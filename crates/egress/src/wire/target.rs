//! Whom a request is for: hosts, ports and paths, read in one way only.
//!
//! A host has one canonical spelling, that of [`HostName`]. Capital letters are the only thing that is changed, here and nowhere
//! else, because clients send them and every resolver ignores them. Addresses in all their spellings, trailing dots, user names,
//! zones, percent signs and bytes that a host name cannot have are refused, not repaired.
//!
//! A path is kept as it was written and judged as [`RequestPath`] reads it. Where two servers could disagree (dot segments,
//! double encoding, `;` parameters, backslashes) there is no path at all.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use domain::policy::{HostError, HostName, PathError, RequestPath};
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

/// The longest host name, in bytes.
pub const HOST_LIMIT: usize = 253;

/// The longest path and query, in bytes. The request line has a limit of its own.
pub const TARGET_LIMIT: usize = 8 * 1024;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Authority {
    pub host: HostName,
    pub port: u16,
}

/// What a Host header says. Without a port it means the usual one of the connection that it came on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostHeader {
    pub host: HostName,
    pub port: Option<u16>,
}

/// A path with its query, exactly as it was written, and as it is judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathAndQuery {
    written: String,
    path: RequestPath,
    /// Where the query begins in `written`, behind the question mark.
    query_at: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the host is empty")]
    EmptyHost,
    #[error("the host contains the byte 0x{0:02x}; a host is written with a-z, 0-9, `-` and `.`")]
    HostByte(u8),
    #[error("the host is longer than {HOST_LIMIT} bytes")]
    HostTooLong,
    #[error("the host ends in a dot; write it without")]
    TrailingDot,
    #[error("the host has a label that is empty, too long, or begins or ends with `-`")]
    Label,
    #[error("the host has an `xn--` label that is not the one spelling of an international name")]
    Punycode,
    /// With the address, when it is in its usual spelling.
    #[error("the host is an address; connect to a host by its name")]
    Address(Option<IpAddr>),
    #[error("the host has a zone; zones mean nothing here")]
    Zone,
    #[error("the port is missing")]
    NoPort,
    #[error("the port is not a number between 1 and 65535 without leading zeros")]
    Port,
    #[error("the target has a user name or password before its host")]
    UserInformation,
    #[error("the target has a fragment")]
    Fragment,
    #[error("the target is not `http://`; TLS goes through CONNECT")]
    Scheme,
    #[error("the target is not a path, an `http://` address, or a host and port")]
    Form,
    #[error("the target is longer than {TARGET_LIMIT} bytes")]
    TooLong,
    #[error(
        "the target contains the byte 0x{0:02x}, which must be percent-encoded or cannot be sent"
    )]
    Byte(u8),
    #[error("the target has a `%` without two hexadecimal digits")]
    Percent,
    #[error("the path is encoded twice")]
    EncodedTwice,
    #[error("the path has a `;`, which servers read differently")]
    Parameters,
    #[error("the path can be read in two ways: {0}")]
    Path(#[from] PathError),
}

/// The canonical name in the bytes of a CONNECT target, a Host header, an SNI or a SOCKS request.
pub fn host(bytes: &[u8]) -> Result<HostName, TargetError> {
    if bytes.is_empty() {
        return Err(TargetError::EmptyHost);
    }
    if bytes.contains(&b'[') || bytes.split(|byte| *byte == b':').nth(2).is_some() {
        return Err(bracketed(bytes));
    }
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if let Some(byte) = bytes.iter().find(|byte| !allowed(byte)) {
        return Err(TargetError::HostByte(*byte));
    }
    if bytes.len() > HOST_LIMIT {
        return Err(TargetError::HostTooLong);
    }
    if bytes.ends_with(b".") {
        return Err(TargetError::TrailingDot);
    }
    let text: String = bytes.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let name: HostName = text.parse().map_err(|error| unfit(&error, &text))?;
    if text.split('.').any(|label| label.starts_with("xn--")) && !is_canonical_international(&text)
    {
        return Err(TargetError::Punycode);
    }
    Ok(name)
}

/// Reads the target of CONNECT: `host:port`, with the port.
pub fn authority(bytes: &[u8]) -> Result<Authority, TargetError> {
    let HostHeader { host, port } = host_header(bytes)?;
    port.map(|port| Authority { host, port }).ok_or(TargetError::NoPort)
}

/// Reads `host` or `host:port`.
pub fn host_header(bytes: &[u8]) -> Result<HostHeader, TargetError> {
    if bytes.contains(&b'@') {
        return Err(TargetError::UserInformation);
    }
    if bytes.starts_with(b"[") {
        return Err(bracketed(bytes));
    }
    let colon = bytes.iter().rposition(|byte| *byte == b':');
    let Some((name, digits)) = colon.and_then(|at| bytes.split_at_checked(at)) else {
        return Ok(HostHeader { host: host(bytes)?, port: None });
    };
    let host = host(name)?;
    let digits = digits.strip_prefix(b":").unwrap_or(digits);
    Ok(HostHeader { host, port: Some(port(digits)?) })
}

/// Reads `http://host[:port]/path?query`, the form in which a proxy is asked.
pub fn absolute(bytes: &[u8]) -> Result<(Authority, PathAndQuery), TargetError> {
    const SCHEME: &[u8] = b"http://";
    if bytes.len() > TARGET_LIMIT {
        return Err(TargetError::TooLong);
    }
    let (scheme, rest) = bytes.split_at_checked(SCHEME.len()).ok_or(TargetError::Scheme)?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(TargetError::Scheme);
    }
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (place, path) = rest.split_at_checked(end).ok_or(TargetError::Form)?;
    let HostHeader { host, port } = host_header(place)?;
    let place = Authority { host, port: port.unwrap_or(80) };
    // `http://host` and `http://host/` are the same by every standard; `http://host?query` is not written by anyone.
    let path = if path.is_empty() { b"/".as_slice() } else { path };
    Ok((place, PathAndQuery::read(path)?))
}

impl PathAndQuery {
    /// Reads `/path?query` from the bytes of a request line.
    pub fn read(bytes: &[u8]) -> Result<Self, TargetError> {
        if bytes.len() > TARGET_LIMIT {
            return Err(TargetError::TooLong);
        }
        let text = plain(bytes)?;
        if !text.starts_with('/') {
            return Err(TargetError::Form);
        }
        let (path, query_at) = match text.split_once('?') {
            Some((path, _)) => (path, Some(path.len() + 1)),
            None => (text, None),
        };
        unambiguous(path)?;
        Ok(Self { path: path.parse()?, written: text.to_owned(), query_at })
    }

    /// Path and query as they were written. This is what is sent.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The path as it is judged.
    pub fn path(&self) -> &RequestPath {
        &self.path
    }

    /// The path as it was written.
    pub fn written_path(&self) -> &str {
        let end = self.query_at.map_or(self.written.len(), |at| at.saturating_sub(1));
        self.written.get(..end).unwrap_or(&self.written)
    }

    /// The query as it was written, without its question mark.
    pub fn query(&self) -> Option<&str> {
        self.query_at.and_then(|at| self.written.get(at..))
    }
}

impl FromStr for PathAndQuery {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text.as_bytes())
    }
}

impl fmt::Display for PathAndQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl HostHeader {
    /// Whether it says the same as this. A Host without a port goes with any.
    pub fn agrees_with(&self, place: &Authority) -> bool {
        self.host == place.host && self.port.is_none_or(|port| port == place.port)
    }
}

fn port(digits: &[u8]) -> Result<u16, TargetError> {
    let usual =
        !digits.starts_with(b"0") && digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).map_err(|_| TargetError::Port)?;
    if usual { text.parse().map_err(|_| TargetError::Port) } else { Err(TargetError::Port) }
}

/// Why something with brackets or many colons is no host: an IPv6 address, or nothing at all.
fn bracketed(bytes: &[u8]) -> TargetError {
    if bytes.contains(&b'%') {
        return TargetError::Zone;
    }
    let inner = bytes.strip_prefix(b"[").unwrap_or(bytes);
    let inner = inner.split(|byte| *byte == b']').next().unwrap_or(inner);
    let address = std::str::from_utf8(inner).ok().and_then(|text| text.parse::<Ipv6Addr>().ok());
    match address {
        Some(address) => TargetError::Address(Some(address.into())),
        None if inner
            .iter()
            .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')) =>
        {
            TargetError::Address(None)
        }
        None => TargetError::HostByte(if bytes.contains(&b'[') { b'[' } else { b':' }),
    }
}

fn unfit(error: &HostError, text: &str) -> TargetError {
    match error {
        HostError::Empty => TargetError::EmptyHost,
        HostError::ForbiddenCharacter { character, .. } => {
            TargetError::HostByte(u8::try_from(*character).unwrap_or(b'?'))
        }
        HostError::MalformedLabel(_) => TargetError::Label,
        HostError::TooLong(_) => TargetError::HostTooLong,
        HostError::Address(_) => TargetError::Address(text.parse().ok()),
        HostError::Everything | HostError::TooWide(_) | HostError::MisplacedWildcard(_) => {
            TargetError::HostByte(b'*')
        }
    }
}

/// Whether every `xn--` label stands for exactly the name that would be written so.
fn is_canonical_international(text: &str) -> bool {
    Uts46::new()
        .to_ascii(text.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify)
        .is_ok_and(|again| again == text)
}

/// The characters that a path or query may have, with well-formed percent signs.
fn plain(bytes: &[u8]) -> Result<&str, TargetError> {
    if bytes.contains(&b'#') {
        return Err(TargetError::Fragment);
    }
    let allowed = |byte: &u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'^' | b'`')
    };
    if let Some(byte) = bytes.iter().find(|byte| !allowed(byte)) {
        return Err(TargetError::Byte(*byte));
    }
    for rest in bytes.split(|byte| *byte == b'%').skip(1) {
        if !matches!(rest, [first, second, ..] if first.is_ascii_hexdigit() && second.is_ascii_hexdigit())
        {
            return Err(TargetError::Percent);
        }
    }
    std::str::from_utf8(bytes).map_err(|_| TargetError::Form)
}

/// What [`RequestPath`] does not look for: path parameters, encoded control characters, and encodings of encodings.
fn unambiguous(path: &str) -> Result<(), TargetError> {
    if path.contains(';') {
        return Err(TargetError::Parameters);
    }
    for rest in path.split('%').skip(1) {
        match rest.as_bytes() {
            [b'0' | b'1', ..] | [b'7', b'f' | b'F', ..] => return Err(TargetError::Byte(b'%')),
            [b'3', b'b' | b'B', ..] => return Err(TargetError::Parameters),
            [..] => {}
        }
    }
    let is_hex = |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    let twice = |(at, found): (usize, &str)| path.get(at + found.len()..).is_some_and(is_hex);
    if path.match_indices("%25").any(twice) { Err(TargetError::EncodedTwice) } else { Ok(()) }
}
