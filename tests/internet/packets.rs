//! Looks at every packet that comes into the internet, of whatever protocol.
//!
//! What belongs to a connection that is open already is left out, and so is what neighbours of one wire must say to each other.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    num::NonZeroU32,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with,
        sockopt::{Timeout, set_socket_recv_buffer_size_force, set_socket_timeout},
    },
};

use super::{
    HOUSE, HOUSE_6,
    place::Namespace,
    seen::{Arrival, Seen},
};

/// Where the bell is rung.
pub(super) const BELL: u16 = 7;

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_LITE: u8 = 136;
const ICMP: u8 = 1;
const ICMP_6: u8 = 58;

#[derive(Debug)]
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(internet: &Namespace, seen: Arc<Seen>) -> Self {
        let socket = internet.within(|| {
            // Every protocol, as the kernel wants the number: 0x0003 in the order of the wire.
            let all = Protocol::from_raw(NonZeroU32::new(u32::from(3_u16.to_be())).unwrap());
            let kind = (AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC);
            let socket = socket_with(kind.0, kind.1, kind.2, Some(all)).unwrap();
            set_socket_recv_buffer_size_force(&socket, 8 << 20).unwrap();
            set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(50))).unwrap();
            socket
        });
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || look(&socket, &seen, &until));
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look(socket: &OwnedFd, seen: &Seen, until: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while !until.load(Ordering::Relaxed) {
        let length = match recv(socket, &mut bytes[..], RecvFlags::empty()) {
            Ok((_, length)) => length,
            Err(Errno::AGAIN | Errno::INTR | Errno::NETDOWN) => continue,
            Err(error) => panic!("packets cannot be looked at: {error}"),
        };
        match read(&bytes[..length.min(bytes.len())]) {
            Some(Packet::Arrived(arrival)) => seen.add(arrival),
            Some(Packet::Bell(number)) => seen.ring(number),
            None => {}
        }
    }
}

enum Packet {
    Arrived(Arrival),
    Bell(u64),
}

/// What a packet is, if it is anything to us.
fn read(bytes: &[u8]) -> Option<Packet> {
    let (protocol, to, inside) = match bytes.first()? >> 4 {
        4 => {
            let to: [u8; 4] = bytes.get(16..20)?.try_into().ok()?;
            let head = usize::from(bytes[0] & 0x0f) * 4;
            (*bytes.get(9)?, IpAddr::from(Ipv4Addr::from(to)), bytes.get(head..)?)
        }
        6 => {
            let to: [u8; 16] = bytes.get(24..40)?.try_into().ok()?;
            let (protocol, inside) = match bytes.get(6)? {
                // Options for every hop come before what listeners say.
                0 => (*bytes.get(40)?, bytes.get(48..)?),
                other => (*other, bytes.get(40..)?),
            };
            (protocol, IpAddr::from(Ipv6Addr::from(to)), inside)
        }
        _ => return None,
    };
    if [HOUSE, HOUSE_6].iter().any(|own| own.parse() == Ok(to)) {
        return None;
    }
    let port = || Some(u16::from_be_bytes(inside.get(2..4)?.try_into().ok()?));
    let port = match protocol {
        // Only what opens a connection: SYN without ACK.
        TCP if inside.get(13)? & 0x12 != 0x02 => return None,
        UDP if port() == Some(BELL) => {
            return Some(Packet::Bell(u64::from_be_bytes(inside.get(8..16)?.try_into().ok()?)));
        }
        TCP | UDP | UDP_LITE => port(),
        // That somebody was not reached is no arrival.
        ICMP if inside.first()? == &3 => return None,
        // Nor are routers, neighbours and listeners of one wire.
        ICMP_6 if matches!(inside.first()?, 1 | 130..=137 | 143) => return None,
        _ => None,
    };
    Some(Packet::Arrived(Arrival::Packet { protocol, to, port }))
}
