//! How hosts are found, whom everybody believes, and why a host is not reached.

use std::{net::IpAddr, sync::Arc};

use rustls::RootCertStore;
use tokio::{sync::Semaphore, time::timeout};

use super::{limits, refusal};
use crate::{
    address::Unfit,
    ask::{Refusal, RefusalCode},
};

/// How hosts are found, and whom everybody believes.
pub(super) struct Reach {
    resolver: Resolver,
    roots: Arc<RootCertStore>,
}

/// Where names are looked up.
pub(super) enum Resolver {
    /// As this machine does it.
    System,
    #[cfg(test)]
    Scripted(Script),
}

#[cfg(test)]
type Script = Box<dyn Fn(&str) -> Vec<IpAddr> + Send + Sync>;

impl Reach {
    pub(super) fn new(resolver: Resolver, roots: RootCertStore) -> Self {
        Self { resolver, roots: Arc::new(roots) }
    }

    pub(super) fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }

    /// The addresses of a name, when it is its turn.
    pub(super) async fn look_up(
        &self,
        host: &str,
        turns: &Semaphore,
    ) -> Result<Vec<IpAddr>, DialError> {
        match &self.resolver {
            Resolver::System => {
                let _turn = turns.acquire().await.map_err(|_| DialError::NoAddress)?;
                // With a dot at the end nothing is appended to the name, so it is the one that was judged.
                let looking = tokio::net::lookup_host((format!("{host}."), 0));
                match timeout(limits::LOOKUP, looking).await {
                    Ok(Ok(found)) => Ok(found.map(|address| address.ip()).collect()),
                    Ok(Err(error)) => Err(DialError::Lookup(error.to_string())),
                    Err(_late) => Err(DialError::Lookup("it took too long".to_owned())),
                }
            }
            #[cfg(test)]
            Resolver::Scripted(script) => {
                let _turn = turns.acquire().await.map_err(|_| DialError::NoAddress)?;
                Ok(script(host))
            }
        }
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error("the name cannot be looked up: {0}")]
    Lookup(String),
    #[error("the name leads to nothing that may be dialled: {0}")]
    Unfit(Unfit),
    #[error("the host has no address")]
    NoAddress,
    #[error("the host does not accept the connection: {0}")]
    Unreachable(String),
    #[error("the host does not prove that it is {host}: {reason}")]
    Tls { host: String, reason: String },
}

impl DialError {
    pub(super) fn refusal(&self, place: (&str, u16)) -> Refusal {
        let kind = match self {
            Self::Unfit(_) => (403, RefusalCode::Address),
            Self::Lookup(_) | Self::NoAddress | Self::Unreachable(_) | Self::Tls { .. } => {
                (502, RefusalCode::Upstream)
            }
        };
        refusal::by_gateway(kind, place, self.to_string())
    }
}
