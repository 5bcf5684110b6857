//! An answer as a list of beats: what is sent, and when, and how it goes wrong.
//!
//! Whoever serves plays the beats one after the other. An answer whose beats are over has ended well; [`Beat::Cut`],
//! [`Beat::Silence`] and [`Beat::Endless`] never do, and nothing comes after them.

use std::time::Duration;

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beat {
    /// The status and the headers. It comes once, before all bytes.
    Head(Head),
    /// A part of the body, to be seen by the other side at once.
    Bytes(Vec<u8>),
    /// The same part so many times.
    Again { bytes: Vec<u8>, times: u64 },
    /// The same part without end.
    Endless(Vec<u8>),
    /// Nothing for so long.
    Pause(Duration),
    /// Nothing any more, and the connection stays.
    Silence,
    /// The connection is torn.
    Cut,
}

/// How an answer begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Without those about the length.
    pub headers: Vec<(&'static str, String)>,
    pub length: Length,
}

/// How the other side learns where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Known(u64),
    Chunked,
}

/// A whole answer of JSON.
pub(super) fn json(status: u16, value: &serde_json::Value) -> Vec<Beat> {
    whole(status, "application/json", vec![Beat::Bytes(value.to_string().into_bytes())])
}

/// A head that knows how long the body is, and the body.
pub(super) fn whole(status: u16, kind: &str, body: Vec<Beat>) -> Vec<Beat> {
    let length = body.iter().map(weight).fold(0, u64::saturating_add);
    let headers = vec![("content-type", kind.to_owned())];
    let head = Beat::Head(Head { status, headers, length: Length::Known(length) });
    [vec![head], body].concat()
}

/// How many bytes a beat brings.
fn weight(beat: &Beat) -> u64 {
    let length = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    match beat {
        Beat::Bytes(bytes) => length(bytes),
        Beat::Again { bytes, times } => length(bytes).saturating_mul(*times),
        Beat::Head(_) | Beat::Endless(_) | Beat::Pause(_) | Beat::Silence | Beat::Cut => 0,
    }
}
