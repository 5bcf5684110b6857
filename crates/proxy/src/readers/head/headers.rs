//! The headers of one head, in the order and spelling that they came in.

use super::HeadError;

/// Headers that make some servers take one method for another. They are never passed on.
pub const METHOD_OVERRIDES: [&str; 4] =
    ["x-http-method-override", "x-http-method", "x-method-override", "x-original-method"];

/// Headers that are about one connection and not about the request.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that stand at most once, because two of them could be read as either.
const SINGLE: [&str; 9] = [
    "authorization",
    "content-encoding",
    "content-type",
    "expect",
    "git-protocol",
    "sec-websocket-key",
    "sec-websocket-version",
    "upgrade",
    "x-api-key",
];

/// Names that no other name may resemble: some servers take `_` for `-`.
const CRITICAL: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"];

/// Headers that a Connection header may not take away.
const KEPT: [&str; 9] = [
    "host",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "authorization",
    "cookie",
    "expect",
    "x-api-key",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// As it was written.
    pub name: String,
    /// Without blanks around it.
    pub value: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(Vec<Header>);

impl Headers {
    /// Reads the lines between the first line and the empty one.
    pub(super) fn parse<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Self, HeadError> {
        let headers: Vec<Header> = lines.map(header).collect::<Result<_, _>>()?;
        Ok(Self(headers))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Header> {
        self.0.iter()
    }

    /// The values of all headers of this name, which is given in small letters.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.0
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.as_slice())
    }

    /// The first value of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first value of this name, as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Adds a header at the end. What could be read as more than one header is refused.
    pub fn append(&mut self, name: &str, value: &[u8]) -> Result<(), HeadError> {
        if !is_token(name.as_bytes()) {
            return Err(HeadError::Name);
        }
        if !value.iter().all(|byte| is_value_byte(*byte)) || value != value.trim_ascii() {
            return Err(HeadError::Value);
        }
        self.0.push(Header { name: name.to_owned(), value: value.to_vec() });
        Ok(())
    }

    /// Takes away all headers of this name.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|header| !header.name.eq_ignore_ascii_case(name));
    }

    /// Takes away all headers that some server could take for this name: `-`, `_` and `.` are the same.
    pub fn remove_alike(&mut self, name: &str) {
        self.0.retain(|header| !is_alike(&header.name, name));
    }

    /// Changes each value of this name, in its place.
    pub fn replace(&mut self, name: &str, value: &[u8]) -> Result<(), HeadError> {
        if !value.iter().all(|byte| is_value_byte(*byte)) || value != value.trim_ascii() {
            return Err(HeadError::Value);
        }
        for header in self.0.iter_mut().filter(|header| header.name.eq_ignore_ascii_case(name)) {
            header.value = value.to_vec();
        }
        Ok(())
    }

    /// Whether a header that holds a list has this word, in any case.
    pub fn lists(&self, name: &str, word: &str) -> bool {
        self.words(name).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Takes away what is about the connection, among it all that the Connection header names.
    pub fn remove_hop_by_hop(&mut self) {
        let named: Vec<String> = self.words("connection").map(lowered).collect();
        self.0.retain(|header| {
            let name = header.name.to_ascii_lowercase();
            !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(&name)
        });
    }

    /// The rules that hold between headers of a request, whatever they are.
    pub(super) fn check_request(&self) -> Result<(), HeadError> {
        for header in &self.0 {
            let likeness = CRITICAL.iter().find(|name| is_alike(&header.name, name));
            if likeness.is_some_and(|name| !header.name.eq_ignore_ascii_case(name)) {
                return Err(HeadError::Lookalike(header.name.clone()));
            }
        }
        if self.all("host").nth(1).is_some() {
            return Err(HeadError::TwoHosts);
        }
        if let Some(name) = SINGLE.into_iter().find(|name| self.all(name).nth(1).is_some()) {
            return Err(HeadError::Twice(name));
        }
        let kept = |word: &[u8]| KEPT.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(word));
        match self.words("connection").find(|word| kept(word) || !is_token(word)) {
            Some(word) => Err(HeadError::Nominated(lowered(word))),
            None => Ok(()),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for header in &self.0 {
            out.extend_from_slice(header.name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(&header.value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    fn words(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.all(name)
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|word| !word.is_empty())
    }
}

fn header(line: &[u8]) -> Result<Header, HeadError> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(HeadError::Folded);
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or(HeadError::NoColon)?;
    let (name, rest) = line.split_at_checked(colon).ok_or(HeadError::NoColon)?;
    if !is_token(name) {
        return Err(HeadError::Name);
    }
    let name = std::str::from_utf8(name).map_err(|_| HeadError::Name)?;
    let value = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii();
    Ok(Header { name: name.to_owned(), value: value.to_vec() })
}

fn lowered(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_ascii_lowercase()
}

fn is_alike(left: &str, right: &str) -> bool {
    let folded =
        |byte: u8| if matches!(byte, b'_' | b'.') { b'-' } else { byte.to_ascii_lowercase() };
    left.bytes().map(folded).eq(right.bytes().map(folded))
}

/// A word that needs no quotes, in HTTP.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    let allowed = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            )
    };
    !bytes.is_empty() && bytes.iter().all(allowed)
}

const fn is_value_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}
