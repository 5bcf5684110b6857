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
    #[error("the path has an encoded control character")]
    Control,
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
        let path: RequestPath = path.parse()?;
        unambiguous(&path.to_string())?;
        Ok(Self { path, written: text.to_owned(), query_at })
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

/// What [`RequestPath`] does not look for, in what it read: parameters, encoded control characters, and encodings of encodings.
fn unambiguous(path: &str) -> Result<(), TargetError> {
    if path.contains(';') {
        return Err(TargetError::Parameters);
    }
    let is_control =
        |rest: &str| matches!(rest.as_bytes(), [b'0' | b'1', ..] | [b'7', b'f' | b'F', ..]);
    if path.split('%').skip(1).any(is_control) {
        return Err(TargetError::Control);
    }
    let is_hex = |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    let twice = |(at, found): (usize, &str)| path.get(at + found.len()..).is_some_and(is_hex);
    if path.match_indices("%25").any(twice) { Err(TargetError::EncodedTwice) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_is_one_canonical_name_or_nothing() {
        let told = |bytes: &[u8]| match host(bytes) {
            Ok(name) => format!("{:?}: {name}", bytes.escape_ascii().to_string()),
            Err(error) => format!("{:?}: refused, {error}", bytes.escape_ascii().to_string()),
        };
        let long =
            [b"a".repeat(60), b"b".repeat(60), b"c".repeat(60), b"d".repeat(60), b"e".repeat(20)]
                .join(&b'.');
        let hosts: [&[u8]; 46] = [
            b"example.com",
            b"EXAMPLE.com",
            b"localhost",
            b"r3---sn-x.example.com",
            b"xn--bcher-kva.example",
            b"",
            b".",
            b"example.com.",
            b"a..b",
            b"-a.example",
            b"a\0.google.com",
            b"attacker.test\0.google.com",
            b"a\r\n.example",
            b"a b.example",
            b"user@example.com",
            b"example.com#x",
            b"example.com/x",
            b"b\xc3\xbccher.example",
            "\u{430}pple.com".as_bytes(),
            b"xn--pple-43d.xn--",
            b"xn--a.example",
            b"xn--abc-.example",
            b"xn--\xff.example",
            b"XN--BCHER-KVA.example",
            b"ex%61mple.com",
            b"ex_ample.com",
            b"*.example.com",
            b"10.0.0.1",
            b"8.8.8.8",
            b"127.1",
            b"0177.1",
            b"0x7f.1",
            b"0X7F000001",
            b"2130706433",
            b"1.2.3.0x4",
            b"::1",
            b"[::1]",
            b"[::ffff:10.0.0.1]",
            b"[fe80::1%25eth0]",
            b"fe80::1%eth0",
            b"[v1.x]",
            b"example.com:80",
            b"a:b:c",
            b"[",
            b"metadata.google.internal",
            &long,
        ];
        insta::assert_snapshot!(hosts.map(told).join("\n"));
    }

    #[test]
    fn a_tunnel_names_a_host_and_a_port() {
        for (text, error) in [
            ("a.test", TargetError::NoPort),
            ("a.test:", TargetError::Port),
            ("a.test:0", TargetError::Port),
            ("a.test:0443", TargetError::Port),
            ("a.test:+443", TargetError::Port),
            ("a.test:65536", TargetError::Port),
            ("a.test:https", TargetError::Port),
            ("a.test:443 ", TargetError::Port),
            (":443", TargetError::EmptyHost),
            ("user:password@a.test:443", TargetError::UserInformation),
            ("[::1]:443", TargetError::Address(Some(Ipv6Addr::LOCALHOST.into()))),
            ("127.0.0.1:443", TargetError::Address(Some([127, 0, 0, 1].into()))),
            ("127.1:443", TargetError::Address(None)),
            ("a.test:443:443", TargetError::HostByte(b':')),
        ] {
            assert_eq!(authority(text.as_bytes()), Err(error), "{text}");
        }
        assert_eq!(authority(b"A.test:8443").unwrap().to_string(), "a.test:8443");
    }

    #[test]
    fn a_path_is_kept_as_written_and_judged_as_read() {
        let read = |text: &str| text.parse::<PathAndQuery>();
        let path = read("/%61b/@scope%2fname?x=%252e;&y=/../").unwrap();
        assert_eq!(path.as_str(), "/%61b/@scope%2fname?x=%252e;&y=/../");
        assert_eq!(path.path().to_string(), "/ab/@scope/name");
        assert_eq!(path.written_path(), "/%61b/@scope%2fname");
        assert_eq!(path.query(), Some("x=%252e;&y=/../"));
        assert_eq!(read("/").unwrap().query(), None);
        assert_eq!(read("/?").unwrap().query(), Some(""));
        for text in [
            "",
            "a",
            "?x",
            "//",
            "/a//b",
            "/a/..",
            "/./a",
            "/%2e%2e/",
            "/a/..;/b",
            "/a%3Bb",
            "/%252e",
            "/%25%32e",
            "/%5c",
            "/a b",
            "/a%0d%0aX",
            "/%7f",
            "/\u{e4}",
            "/a?b#c",
            "/a?\u{7f}",
            "/a?%",
            "/a?%4",
            "/\"",
            "/a|b\\",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&format!("/{}", "a".repeat(TARGET_LIMIT))).is_err());
    }

    #[test]
    fn a_proxy_is_asked_for_http_only() {
        let (place, path) = absolute(b"HTTP://A.test/?x").unwrap();
        assert_eq!((place.to_string().as_str(), path.as_str()), ("a.test:80", "/?x"));
        assert_eq!(absolute(b"http://a.test:8080").unwrap().1.as_str(), "/");
        for text in [
            "https://a.test/",
            "ftp://a.test/",
            "http:/a.test/",
            "http:///",
            "http://a.test#x",
            "http://a@b.test/",
            "http://a.test\\@b.test/",
            "http://[::1]/",
            "http://a.test:/",
            "http://a.test?x",
            "http://a.test//",
        ] {
            assert!(absolute(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_canonical_target_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = absolute(&bytes);
            let _ = PathAndQuery::read(&bytes);
            if let Ok(name) = host(&bytes) {
                prop_assert_eq!(host(name.as_str().as_bytes()), Ok(name));
            }
        }

        #[test]
        fn a_target_is_the_same_when_it_is_read_again(text in "[a-zA-Z0-9.-]{1,20}(:[0-9]{1,5})?") {
            if let Ok(place) = authority(text.as_bytes()) {
                prop_assert_eq!(authority(place.to_string().as_bytes()), Ok(place));
            }
        }

        #[test]
        fn a_path_has_no_dot_segments_however_often_it_is_decoded(text in "/[a%25eEfF./]{0,16}") {
            if let Ok(path) = text.parse::<PathAndQuery>() {
                let once = path.path().to_string();
                prop_assert!(!once.split('/').any(|segment| segment == ".." || segment == "."));
                if let Ok(twice) = once.parse::<RequestPath>() {
                    prop_assert_eq!(twice.to_string(), once);
                } else {
                    return Err(TestCaseError::fail(once));
                }
            }
        }
    }
}
