//! The authority of the toy internet, and certificates as hosts have them, good and bad.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    crypto::aws_lc_rs::sign::any_supported_type, pki_types::PrivateKeyDer, sign::CertifiedKey,
};

/// Where systems keep those whom everybody believes.
pub(super) const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// How a host proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certificate {
    Good,
    /// Good until some years ago.
    Expired,
    /// Of another host.
    OtherName,
    /// By an authority that nobody believes: itself.
    SelfSigned,
}

pub(super) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    made: Mutex<BTreeMap<(String, Certificate), Arc<CertifiedKey>>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Toy internet");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key), made: Mutex::default() }
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    pub(super) fn certificate(&self, host: &str, how: Certificate) -> Arc<CertifiedKey> {
        let mut made = self.made.lock().unwrap();
        let known = made.entry((host.to_owned(), how));
        Arc::clone(known.or_insert_with(|| Arc::new(self.make(host, how))))
    }

    fn make(&self, host: &str, how: Certificate) -> CertifiedKey {
        let named = if how == Certificate::OtherName { "somebody-else.test" } else { host };
        let mut params = CertificateParams::new(vec![named.to_owned()]).unwrap();
        if how == Certificate::Expired {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let made = match how {
            Certificate::SelfSigned => params.self_signed(&key),
            Certificate::Good | Certificate::Expired | Certificate::OtherName => {
                params.signed_by(&key, &self.issuer)
            }
        };
        let signing = any_supported_type(&PrivateKeyDer::Pkcs8(key.serialize_der().into()));
        CertifiedKey::new(vec![made.unwrap().der().clone()], signing.unwrap())
    }
}
