//! A request, as it came, and what can be said about it before its language is known.

use std::io::Read as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// No prompt is larger. What is packed may not become larger either.
pub const LARGEST_BODY: usize = 64 << 20;

/// One request to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// The path with the query.
    pub target: String,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    /// As it came over the wire, perhaps packed.
    pub body: Vec<u8>,
}

/// Why a request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) status: u16,
    pub(super) reason: String,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }

    fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The key that it shows, in whichever of the usual places.
    pub(super) fn key(&self) -> Option<&str> {
        let bearer = self.header("authorization").map(|value| {
            let (kind, rest) = value.split_once(' ').unwrap_or(("", value));
            if kind.eq_ignore_ascii_case("bearer") { rest } else { value }
        });
        self.header("x-api-key")
            .or_else(|| self.header("x-goog-api-key"))
            .or_else(|| self.header("api-key"))
            .or(bearer)
            .or_else(|| self.query("key"))
            .filter(|key| !key.is_empty())
    }

    /// The body as an object of JSON, unpacked.
    pub(super) fn json(&self) -> Result<Value, Unreadable> {
        let bytes = self.unpacked()?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| Unreadable {
            status: 400,
            reason: format!("the body is no JSON: {error}"),
        })?;
        if !value.is_object() {
            let reason = "the body is no object".to_owned();
            return Err(Unreadable { status: 400, reason });
        }
        Ok(value)
    }

    fn unpacked(&self) -> Result<Vec<u8>, Unreadable> {
        let packing = self.header("content-encoding").unwrap_or("identity");
        let packed = self.body.as_slice();
        let limit = u64::try_from(LARGEST_BODY).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        let read = match packing.trim() {
            "identity" | "" => std::io::Read::take(packed, limit).read_to_end(&mut bytes),
            "gzip" | "x-gzip" => {
                flate2::read::MultiGzDecoder::new(packed).take(limit).read_to_end(&mut bytes)
            }
            "deflate" => flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes),
            "zstd" => ruzstd::decoding::StreamingDecoder::new(packed)
                .map_err(std::io::Error::other)
                .and_then(|decoder| decoder.take(limit).read_to_end(&mut bytes)),
            other => {
                let reason = format!("the body is packed with `{other}`");
                return Err(Unreadable { status: 415, reason });
            }
        };
        match read {
            Ok(length) if length > LARGEST_BODY => {
                Err(Unreadable { status: 413, reason: "the body is too large".to_owned() })
            }
            Ok(_) => Ok(bytes),
            Err(error) => {
                let reason = format!("the body is no {packing}: {error}");
                Err(Unreadable { status: 400, reason })
            }
        }
    }

    /// What its answer is known by: the same request gets the same ids.
    pub(super) fn id(&self) -> String {
        digest(&[self.target.as_bytes(), &self.body])
    }
}

/// What a key is known by in what is remembered of requests.
pub fn key_hash(key: &str) -> String {
    digest(&[key.as_bytes()])
}

/// Sixteen hexadecimal digits of SHA-256.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let first = hash.finalize().into_iter().take(8);
    let number = first.fold(0, |number: u64, byte| (number << 8) | u64::from(byte));
    format!("{number:016x}")
}
