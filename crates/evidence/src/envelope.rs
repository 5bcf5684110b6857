//! The signed form of a statement: an envelope of DSSE, version 1.
//!
//! ```text
//!  {"payload":"<base64>","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"<hex>","sig":"<base64>"}]}
//! ```
//!
//! What is signed is the payload and its type, never the JSON around it. Still, that JSON has one spelling too, so that a receipt has one
//! digest, and nothing can be hidden beside what is signed.
//!
//! **Invariant:** every signature on an envelope must be good and by a key that is trusted. DSSE lets a verifier pass over those that it does not
//! know; we do not, because what one reader passes over another one believes.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use domain::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::{
    canonical::{self, NotCanonical},
    keys::{KeyId, SigningKey, TrustedKeys},
    receipt::{PAYLOAD_LIMIT, Statement, StatementError, spelling},
    visible::line,
};

pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Bytes of an envelope: its payload in base64, and signatures.
pub const ENVELOPE_LIMIT: usize = PAYLOAD_LIMIT / 3 * 4 + 4096;

/// Signatures on one envelope.
pub const SIGNATURES_LIMIT: usize = 8;

/// With padding, and with no bits that mean nothing: bytes have one spelling.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// An envelope that can be read. Whether it is true is another question: see [`crate::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    signatures: Vec<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    key: KeyId,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("this is not a receipt: {0}")]
    Unreadable(#[source] NotCanonical),
    #[error("the receipt holds `{0}`, and only `{PAYLOAD_TYPE}` is one")]
    PayloadType(String),
    #[error("`{0}` is not base64 as it should be written")]
    Base64(&'static str),
    #[error("the receipt is not signed")]
    NoSignature,
    #[error("the receipt has more than {SIGNATURES_LIMIT} signatures")]
    TooManySignatures,
    #[error("the receipt is signed twice by the key {}", .0.short())]
    SignedTwice(KeyId),
    #[error(
        "the receipt is signed by the key {}, which is not among those that you trust; if it should be, get its file from whoever runs that server",
        .0.short()
    )]
    UnknownKey(KeyId),
    #[error(
        "the signature by the key {} does not fit: the receipt was changed after it was signed, or was never signed by that key",
        .0.short()
    )]
    BadSignature(KeyId),
    #[error(transparent)]
    Statement(#[from] StatementError),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Shape {
    payload: String,
    payload_type: String,
    signatures: Vec<SignatureShape>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureShape {
    #[serde(rename = "keyid", with = "spelling::plain")]
    key: KeyId,
    sig: String,
}

impl Envelope {
    /// Signs `statement` with each of `keys`: one, or two while people change from the one to the other.
    pub fn sign(statement: &Statement, keys: &[&SigningKey]) -> Result<Self, EnvelopeError> {
        let payload = statement.to_bytes()?;
        let signed = pae(&payload);
        let sign =
            |key: &&SigningKey| Signature { key: key.public().id(), bytes: key.sign(&signed) };
        let signatures: Vec<Signature> = keys.iter().map(sign).collect();
        check(&signatures)?;
        Ok(Self { payload, signatures })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>, EnvelopeError> {
        let signatures = self.signatures.iter();
        let shape = Shape {
            payload: BASE64.encode(&self.payload),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: signatures
                .map(|it| SignatureShape { key: it.key, sig: BASE64.encode(&it.bytes) })
                .collect(),
        };
        canonical::write(&shape).map_err(EnvelopeError::Unreadable)
    }

    /// What this receipt is called by notes and pull requests.
    pub fn digest(&self) -> Result<Digest, EnvelopeError> {
        Ok(Digest::of(&self.to_bytes()?))
    }

    /// Reads what a stranger gave us. Nothing in it is believed yet.
    pub fn read(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let shape: Shape =
            canonical::read(bytes, ENVELOPE_LIMIT).map_err(EnvelopeError::Unreadable)?;
        if shape.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType(line(&shape.payload_type, 100)));
        }
        let payload =
            BASE64.decode(&shape.payload).map_err(|_| EnvelopeError::Base64("payload"))?;
        if shape.signatures.len() > SIGNATURES_LIMIT {
            return Err(EnvelopeError::TooManySignatures);
        }
        let mut signatures = Vec::new();
        for SignatureShape { key, sig } in shape.signatures {
            let bytes = BASE64.decode(&sig).map_err(|_| EnvelopeError::Base64("sig"))?;
            signatures.push(Signature { key, bytes });
        }
        check(&signatures)?;
        Ok(Self { payload, signatures })
    }

    /// The statement, if every signature is good. The payload is not looked at before.
    pub fn open(&self, trusted: &TrustedKeys) -> Result<Statement, EnvelopeError> {
        let signed = pae(&self.payload);
        for Signature { key, bytes } in &self.signatures {
            let public = trusted.find(key).ok_or(EnvelopeError::UnknownKey(*key))?;
            if !public.signed(&signed, bytes) {
                return Err(EnvelopeError::BadSignature(*key));
            }
        }
        Ok(Statement::read(&self.payload)?)
    }

    /// Who says to have signed it.
    pub fn keys(&self) -> impl Iterator<Item = KeyId> {
        self.signatures.iter().map(|signature| signature.key)
    }

    /// What was signed: JSON that can be shown to a person.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

/// One to a few signatures, each by another key.
fn check(signatures: &[Signature]) -> Result<(), EnvelopeError> {
    if signatures.is_empty() {
        return Err(EnvelopeError::NoSignature);
    }
    if signatures.len() > SIGNATURES_LIMIT {
        return Err(EnvelopeError::TooManySignatures);
    }
    let mut seen = Vec::new();
    for Signature { key, .. } in signatures {
        if seen.contains(key) {
            return Err(EnvelopeError::SignedTwice(*key));
        }
        seen.push(*key);
    }
    Ok(())
}

/// The bytes that a signature covers: type and payload, each with its length, so that neither can run into the other.
fn pae(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
