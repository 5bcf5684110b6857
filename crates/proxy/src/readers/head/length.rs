//! How long a body is, by the headers before it.
//!
//! A request has a length, or chunks, or nothing. An answer may also go on until the connection closes.

use super::{HeadError, Headers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    Nothing,
    Exactly(u64),
    Chunked,
    /// Only of an answer: the connection ends with it.
    UntilClose,
}

/// How long the body of a request is, by its headers alone.
///
/// Two lengths, a length beside chunks, and any transfer coding but `chunked` are refused: that is how requests are smuggled.
pub(super) fn of_request(headers: &Headers) -> Result<BodyLength, HeadError> {
    let length = declared(headers, |coding| coding == b"chunked")?;
    Ok(length.unwrap_or(BodyLength::Nothing))
}

/// The length that the headers tell, if they do. Which spelling of a coding is taken for chunks is the caller's to say.
pub(super) fn declared(
    headers: &Headers,
    is_chunked: impl Fn(&[u8]) -> bool,
) -> Result<Option<BodyLength>, HeadError> {
    let mut codings = headers.all("transfer-encoding");
    let mut lengths = headers.all("content-length");
    let coding = codings.next();
    let length = lengths.next();
    if codings.next().is_some() {
        return Err(HeadError::TransferCoding);
    }
    if lengths.next().is_some() {
        return Err(HeadError::TwoLengths);
    }
    match (coding, length) {
        (Some(_), Some(_)) => Err(HeadError::LengthAndChunks),
        (Some(coding), None) if is_chunked(coding) => Ok(Some(BodyLength::Chunked)),
        (Some(_), None) => Err(HeadError::TransferCoding),
        (None, Some(digits)) => Ok(Some(BodyLength::Exactly(decimal(digits)?))),
        (None, None) => Ok(None),
    }
}

/// A length is plain digits: no sign, no list, no leading zero, no blank.
fn decimal(digits: &[u8]) -> Result<u64, HeadError> {
    let plain = !digits.is_empty()
        && digits.len() <= 18
        && digits.iter().all(u8::is_ascii_digit)
        && (digits == b"0" || !digits.starts_with(b"0"));
    if !plain {
        return Err(HeadError::Length);
    }
    Ok(digits.iter().fold(0, |sum: u64, digit| sum * 10 + u64::from(digit - b'0')))
}
