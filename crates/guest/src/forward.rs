//! One connection to a port inside.

use std::{net::IpAddr, os::fd::OwnedFd, time::Instant};

/// It is being made, or it is there.
#[derive(Debug)]
pub(crate) struct Forward {
    pub(crate) attempt: Option<Attempt>,
}

#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) socket: OwnedFd,
    pub(crate) port: u16,
    /// To be tried next.
    pub(crate) next: Option<IpAddr>,
    pub(crate) deadline: Option<Instant>,
}

impl Forward {
    pub(crate) fn is_connected(&self) -> bool {
        self.attempt.is_none()
    }

    pub(crate) fn connecting(&self) -> Option<&OwnedFd> {
        self.attempt.as_ref().map(|attempt| &attempt.socket)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.attempt.as_ref().and_then(|attempt| attempt.deadline)
    }
}
