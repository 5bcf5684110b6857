//! TLS on both sides: our certificates for programs inside, and whom we believe outside.
//!
//! Both sides speak TLS 1.2 or 1.3 and HTTP/1.1, and nobody shows a client certificate. Sessions are remembered per sandbox, so that
//! no host can tell by them that two sandboxes have one gateway.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use domain::policy::HostName;
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    client::Resumption,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert, ServerSessionMemoryCache},
    sign::CertifiedKey,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::{clock, limits};
use crate::{
    ask::Authority,
    certificates::{Leafs, LeafsError},
};

/// The only protocol that is spoken inside TLS.
const HTTP: &[u8] = b"http/1.1";

/// Sessions that are remembered for one host, and for all hosts that a sandbox speaks with.
const SESSIONS: usize = 16;
const UPSTREAM_SESSIONS: usize = 64;

/// Hosts whose settings are remembered.
const HOSTS: usize = 256;

/// Authorities of internal hosts that are remembered.
const AUTHORITIES: usize = 32;

/// Answers programs inside in the names of hosts.
pub(super) struct Faces {
    leafs: Leafs,
    provider: Arc<CryptoProvider>,
    settings: Mutex<HashMap<HostName, Made>>,
}

/// Settings, and the certificate that they are for.
type Made = (Arc<CertifiedKey>, Arc<ServerConfig>);

#[derive(Debug, thiserror::Error)]
pub(super) enum FacesError {
    #[error("no certificates can be made for the sandbox")]
    Leafs(#[from] LeafsError),
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

impl Faces {
    pub(super) fn new(authority: &Authority) -> Result<Self, FacesError> {
        Ok(Self { leafs: Leafs::new(authority)?, provider: provider(), settings: Mutex::default() })
    }

    /// The handshake, as `host`.
    pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &HostName,
        stream: S,
    ) -> Result<tokio_rustls::server::TlsStream<S>, String> {
        let settings = self.settings(host).map_err(|error| error.to_string())?;
        let accepting = TlsAcceptor::from(settings).accept(stream);
        match tokio::time::timeout(limits::HANDSHAKE, accepting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(format!("the program ended the TLS handshake: {error}")),
            Err(_late) => Err("the TLS handshake took too long".to_owned()),
        }
    }

    fn settings(&self, host: &HostName) -> Result<Arc<ServerConfig>, FacesError> {
        let certificate = self.leafs.certificate_for(host, clock::now())?;
        let mut known = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((with, settings)) = known.get(host)
            && Arc::ptr_eq(with, &certificate)
        {
            return Ok(Arc::clone(settings));
        }
        let mut settings = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Face(Arc::clone(&certificate))));
        settings.alpn_protocols = vec![HTTP.to_vec()];
        settings.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        let settings = Arc::new(settings);
        if known.len() >= HOSTS {
            known.clear();
        }
        known.insert(host.clone(), (certificate, Arc::clone(&settings)));
        Ok(settings)
    }
}

/// One certificate, whatever is asked for: the name was compared before.
#[derive(Debug)]
struct Face(Arc<CertifiedKey>);

impl ResolvesServerCert for Face {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Whom we believe outside: the roots of this machine, or for an internal host its own authority and nobody else.
pub(super) struct Trust {
    usual: Result<Arc<ClientConfig>, String>,
    own: Mutex<HashMap<String, Arc<ClientConfig>>>,
}

impl Trust {
    pub(super) fn new(roots: &Arc<RootCertStore>) -> Self {
        Self {
            usual: settings(Arc::clone(roots)).map_err(|error| error.to_string()),
            own: Mutex::default(),
        }
    }

    /// The handshake with a host, which must prove that it has this name.
    pub(super) async fn connect(
        &self,
        host: &str,
        authority: Option<&str>,
        stream: TcpStream,
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
        let settings = self.settings(authority)?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let connecting = TlsConnector::from(settings).connect(name, stream);
        match tokio::time::timeout(limits::UPSTREAM_HANDSHAKE, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_late) => Err("it took too long".to_owned()),
        }
    }

    fn settings(&self, authority: Option<&str>) -> Result<Arc<ClientConfig>, String> {
        let Some(pem) = authority else { return self.usual.clone() };
        let mut known = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known.get(pem) {
            return Ok(Arc::clone(settings));
        }
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let unusable = |error: &dyn fmt::Display| format!("its authority is unusable: {error}");
            let certificate = certificate.map_err(|error| unusable(&error))?;
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
        let made = settings(Arc::new(roots)).map_err(|error| error.to_string())?;
        if known.len() >= AUTHORITIES {
            known.clear();
        }
        known.insert(pem.to_owned(), Arc::clone(&made));
        Ok(made)
    }
}

fn settings(roots: Arc<RootCertStore>) -> Result<Arc<ClientConfig>, rustls::Error> {
    let mut settings = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    settings.alpn_protocols = vec![HTTP.to_vec()];
    settings.resumption = Resumption::in_memory_sessions(UPSTREAM_SESSIONS);
    Ok(Arc::new(settings))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

impl fmt::Debug for Faces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faces").finish_non_exhaustive()
    }
}
