//! Doors: sockets that listen in the network of a sandbox, and are accepted from outside.
//!
//! A process of its own for each order, because whoever has entered a sandbox's network should do nothing else. It enters the network
//! and no other namespace of the sandbox (as an ordinary user the user namespace too, without which the network is not
//! ours to enter), so nothing that somebody inside has put anywhere is ever run, opened or looked up.
//!
//! All addresses lead to the loopback there: whoever connects to any address arrives at a door of that port, or nowhere.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use launcher::{
    descriptors, frame,
    plan::{Doors, DoorsAnswer, Doorway, Failure, Reached, Transport},
};
use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt},
    process::{Pid, PidfdFlags, pidfd_open},
    thread::{ThreadNameSpaceType, move_into_thread_name_spaces},
};

use crate::{
    failure::{Step as _, refused},
    network,
    standby::{self, Power},
};

/// How many connections wait at a door until they are taken.
const WAITING: i32 = 256;

/// Opens what one order asks for, and hands it over.
pub(crate) fn serve(mut server: UnixStream) -> io::Result<()> {
    let Some(order) = frame::read::<Doors>(&mut server)? else { return Ok(()) };
    match open(&order) {
        Ok(opened) => {
            let doors: Vec<Doorway> = opened.iter().map(|(door, _socket)| *door).collect();
            frame::write(&mut server, &DoorsAnswer::Opened(doors))?;
            let sockets: Vec<BorrowedFd<'_>> =
                opened.iter().map(|(_door, socket)| socket.as_fd()).collect();
            if sockets.is_empty() { Ok(()) } else { descriptors::send(&server, &sockets) }
        }
        Err(failure) => frame::write(&mut server, &DoorsAnswer::Failed(failure)),
    }
}

/// Every door that can be opened. One that somebody inside stands in is left out: whoever does that shuts only their own way.
fn open(order: &Doors) -> Result<Vec<(Doorway, OwnedFd)>, Failure> {
    if order.doors.len() > descriptors::MOST {
        return Err(refused("open the doors", "too many doors"));
    }
    enter(order)?;
    network::lead_home().step("lead all addresses to the loopback")?;
    let opened = |door: &Doorway| Some((*door, doorway(*door).ok()?));
    Ok(order.doors.iter().filter_map(opened).collect())
}

/// Enters the network of a first process.
fn enter(order: &Doors) -> Result<(), Failure> {
    let step = "enter the network of the sandbox";
    let pid = i32::try_from(order.pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| refused(step, "there is no such process"))?;
    let process = pidfd_open(pid, PidfdFlags::empty()).step(step)?;
    // Looked at after it was opened: if it is the right one now, it was the right one then.
    if standby::started(pid)? != order.started {
        return Err(refused(step, "the process has ended"));
    }
    if Power::of_this_process() == Power::Ordinary {
        move_into_thread_name_spaces(process.as_fd(), ThreadNameSpaceType::USER).step(step)?;
    }
    move_into_thread_name_spaces(process.as_fd(), ThreadNameSpaceType::NETWORK).step(step)
}

fn doorway(door: Doorway) -> rustix::io::Result<OwnedFd> {
    match door.reached {
        Reached::Loopback => {
            listening(door, SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), door.port))
        }
        // One socket for both families, where the kernel has both.
        Reached::AnyAddress => {
            listening(door, SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), door.port)).or_else(
                |_no_second_family| {
                    listening(door, SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), door.port))
                },
            )
        }
    }
}

fn listening(door: Doorway, at: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let kind = match door.transport {
        Transport::Tcp => SocketType::STREAM,
        Transport::Udp => SocketType::DGRAM,
    };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if at.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    match door.transport {
        Transport::Tcp => {
            // Connections of an earlier door may still be on their way out.
            sockopt::set_socket_reuseaddr(&socket, true)?;
            bind(&socket, &at)?;
            listen(&socket, WAITING)?;
        }
        // Two sockets that both wished to share would share, and the second would hear everything.
        Transport::Udp => bind(&socket, &at)?,
    }
    Ok(socket)
}
