//! Two ways in: a unix socket for the owner's own programs, and the loopback for everything else of theirs.

use std::{
    io, net,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, middleware, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream, unix::SocketAddr},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::{Token, guard},
    problem::in_one_form,
    rates::{Rate, Rates, slow_down},
};

/// How long a caller may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From connecting, or from the answer before, to the end of a request's head. Whoever takes longer is hung up on:
    /// a place at the door is not kept for somebody who says nothing.
    pub head: Duration,
    /// How often those who may come in may call, at each of the two ways.
    pub rate: Rate,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(20), rate: Rate::default() }
    }
}

/// Serves the socket until `stop`. Whoever is neither `owner` nor root is hung up on.
pub async fn serve_unix(
    listener: UnixListener,
    owner: u32,
    router: Router,
    patience: Patience,
    stop: CancellationToken,
) {
    let router = in_order(router, patience.rate);
    serve(OwnPeers { listener, owner }, router, patience, stop).await;
}

/// Serves the loopback until `stop`, to those who show `token`.
pub async fn serve_loopback(
    listener: TcpListener,
    token: Token,
    router: Router,
    patience: Patience,
    stop: CancellationToken,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        let message = format!("{address} is not on the loopback, and there is no TLS yet");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let state = (Arc::new(token), address.port());
    let router = in_order(router, patience.rate);
    let router = router.layer(middleware::from_fn_with_state(state, guard));
    let listener = Counted { listener, room: Arc::new(Semaphore::new(CALLERS)) };
    serve(listener, router, patience, stop).await;
    Ok(())
}

/// The same, not too often, and with every refusal in one form.
fn in_order(router: Router, rate: Rate) -> Router {
    let rates = Rates::new(rate);
    router
        .layer(middleware::map_response(in_one_form))
        .layer(middleware::from_fn_with_state(rates, slow_down))
}

/// Takes callers until `stop`, and returns when those that were being answered have their answers.
async fn serve(
    mut listener: impl Listener,
    router: Router,
    patience: Patience,
    stop: CancellationToken,
) {
    let callers = TaskTracker::new();
    loop {
        let (caller, _) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            caller = listener.accept() => caller,
        };
        callers.spawn(attend(caller, router.clone(), patience, stop.clone()));
    }
    drop(listener);
    callers.close();
    callers.wait().await;
}

/// Answers one caller until it leaves, or until `stop` and the end of the answer that it is being given.
async fn attend(
    caller: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    patience: Patience,
    stop: CancellationToken,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience.head);
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(http.serve_connection(TokioIo::new(caller), service).with_upgrades());
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a caller was hung up on");
    }
}

/// How many may be connected to the loopback at once. Any user of the host can connect before showing a token, and
/// each connection costs a descriptor, of which sandboxes need some too.
const CALLERS: usize = 512;

/// Takes no more callers than there is room for; the others wait in the kernel's queue.
struct Counted {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

/// A caller, with its place.
struct Placed {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
}

impl Listener for Counted {
    type Io = Placed;
    type Addr = net::SocketAddr;

    async fn accept(&mut self) -> (Placed, net::SocketAddr) {
        // Nobody closes the semaphore, so there is always a place, sooner or later.
        let place = Arc::clone(&self.room).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Placed { stream, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<net::SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Placed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Placed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
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

    #[tokio::test]
    async fn who_finds_no_place_waits_for_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut counted = Counted { listener, room: Arc::new(Semaphore::new(1)) };
        let _callers = (
            TcpStream::connect(address).await.unwrap(),
            TcpStream::connect(address).await.unwrap(),
        );
        let first = Listener::accept(&mut counted).await;
        assert_eq!(counted.room.available_permits(), 0);
        let mut second = Box::pin(Listener::accept(&mut counted));
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        second.await;
    }

    #[test]
    fn only_the_owner_and_root_enter() {
        assert!(may_enter(1000, 1000) && may_enter(0, 1000) && may_enter(0, 0));
        assert!(!may_enter(1001, 1000) && !may_enter(65_534, 0));
    }
}
