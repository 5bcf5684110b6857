//! The head of a request: what a program inside asks for.

use domain::policy::Method;

use super::{
    HeadError, Headers, METHOD_OVERRIDES, Scan, Version,
    headers::is_token,
    length::{self, BodyLength},
    scan::lines,
};
use crate::{
    ask::Upgrade,
    readers::target::{self, Authority, HostHeader, PathAndQuery},
};

/// A request's head, read in the only way that it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub verb: Verb,
    pub target: RequestTarget,
    pub version: Version,
    pub headers: Headers,
    /// The Host header. Only CONNECT in HTTP/1.0 goes without.
    pub host: Option<HostHeader>,
    pub body: BodyLength,
    pub expectation: Expectation,
    /// Whether the program asks for a WebSocket, with all that belongs to it.
    pub upgrade: Upgrade,
    pub persistence: Persistence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Method(Method),
    Connect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestTarget {
    /// `host:port`, of CONNECT.
    Authority(Authority),
    /// `http://host/path`, as a proxy is asked.
    Absolute(Authority, PathAndQuery),
    /// `/path`, as a host is asked.
    Origin(PathAndQuery),
    /// `*`, of OPTIONS.
    Asterisk,
}

/// Whether the program waits for a word before it sends its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    Nothing,
    Continue,
}

/// Whether the connection may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    Keep,
    Close,
}

/// Reads a request's head from the beginning of `buffer`, once all of it is there. Tells how many bytes it has.
///
/// `scan` belongs to this head; make one with [`Scan::of_request`] for each.
pub fn request(scan: &mut Scan, buffer: &[u8]) -> Result<Option<(RequestHead, usize)>, HeadError> {
    let Some(end) = scan.end(buffer)? else {
        return Ok(None);
    };
    let head = buffer.get(..end).unwrap_or(buffer);
    RequestHead::parse(head).map(|head| Some((head, end)))
}

impl RequestHead {
    /// Reads a whole head, with its empty line, that a [`Scan`] has found.
    fn parse(head: &[u8]) -> Result<Self, HeadError> {
        let mut lines = lines(head);
        let (verb, written, version) = first_line(lines.next().unwrap_or_default())?;
        let headers = Headers::parse(lines)?;
        headers.check_request()?;
        let target = read_target(verb, written)?;
        let host = read_host(verb, version, &headers)?;
        agree(&target, host.as_ref())?;
        let body = length::of_request(&headers)?;
        if verb == Verb::Connect && body != BodyLength::Nothing && body != BodyLength::Exactly(0) {
            return Err(HeadError::TargetForm);
        }
        let expectation = expectation(&headers)?;
        let upgrade = upgrade(verb, body, &headers)?;
        let persistence = match version {
            Version::Http11 if !headers.lists("connection", "close") => Persistence::Keep,
            Version::Http10 | Version::Http11 => Persistence::Close,
        };
        Ok(Self { verb, target, version, headers, host, body, expectation, upgrade, persistence })
    }

    /// Whether a header wants the method to be taken for another.
    pub fn overrides_method(&self) -> bool {
        let mut copy = self.headers.clone();
        for name in METHOD_OVERRIDES {
            copy.remove_alike(name);
        }
        copy != self.headers
    }

    /// The head as it goes to the host: in origin form, with this Host, and without what was between the program and us.
    ///
    /// A body that came in chunks goes on in chunks; a WebSocket handshake stays one only if `granted`.
    pub fn onward(
        &self,
        target: &PathAndQuery,
        host: &str,
        granted: Upgrade,
    ) -> Result<Self, HeadError> {
        let mut headers = self.headers.clone();
        headers.remove_hop_by_hop();
        headers.remove("expect");
        headers.remove("http2-settings");
        for name in METHOD_OVERRIDES {
            headers.remove_alike(name);
        }
        headers.replace("host", host.as_bytes())?;
        if self.body == BodyLength::Chunked {
            headers.append("Transfer-Encoding", b"chunked")?;
        }
        let upgrade = match (self.upgrade, granted) {
            (Upgrade::WebSocket, Upgrade::WebSocket) => {
                headers.append("Connection", b"Upgrade")?;
                headers.append("Upgrade", b"websocket")?;
                Upgrade::WebSocket
            }
            (Upgrade::Refused, _) | (_, Upgrade::Refused) => Upgrade::Refused,
        };
        let host = target::host_header(host.as_bytes()).map_err(HeadError::Host)?;
        Ok(Self {
            verb: self.verb,
            target: RequestTarget::Origin(target.clone()),
            version: Version::Http11,
            headers,
            host: Some(host),
            body: self.body,
            expectation: Expectation::Nothing,
            upgrade,
            persistence: Persistence::Keep,
        })
    }

