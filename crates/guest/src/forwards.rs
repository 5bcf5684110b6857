//! Connections to ports on the loopback inside.
//!
//! The host may close its side first and read on. When the program inside closes, the channel ends.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use guest::protocol::{ChannelId, Refusal};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt::socket_error},
};

use crate::{
    forward::{Attempt, Forward},
    guest::Guest,
    program::{dup_above, leave_some},
    work::{Kind, Work},
};

/// How long a program may leave a connection waiting.
const PATIENCE: Duration = Duration::from_secs(10);

impl Guest {
    pub(crate) fn start_forward(&mut self, id: ChannelId, port: u16) -> Result<(), Refusal> {
        let next = Some(IpAddr::V6(Ipv6Addr::LOCALHOST));
        let socket = dial(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let (socket, next) = match socket {
            Ok(socket) => (socket, next),
            Err(_no_ipv4) => (dial(IpAddr::V6(Ipv6Addr::LOCALHOST), port).map_err(refusal)?, None),
        };
        let attempt =
            Attempt { socket, port, next, deadline: Instant::now().checked_add(PATIENCE) };
        let forward = Forward { attempt: Some(attempt) };
        self.work.insert(id, Work::new(Kind::Forward(forward), None, None, None));
        Ok(())
    }

    /// The attempt has succeeded or failed.
    pub(crate) fn advance_forward(&mut self, id: ChannelId) {
        let Some(work) = self.work.get_mut(&id) else { return };
        let Kind::Forward(forward) = &mut work.kind else { return };
        let Some(attempt) = forward.attempt.take() else { return };
        let outcome = socket_error(&attempt.socket).and_then(|outcome| outcome);
        let outcome = outcome.and_then(|()| dup_above(&attempt.socket));
        match outcome {
            Ok(input) => {
                work.connect(input, attempt.socket);
                self.board.started(id);
                work.feed(id, &mut self.board);
            }
            Err(errno) => match attempt.next.map(|next| dial(next, attempt.port)) {
                Some(Ok(socket)) => {
                    forward.attempt = Some(Attempt { socket, next: None, ..attempt });
                }
                Some(Err(_)) | None => self.forget_work(id, refusal(errno)),
            },
        }
    }
}

fn dial(address: IpAddr, port: u16) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    leave_some(&socket)?;
    match connect(&socket, &SocketAddr::new(address, port)) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

fn refusal(errno: Errno) -> Refusal {
    Refusal::System { what: "connect".to_owned(), errno: errno.raw_os_error() }
}
