//! An image in a registry.
//!
//! The client follows the registry's own rules for names and tokens. Whatever it hands over is checked again: documents
//! here, layers when they are unpacked. TLS is required, except for registries that the operator lists.

use std::{
    io,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use oci_client::{
    Client, Reference,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    secrets::RegistryAuth,
};
use tokio::io::AsyncWrite;

use super::{
    BaseError, Digest, OciImage, Part, Place, choose,
    document::{Descriptor, Document, LARGEST},
    layout::checked,
};

/// How registries are spoken with.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    pub login: Login,
    /// `host:port` of registries that speak HTTP without TLS.
    pub without_tls: Vec<String>,
}

/// Who we are to a registry.
#[derive(Clone, Default)]
pub enum Login {
    #[default]
    Anonymous,
    Password {
        user: String,
        password: String,
    },
    Token(String),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            Self::Password { user, .. } => {
                f.debug_struct("Password").field("user", user).finish_non_exhaustive()
            }
            Self::Token(_) => f.write_str("Token"),
        }
    }
}

const SILENCE: Duration = Duration::from_mins(1);
const KINDS: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

pub(super) struct Remote {
    client: Client,
    reference: Reference,
    auth: RegistryAuth,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("reference", &self.reference).finish_non_exhaustive()
    }
}

pub(super) async fn find(
    registry: &Registry,
    reference: &Reference,
) -> Result<OciImage, BaseError> {
    let protocol = match registry.without_tls.as_slice() {
        [] => ClientProtocol::Https,
        without => ClientProtocol::HttpsExcept(without.to_vec()),
    };
    let config = ClientConfig {
        protocol,
        connect_timeout: Some(SILENCE),
        read_timeout: Some(SILENCE),
        user_agent: "lamplighter",
        ..ClientConfig::default()
    };
    let client = Client::try_from(config).map_err(failed(reference.to_string()))?;
    let auth = match &registry.login {
        Login::Anonymous => RegistryAuth::Anonymous,
        Login::Password { user, password } => RegistryAuth::Basic(user.clone(), password.clone()),
        Login::Token(token) => RegistryAuth::Bearer(token.clone()),
    };
    let remote = Remote { client, reference: reference.clone(), auth };
    remote.image().await
}

impl Remote {
    async fn image(self) -> Result<OciImage, BaseError> {
        const DEEPEST: usize = 4;
        let mut document = Document::read(&self.manifest(&self.reference).await?)?;
        for _ in 0..DEEPEST {
            let index = match document {
                Document::Index(index) => index,
                Document::Manifest(manifest) => {
                    let config = self.config(&manifest.config).await?;
                    return choose::image(&manifest, &config, Place::Registry(self));
                }
            };
            let digest = choose::for_this_machine(&index)?.digest()?;
            let reference = self.reference.clone_with_digest(digest.to_string());
            let bytes = self.manifest(&reference).await?;
            document = Document::read(&checked(bytes, &digest)?)?;
        }
        Err(BaseError::refused("the image is an index of indexes without an end"))
    }

    async fn manifest(&self, reference: &Reference) -> Result<Vec<u8>, BaseError> {
        let asked = self.client.pull_manifest_raw(reference, &self.auth, &KINDS).await;
        let (bytes, _digest) = asked.map_err(failed(reference.to_string()))?;
        let bytes = bytes.to_vec();
        match reference.digest() {
            Some(digest) => {
                let digest =
                    digest.parse().map_err(|error| BaseError::refused(format!("{error}")))?;
                checked(bytes, &digest)
            }
            None => Ok(bytes),
        }
    }

    async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, BaseError> {
        let digest = descriptor.digest()?;
        if descriptor.size > LARGEST {
            return Err(BaseError::refused(format!(
                "the image's config is larger than {LARGEST} bytes"
            )));
        }
        let mut bytes = Vec::new();
        self.pull(&digest, Bounded { inner: &mut bytes, left: descriptor.size }).await?;
        checked(bytes, &digest)
    }

    /// A nameless file in `scratch`: it is gone when nobody reads it any more, whatever happens.
    pub(super) async fn blob(
        &self,
        digest: &Digest,
        size: u64,
        scratch: &Path,
    ) -> Result<Part, BaseError> {
        let file = tempfile::tempfile_in(scratch).map_err(BaseError::host("write in", scratch))?;
        let again = file.try_clone().map_err(BaseError::host("write in", scratch))?;
        self.pull(digest, Bounded { inner: tokio::fs::File::from_std(again), left: size }).await?;
        Ok(Part { file, offset: 0, length: size })
    }

    async fn pull(&self, digest: &Digest, out: impl AsyncWrite + Unpin) -> Result<(), BaseError> {
        let registry = self.reference.resolve_registry();
        self.client.store_auth_if_needed(registry, &self.auth).await;
        let pulled = self.client.pull_blob(&self.reference, digest.as_str(), out).await;
        pulled.map_err(failed(format!("{} of {}", digest, self.reference)))
    }
}

fn failed(asked: String) -> impl FnOnce(OciDistributionError) -> BaseError {
    move |error| {
        if let OciDistributionError::DigestError(error) = error {
            let error = BaseError::shown(error);
            return BaseError::refused(format!(
                "the registry gave something else than `{asked}`: {error}"
            ));
        }
        // The disk of this host, or more bytes than were announced.
        if let OciDistributionError::IoError(source) = error {
            return BaseError::Host { doing: format!("cannot store `{asked}`"), source };
        }
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(deeper) = cause {
            reason = format!("{reason}: {deeper}");
            cause = deeper.source();
        }
        BaseError::Registry { asked, reason: BaseError::shown(reason) }
    }
}

/// Takes no more bytes than were announced.
struct Bounded<W> {
    inner: W,
    left: u64,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Bounded<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.len() as u64 > self.left {
            return Poll::Ready(Err(io::Error::other("there are more bytes than were announced")));
        }
        let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.left -= written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