    /// Writes what was read.
    pub fn encode(&self) -> Vec<u8> {
        let target = match &self.target {
            RequestTarget::Authority(place) => place.to_string(),
            RequestTarget::Absolute(place, path) if place.port == 80 => {
                format!("http://{}{path}", place.host)
            }
            RequestTarget::Absolute(place, path) => format!("http://{place}{path}"),
            RequestTarget::Origin(path) => path.to_string(),
            RequestTarget::Asterisk => "*".to_owned(),
        };
        let line = format!("{} {target} {}\r\n", self.verb.as_str(), self.version.as_str());
        let mut out = line.into_bytes();
        self.headers.encode(&mut out);
        out
    }
}

impl Verb {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Method(method) => method.as_str(),
            Self::Connect => "CONNECT",
        }
    }

    fn read(bytes: &[u8]) -> Result<Self, HeadError> {
        let known = |method: &Method| method.as_str().as_bytes() == bytes;
        if let Some(method) = Method::ALL.into_iter().find(known) {
            return Ok(Self::Method(method));
        }
        if !is_token(bytes) || bytes.len() > 32 {
            return Err(HeadError::FirstLine);
        }
        let text = || String::from_utf8_lossy(bytes).into_owned();
        match bytes {
            b"CONNECT" => Ok(Self::Connect),
            b"TRACE" => Err(HeadError::Trace),
            b"PRI" => Err(HeadError::Http2),
            _ if bytes.iter().any(u8::is_ascii_lowercase) => Err(HeadError::MethodCase(text())),
            _ => Err(HeadError::Method(text())),
        }
    }
}

fn first_line(line: &[u8]) -> Result<(Verb, &[u8], Version), HeadError> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(verb), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadError::FirstLine);
    };
    let verb = Verb::read(verb)?;
    let version = match (version, verb) {
        (b"HTTP/1.1", _) => Version::Http11,
        (b"HTTP/1.0", Verb::Connect) => Version::Http10,
        (_, Verb::Connect | Verb::Method(_)) => return Err(HeadError::Version),
    };
    if target.is_empty() {
        return Err(HeadError::FirstLine);
    }
    Ok((verb, target, version))
}

fn read_target(verb: Verb, written: &[u8]) -> Result<RequestTarget, HeadError> {
    match (verb, written) {
        (Verb::Connect, _) => Ok(RequestTarget::Authority(target::authority(written)?)),
        (Verb::Method(Method::Options), b"*") => Ok(RequestTarget::Asterisk),
        (Verb::Method(_), b"*") => Err(HeadError::TargetForm),
        (Verb::Method(_), [b'/', ..]) => Ok(RequestTarget::Origin(PathAndQuery::read(written)?)),
        (Verb::Method(_), _) => {
            let (place, path) = target::absolute(written)?;
            Ok(RequestTarget::Absolute(place, path))
        }
    }
}

fn read_host(
    verb: Verb,
    version: Version,
    headers: &Headers,
) -> Result<Option<HostHeader>, HeadError> {
    match (headers.get("host"), verb, version) {
        (Some(value), _, _) => target::host_header(value).map(Some).map_err(HeadError::Host),
        (None, Verb::Connect, Version::Http10) => Ok(None),
        (None, Verb::Connect | Verb::Method(_), _) => Err(HeadError::NoHost),
    }
}

/// The Host header says the same as the target, where the target names a host.
fn agree(target: &RequestTarget, host: Option<&HostHeader>) -> Result<(), HeadError> {
    let place = match target {
        RequestTarget::Authority(place) | RequestTarget::Absolute(place, _) => place,
        RequestTarget::Origin(_) | RequestTarget::Asterisk => return Ok(()),
    };
    if host.is_none_or(|host| host.agrees_with(place)) {
        Ok(())
    } else {
        Err(HeadError::HostDisagrees)
    }
}

fn expectation(headers: &Headers) -> Result<Expectation, HeadError> {
    match headers.get("expect") {
        None => Ok(Expectation::Nothing),
        Some(value) if value.eq_ignore_ascii_case(b"100-continue") => Ok(Expectation::Continue),
        Some(_) => Err(HeadError::Expectation),
    }
}

fn upgrade(verb: Verb, body: BodyLength, headers: &Headers) -> Result<Upgrade, HeadError> {
    if headers.contains("http2-settings") {
        return Err(HeadError::Http2);
    }
    let Some(wanted) = headers.get("upgrade") else {
        return Ok(Upgrade::Refused);
    };
    let first = wanted.split(|byte| matches!(byte, b',' | b'/')).next().unwrap_or_default();
    if first.trim_ascii().eq_ignore_ascii_case(b"h2c") {
        return Err(HeadError::Http2);
    }
    if !wanted.eq_ignore_ascii_case(b"websocket") {
        return Err(HeadError::Upgrade);
    }
    let complete = verb == Verb::Method(Method::Get)
        && matches!(body, BodyLength::Nothing | BodyLength::Exactly(0))
        && headers.lists("connection", "upgrade")
        && headers.get("sec-websocket-key").is_some_and(|key| key.len() == 24)
        && headers.get("sec-websocket-version") == Some(b"13");
    if complete { Ok(Upgrade::WebSocket) } else { Err(HeadError::WebSocket) }
}
