//! Two ways in: a unix socket for the owner's own programs, and the loopback for everything else of theirs.

use std::{io, sync::Arc};

use axum::{Router, middleware, serve::Listener};
use tokio::net::{TcpListener, UnixListener, UnixStream, unix::SocketAddr};
use tokio_util::sync::CancellationToken;

use crate::access::{Token, guard};

/// Serves the socket until `stop`. Whoever is neither `owner` nor root is hung up on.
pub async fn serve_unix(
    listener: UnixListener,
    owner: u32,
    router: Router,
    stop: CancellationToken,
) -> io::Result<()> {
    let listener = OwnPeers { listener, owner };
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// Serves the loopback until `stop`, to those who show `token`.
pub async fn serve_loopback(
    listener: TcpListener,
    token: Token,
    router: Router,
    stop: CancellationToken,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        let message = format!("{address} is not on the loopback, and there is no TLS yet");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let state = (Arc::new(token), address.port());
    let router = router.layer(middleware::from_fn_with_state(state, guard));
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// The mode of the socket keeps others out already. Who gets past it, by a directory that was opened too far, is
/// told by the kernel.
struct OwnPeers {
    listener: UnixListener,
    owner: u32,
}

impl Listener for OwnPeers {
    type Io = UnixStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (UnixStream, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            match stream.peer_cred() {
                Ok(peer) if may_enter(peer.uid(), self.owner) => return (stream, address),
                Ok(peer) => tracing::warn!(uid = peer.uid(), "refused another user"),
                Err(error) => tracing::warn!(%error, "cannot tell who calls"),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

const fn may_enter(peer: u32, owner: u32) -> bool {
    peer == owner || peer == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_enter() {
        assert!(may_enter(1000, 1000) && may_enter(0, 1000) && may_enter(0, 0));
        assert!(!may_enter(1001, 1000) && !may_enter(65_534, 0));
    }
}
