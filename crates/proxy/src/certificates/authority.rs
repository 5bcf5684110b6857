//! The certificate authority of one sandbox.

use std::time::Duration;

use domain::{id::SandboxId, time::Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, SerialNumber,
};

use crate::ask::Authority;

pub(super) const DAY: Duration = Duration::from_hours(24);
/// How long an authority is believed. It is made once, and a sandbox may rest for long.
const LIFE: Duration = Duration::from_hours(5 * 365 * 24);

#[derive(Debug, thiserror::Error)]
#[error("the certificate authority of a sandbox cannot be made")]
pub struct AuthorityError(#[from] rcgen::Error);

/// Makes the authority of `sandbox`, with a new key.
pub fn make(sandbox: SandboxId, now: Timestamp) -> Result<Authority, AuthorityError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = name(&format!("Lamplighter {sandbox}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.serial_number = Some(SerialNumber::from_slice(&[1]));
    believe(&mut params, now, LIFE);
    let certificate = params.self_signed(&key)?.pem();
    Ok(Authority { certificate, key: key.serialize_der() })
}

pub(super) fn name(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// From yesterday, because clocks differ, and for `life`.
pub(super) fn believe(params: &mut CertificateParams, now: Timestamp, life: Duration) {
    let now = Duration::from_secs(u64::try_from(now.as_millis() / 1000).unwrap_or(0));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(DAY);
    params.not_after = epoch + now.saturating_add(life).min(LAST);
}

/// 9999-12-31: a date beyond it cannot be written.
const LAST: Duration = Duration::from_hours(70_389_504);
