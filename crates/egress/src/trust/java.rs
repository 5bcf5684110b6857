//! A trust store for Java, in Java's own form (JKS): every Java reads it, with no password or with [`PASSWORD`].
//!
//! ```text
//!  fe ed fe ed │ version 2 │ how many │ entries │ SHA-1 of password, a phrase and all before
//!  an entry:     2 │ alias │ date │ "X.509" │ length │ certificate
//! ```

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use domain::time::Timestamp;
use rustls::pki_types::CertificateDer;

use super::Roots;

/// Guards against accidents, not against people: the same on every Java.
pub(super) const PASSWORD: &str = "changeit";

const PHRASE: &[u8] = b"Mighty Aphrodite";

pub(super) fn trust_store(ours: &CertificateDer<'_>, roots: &Roots, made: Timestamp) -> Vec<u8> {
    let roots: Vec<&CertificateDer<'_>> =
        roots.certificates().iter().filter(|root| *root != ours).collect();
    let mut store = vec![0xfe, 0xed, 0xfe, 0xed];
    store.extend_from_slice(&2_u32.to_be_bytes());
    store.extend_from_slice(&length(roots.len() + 1));
    entry(&mut store, "lamplighter", ours, made);
    for (number, root) in roots.into_iter().enumerate() {
        entry(&mut store, &format!("root-{number}"), root, made);
    }
    let digest = digest_of(&store);
    store.extend_from_slice(&digest);
    store
}

fn entry(store: &mut Vec<u8>, alias: &str, certificate: &[u8], made: Timestamp) {
    const TRUSTED: u32 = 2;
    store.extend_from_slice(&TRUSTED.to_be_bytes());
    text(store, alias);
    store.extend_from_slice(&made.as_millis().to_be_bytes());
    text(store, "X.509");
    store.extend_from_slice(&length(certificate.len()));
    store.extend_from_slice(certificate);
}

/// Java's own UTF-8, which is ASCII for what is written here.
fn text(store: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    store.extend_from_slice(&length.to_be_bytes());
    store.extend_from_slice(text.as_bytes());
}

fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

fn digest_of(store: &[u8]) -> Vec<u8> {
    let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for unit in PASSWORD.encode_utf16() {
        digest.update(&unit.to_be_bytes());
    }
    digest.update(PHRASE);
    digest.update(store);
    digest.finish().as_ref().to_vec()
}
