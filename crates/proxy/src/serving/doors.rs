//! Doors: what each descriptor is, and whoever comes through it.
//!
//! A connection is served only when the sandbox has room for it; until then one waits at each door, and the rest in the kernel, at the
//! sandbox's own expense. What came
//! through a door ends when the sandbox leaves, wherever it is.

use std::{
    net::{SocketAddr, TcpListener as PlainListener, UdpSocket as PlainSocket},
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    time::Duration,
};

use rustix::net::{AddressFamily, SocketType, sockopt};
use tokio::{
    net::{TcpListener, TcpStream, UdpSocket},
    sync::OwnedSemaphorePermit,
    time::{MissedTickBehavior, interval},
};

use super::{
    limits, name_server, proxy,
    sandbox::{Origin, Sandbox},
    socks, transparent,
};
use crate::ask::{DoorNumber, Way};

/// When the process has no descriptor left, somebody else has to close one first.
const BREATH: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub(super) enum DoorError {
    #[error("door {door:?} is not a socket that can be one: {reason}")]
    NotADoor { door: DoorNumber, reason: String },
}

/// Opens all doors of a sandbox, or none.
pub(super) fn open(
    sandbox: &Arc<Sandbox>,
    doors: Vec<(DoorNumber, OwnedFd)>,
) -> Result<(), DoorError> {
    let opened: Vec<Opened> =
        doors.into_iter().map(|(door, socket)| check(door, socket)).collect::<Result<_, _>>()?;
    for door in opened {
        let serving = Arc::clone(sandbox);
        sandbox.tasks.spawn(async move {
            let over = serving.over.clone();
            tokio::select! {
                () = over.cancelled() => {}
                () = door.serve(serving) => {}
            }
        });
    }
    Ok(())
}

enum Opened {
    Listener(DoorNumber, TcpListener),
    Datagrams(UdpSocket),
}

/// Makes sure that a descriptor is what it is said to be.
fn check(door: DoorNumber, socket: OwnedFd) -> Result<Opened, DoorError> {
    let wrong = |reason: &dyn ToString| DoorError::NotADoor { door, reason: reason.to_string() };
    let family = sockopt::socket_domain(socket.as_fd()).map_err(|error| wrong(&error))?;
    let kind = sockopt::socket_type(socket.as_fd()).map_err(|error| wrong(&error))?;
    let listens = sockopt::socket_acceptconn(socket.as_fd()).map_err(|error| wrong(&error))?;
    if family != AddressFamily::INET && family != AddressFamily::INET6 {
        return Err(wrong(&"it is not for the internet"));
    }
    rustix::io::ioctl_fionbio(socket.as_fd(), true).map_err(|error| wrong(&error))?;
    match door {
        DoorNumber::Names => {
            if kind != SocketType::DGRAM {
                return Err(wrong(&"it does not take datagrams"));
            }
            let socket =
                UdpSocket::from_std(PlainSocket::from(socket)).map_err(|error| wrong(&error))?;
            Ok(Opened::Datagrams(socket))
        }
        DoorNumber::Proxy | DoorNumber::Socks | DoorNumber::Port(_) | DoorNumber::NamesOverTcp => {
            if kind != SocketType::STREAM || !listens {
                return Err(wrong(&"it does not listen"));
            }
            let listener = TcpListener::from_std(PlainListener::from(socket))
                .map_err(|error| wrong(&error))?;
            Ok(Opened::Listener(door, listener))
        }
    }
}

impl Opened {
    async fn serve(self, sandbox: Arc<Sandbox>) {
        match self {
            Self::Datagrams(socket) => name_server::serve_udp(sandbox, socket).await,
            Self::Listener(door, listener) => accept(&sandbox, door, &listener).await,
        }
    }
}

async fn accept(sandbox: &Arc<Sandbox>, door: DoorNumber, listener: &TcpListener) {
    let mut breath = interval(BREATH);
    breath.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let room = Arc::clone(&sandbox.connections).acquire_owned().await;
                let Ok(room) = room else { return };
                enter(sandbox, door, stream, peer, room);
            }
            Err(error) => {
                tracing::debug!(?door, %error, "a connection could not be taken");
                breath.tick().await;
            }
        }
    }
}

/// Serves one connection in a task of its own.
fn enter(
    sandbox: &Arc<Sandbox>,
    door: DoorNumber,
    stream: TcpStream,
    peer: SocketAddr,
    room: OwnedSemaphorePermit,
) {
    let sandbox = Arc::clone(sandbox);
    let tasks = sandbox.tasks.clone();
    tasks.spawn(async move {
        let _room = room;
        let over = sandbox.over.clone();
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = serve(&sandbox, door, stream, peer) => {}
        }
    });
}

async fn serve(sandbox: &Arc<Sandbox>, door: DoorNumber, stream: TcpStream, peer: SocketAddr) {
    // Small messages go at once, on every part of the way.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    // What the program does not read waits with the host, not in this machine's memory.
    let room = sockopt::set_socket_send_buffer_size(stream.as_fd(), limits::PROGRAM_BUFFER);
    if room.is_err() {
        return;
    }
    let origin =
        |way| Origin { way, peer: Some(SocketAddr::new(peer.ip().to_canonical(), peer.port())) };
    match door {
        DoorNumber::Proxy => proxy::serve(sandbox, stream, origin(Way::Connect)).await,
        DoorNumber::Socks => socks::serve(sandbox, stream, origin(Way::Socks)).await,
        DoorNumber::NamesOverTcp => name_server::serve_tcp(sandbox, stream).await,
        DoorNumber::Port(port) => {
            let Ok(destination) = stream.local_addr() else { return };
            let destination = SocketAddr::new(destination.ip().to_canonical(), port);
            transparent::serve(sandbox, stream, destination, origin(Way::Transparent)).await;
        }
        // Datagrams have no connections.
        DoorNumber::Names => {}
    }
}
