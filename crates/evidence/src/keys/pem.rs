//! Ed25519 keys as `openssl` writes them: a few fixed bytes before the key, in base64, between two lines.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

/// What stands before a public key: `SubjectPublicKeyInfo` of RFC 8410.
const PUBLIC: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What stands before a seed: PKCS #8, version 1, of RFC 8410.
const PRIVATE: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

const PUBLIC_LINES: (&str, &str) = ("-----BEGIN PUBLIC KEY-----\n", "\n-----END PUBLIC KEY-----\n");
const PRIVATE_LINES: (&str, &str) =
    ("-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n");

pub(super) fn public_der(key: &[u8; 32]) -> Vec<u8> {
    [PUBLIC.as_slice(), key].concat()
}

pub(super) fn write_public(key: &[u8; 32]) -> String {
    let (begin, end) = PUBLIC_LINES;
    format!("{begin}{}{end}", STANDARD.encode(public_der(key)))
}

pub(super) fn read_public(text: &str) -> Option<[u8; 32]> {
    let (begin, end) = PUBLIC_LINES;
    let encoded = between(text, begin, end)?;
    STANDARD.decode(encoded).ok()?.strip_prefix(PUBLIC.as_slice())?.try_into().ok()
}

pub(super) fn write_private(seed: &[u8; 32]) -> Zeroizing<String> {
    let (begin, end) = PRIVATE_LINES;
    let der = Zeroizing::new([PRIVATE.as_slice(), seed].concat());
    let encoded = Zeroizing::new(STANDARD.encode(&*der));
    Zeroizing::new([begin, &encoded, end].concat())
}

pub(super) fn read_private(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let (begin, end) = PRIVATE_LINES;
    let encoded = between(text, begin, end)?;
    let der = Zeroizing::new(STANDARD.decode(encoded).ok()?);
    let seed: [u8; 32] = der.strip_prefix(PRIVATE.as_slice())?.try_into().ok()?;
    Some(Zeroizing::new(seed))
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(begin)?;
    rest.strip_suffix(end).or_else(|| rest.strip_suffix(end.trim_end()))
}
