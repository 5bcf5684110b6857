//! The authorities that everybody believes, as the host or an image has them.

use rustls::pki_types::{CertificateDer, pem::PemObject as _};

/// Certificates of authorities, each once, in the order in which they were found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    certificates: Vec<CertificateDer<'static>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    #[error(
        "certificate {0} of the bundle cannot be read; it is PEM, between `BEGIN CERTIFICATE` and `END CERTIFICATE`"
    )]
    Malformed(usize),
    #[error("the bundle has more than {MOST} certificates")]
    TooMany,
}

/// Bundles of systems have about 150.
const MOST: usize = 2000;

impl Roots {
    /// Reads a bundle as systems have it: PEM, with anything between the certificates. Repeated ones count once.
    pub fn parse(pem: &str) -> Result<Self, RootsError> {
        let mut certificates = Vec::new();
        let mut known = std::collections::HashSet::new();
        for (index, certificate) in CertificateDer::pem_slice_iter(pem.as_bytes()).enumerate() {
            if index >= MOST {
                return Err(RootsError::TooMany);
            }
            let certificate = certificate.map_err(|_| RootsError::Malformed(index + 1))?;
            if known.insert(certificate.clone()) {
                certificates.push(certificate);
            }
        }
        Ok(Self { certificates })
    }

    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// With those of `other` after these.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for certificate in other.certificates {
            if !self.certificates.contains(&certificate) {
                self.certificates.push(certificate);
            }
        }
        self
    }

    pub fn to_pem(&self) -> String {
        self.certificates.iter().map(|certificate| pem(certificate)).collect()
    }
}

fn pem(der: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for (index, letter) in STANDARD.encode(der).chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            text.push('\n');
        }
        text.push(letter);
    }
    text.push_str("\n-----END CERTIFICATE-----\n");
    text
}
