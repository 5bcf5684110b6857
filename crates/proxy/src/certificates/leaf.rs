//! Certificates in the name of hosts, signed by the authority of one sandbox.
//!
//! All have one key, because making keys is slow and nobody gains from many: whoever has the one has the authority's too.
//!
//! **Invariant:** a certificate names one host, and is handed out only while it is valid for another day.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{policy::HostName, time::Timestamp};
use rcgen::{
    CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, SanType, SerialNumber,
};
use rustls::{
    crypto::aws_lc_rs::sign::any_ecdsa_type,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _},
    sign::{CertifiedKey, SigningKey},
};

use super::authority::{DAY, believe, name};
use crate::ask::Authority;

/// How many certificates are remembered.
const MOST: usize = 256;
const LIFE: Duration = Duration::from_hours(14 * 24);

/// Makes and remembers certificates for the hosts that one sandbox speaks with.
pub struct Leafs {
    issuer: Issuer<'static, KeyPair>,
    authority: CertificateDer<'static>,
    key: KeyPair,
    signing: Arc<dyn SigningKey>,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    by_host: HashMap<HostName, Leaf>,
    /// Counts uses, so that the one that was used longest ago is known.
    uses: u64,
    /// Counts certificates: no two of one authority may have one number.
    serial: u64,
}

struct Leaf {
    certificate: Arc<CertifiedKey>,
    until: Timestamp,
    used: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum LeafsError {
    #[error("the authority is not one that Lamplighter made: {0}")]
    Authority(&'static str),
    #[error("a certificate cannot be made")]
    Certificate(#[from] rcgen::Error),
    #[error("a key cannot be used")]
    Key(#[from] rustls::Error),
}

impl Leafs {
    pub fn new(authority: &Authority) -> Result<Self, LeafsError> {
        let certificate = CertificateDer::from_pem_slice(authority.certificate.as_bytes())
            .map_err(|_| LeafsError::Authority("its certificate is not PEM"))?;
        let common_name = common_name(&certificate)
            .ok_or(LeafsError::Authority("its certificate has another form"))?;
        let authority_key = PrivatePkcs8KeyDer::from(authority.key.clone());
        let authority_key =
            KeyPair::from_pkcs8_der_and_sign_algo(&authority_key, &PKCS_ECDSA_P256_SHA256)?;
        let mut issuer = CertificateParams::default();
        issuer.distinguished_name = name(&common_name);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let signing = any_ecdsa_type(&PrivateKeyDer::Pkcs8(key.serialize_der().into()))?;
        Ok(Self {
            issuer: Issuer::new(issuer, authority_key),
            authority: certificate,
            key,
            signing,
            made: Mutex::default(),
        })
    }

    /// A certificate that `host` could have, valid at `now` and for some days.
    pub fn certificate_for(
        &self,
        host: &HostName,
        now: Timestamp,
    ) -> Result<Arc<CertifiedKey>, LeafsError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.uses += 1;
        let used = made.uses;
        if let Some(leaf) = made.by_host.get_mut(host)
            && leaf.until.since(now) > DAY
        {
            leaf.used = used;
            return Ok(Arc::clone(&leaf.certificate));
        }
        made.serial += 1;
        let certificate = Arc::new(self.sign(host, now, made.serial)?);
        if made.by_host.len() >= MOST && !made.by_host.contains_key(host) {
            made.forget_one();
        }
        let life = i64::try_from(LIFE.as_millis()).unwrap_or(i64::MAX);
        let until = Timestamp::from_millis(now.as_millis().saturating_add(life));
        let leaf = Leaf { certificate: Arc::clone(&certificate), until, used };
        made.by_host.insert(host.clone(), leaf);
        Ok(certificate)
    }

    fn sign(
        &self,
        host: &HostName,
        now: Timestamp,
        serial: u64,
    ) -> Result<CertifiedKey, LeafsError> {
        let mut params = CertificateParams::default();
        // A common name has at most 64 letters; the name that counts is the other one.
        let common_name = if host.as_str().len() <= 64 { host.as_str() } else { "Lamplighter" };
        params.distinguished_name = name(common_name);
        params.subject_alt_names = vec![SanType::DnsName(host.as_str().try_into()?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        // The time goes first: after a restart the numbers go on above those of before.
        let moment = now.as_millis().to_be_bytes();
        params.serial_number =
            Some(SerialNumber::from_slice(&[&moment[..], &serial.to_be_bytes()].concat()));
        believe(&mut params, now, LIFE);
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let chain = vec![certificate.der().clone(), self.authority.clone()];
        Ok(CertifiedKey::new(chain, Arc::clone(&self.signing)))
    }
}

impl Made {
    fn forget_one(&mut self) {
        let oldest = self.by_host.iter().min_by_key(|(_, leaf)| leaf.used);
        if let Some(host) = oldest.map(|(host, _)| host.clone()) {
            self.by_host.remove(&host);
        }
    }
}

impl fmt::Debug for Leafs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leafs").finish_non_exhaustive()
    }
}

/// The common name of a certificate that [`super::make`] made, which has nothing else in its names.
fn common_name(certificate: &[u8]) -> Option<String> {
    const SEQUENCE: u8 = 0x30;
    const SET: u8 = 0x31;
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (mut rest, _) = element(certificate, SEQUENCE)?;
    for tag in [VERSION, INTEGER, SEQUENCE] {
        (_, rest) = element(rest, tag)?;
    }
    let (issuer, _) = element(rest, SEQUENCE)?;
    let (part, nothing) = element(issuer, SET)?;
    let (pair, _) = element(part, SEQUENCE)?;
    let (kind, text) = element(pair, OBJECT)?;
    let (text, _) = element(text, UTF8)?;
    let is_alone = nothing.is_empty() && kind == COMMON_NAME;
    is_alone.then(|| std::str::from_utf8(text).ok().map(str::to_owned)).flatten()
}

const VERSION: u8 = 0xa0;
const INTEGER: u8 = 0x02;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// One element of DER with this tag: its content, and what is after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        0x81 => {
            let (&length, rest) = rest.split_first()?;
            (usize::from(length), rest)
        }
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        0x80 | 0x83.. => return None,
    };
    (found == tag).then(|| rest.split_at_checked(length)).flatten()
}
