//! What arrived, in order.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::{Condvar, Mutex, MutexGuard},
    time::Duration,
};

use super::sites::Request;

/// One thing that came out of the house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A packet that opens something, or needs nothing opened: a TCP connection's first, and every one of other protocols.
    Packet { protocol: u8, to: IpAddr, port: Option<u16> },
    /// A question about a name.
    Query { name: String, kind: u16, at: SocketAddr },
    /// A connection that was accepted, and what its TLS hello asked for.
    Hello { name: Option<String>, at: SocketAddr },
    /// A request, with its body.
    Request(Box<Request>),
    /// Bytes at a port where no protocol is spoken.
    Bytes { at: SocketAddr, bytes: Vec<u8> },
}

impl Arrival {
    /// The request, if it is one.
    pub fn request(&self) -> Option<&Request> {
        match self {
            Self::Request(request) => Some(request),
            Self::Packet { .. } | Self::Query { .. } | Self::Hello { .. } | Self::Bytes { .. } => {
                None
            }
        }
    }

    /// The name that was asked about, if it is a question.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Query { name, .. } => Some(name),
            Self::Packet { .. } | Self::Hello { .. } | Self::Request(_) | Self::Bytes { .. } => {
                None
            }
        }
    }
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet { protocol, to, port: Some(port) } => {
                write!(f, "packet of protocol {protocol} to {to} port {port}")
            }
            Self::Packet { protocol, to, port: None } => {
                write!(f, "packet of protocol {protocol} to {to}")
            }
            Self::Query { name, kind, .. } => write!(f, "question about {name}, kind {kind}"),
            Self::Hello { name, at } => write!(f, "TLS hello for {name:?} at {at}"),
            Self::Request(request) => {
                write!(f, "request {} {} of {}", request.method, request.target, request.host())
            }
            Self::Bytes { at, bytes } => write!(f, "{} bytes at {at}", bytes.len()),
        }
    }
}

/// The address that was dialled: who listens for IPv6 sees one of IPv4 inside.
pub(super) fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    arrivals: Vec<Arrival>,
    rung: u64,
    heard: u64,
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(super) fn add(&self, arrival: Arrival) {
        self.lock().arrivals.push(arrival);
        self.changed.notify_all();
    }

    pub(super) fn count(&self) -> usize {
        self.lock().arrivals.len()
    }

    pub(super) fn since(&self, mark: usize) -> Vec<Arrival> {
        self.lock().arrivals.iter().skip(mark).cloned().collect()
    }

    /// Waits until it is so. Whoever asks looks for himself afterwards.
    pub(super) fn wait(&self, patience: Duration, is_so: impl Fn(&[Arrival]) -> bool) {
        let guard = self.lock();
        drop(self.changed.wait_timeout_while(guard, patience, |inner| !is_so(&inner.arrivals)));
    }

    /// The number to ring with.
    pub(super) fn next_bell(&self) -> u64 {
        let mut inner = self.lock();
        inner.rung += 1;
        inner.rung
    }

    pub(super) fn ring(&self, number: u64) {
        let mut inner = self.lock();
        inner.heard = inner.heard.max(number);
        self.changed.notify_all();
    }

    pub(super) fn heard(&self, number: u64, patience: Duration) {
        let guard = self.lock();
        let waiting = self.changed.wait_timeout_while(guard, patience, |it| it.heard < number);
        assert!(!waiting.unwrap().1.timed_out(), "packets of the toy internet are not looked at");
    }
}
