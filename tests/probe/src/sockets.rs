//! Ways out over the network, and to sockets of the host.

use std::{
    io::{self, Read},
    net::{SocketAddr, TcpStream, UdpSocket},
    os::{
        fd::AsRawFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddress, UnixStream},
    },
    time::Duration,
};

use crate::{
    Attempt, Outcome,
    raw::{Given, call, put},
};

const PATIENCE: Duration = Duration::from_millis(500);

/// Name, family, type and protocol.
const KINDS: [(&str, i32, i32, i32); 27] = [
    ("packet", libc::AF_PACKET, libc::SOCK_RAW, 0),
    ("packet-datagram", libc::AF_PACKET, libc::SOCK_DGRAM, 0),
    ("raw", libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
    ("raw6", libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6),
    ("ping", libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
    ("ping6", libc::AF_INET6, libc::SOCK_DGRAM, libc::IPPROTO_ICMPV6),
    ("sctp", libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP),
    ("dccp", libc::AF_INET, libc::SOCK_DCCP, libc::IPPROTO_DCCP),
    ("udplite", libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE),
    ("mptcp", libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
    ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
    ("xdp", libc::AF_XDP, libc::SOCK_RAW, 0),
    ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
    ("kcm", 41, libc::SOCK_DGRAM, 0),
    ("tipc", libc::AF_TIPC, libc::SOCK_RDM, 0),
    ("rds", libc::AF_RDS, libc::SOCK_SEQPACKET, 0),
    ("can", libc::AF_CAN, libc::SOCK_RAW, 1),
    ("bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW, 1),
    ("netlink-diag", libc::AF_NETLINK, libc::SOCK_RAW, 4),
    ("netlink-audit", libc::AF_NETLINK, libc::SOCK_RAW, 9),
    ("netlink-netfilter", libc::AF_NETLINK, libc::SOCK_RAW, 12),
    ("netlink-uevent", libc::AF_NETLINK, libc::SOCK_RAW, 15),
    ("netlink-generic", libc::AF_NETLINK, libc::SOCK_RAW, 16),
    ("netlink-crypto", libc::AF_NETLINK, libc::SOCK_RAW, 21),
    ("netlink-xfrm", libc::AF_NETLINK, libc::SOCK_RAW, 6),
    ("key", libc::AF_KEY, libc::SOCK_RAW, 2),
    ("smc", 43, libc::SOCK_STREAM, 0),
];

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    Some(match words {
        ["socket", name] => {
            let (family, kind, protocol) = kind(name)?;
            let given = [family, kind, protocol].map(|word| Given::Number(i64::from(word)));
            call(libc::SYS_socket, given).map(|_| Outcome::Allowed)
        }
        ["tcp", address] => parsed(address).and_then(tcp),
        ["udp", address] => parsed(address).and_then(udp),
        ["unix-path", path] => UnixStream::connect(path).map(|_| Outcome::Allowed),
        ["unix-abstract", name] => UnixAddress::from_abstract_name(name)
            .and_then(|address| UnixStream::connect_addr(&address))
            .map(|_| Outcome::Allowed),
        ["devices"] => devices(),
        ["rename-device"] => rename_device(),
        ["kernel-tls"] => kernel_tls(),
        _ => return None,
    })
}

/// Family, type and protocol of a kind of socket.
pub(crate) fn kind(name: &str) -> Option<(i32, i32, i32)> {
    let (_, family, kind, protocol) = *KINDS.iter().find(|(known, ..)| *known == name)?;
    Some((family, kind, protocol))
}

pub(crate) fn parsed(address: &str) -> io::Result<SocketAddr> {
    address.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

fn tcp(address: SocketAddr) -> Attempt {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // Whoever listens says hello, so that both sides know.
    stream.read(&mut [0; 8]).map(|_| Outcome::Allowed)
}

fn udp(address: SocketAddr) -> Attempt {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.connect(address)?;
    socket.send(b"canary")?;
    socket.recv(&mut [0; 8]).map(|_| Outcome::Allowed)
}

fn devices() -> Attempt {
    let text = std::fs::read_to_string("/proc/net/dev")?;
    let names = text.lines().skip(2).filter_map(|line| line.split(':').next());
    let names: Vec<_> = names.map(str::trim).collect();
    Ok(Outcome::value(names.join(" ")))
}

/// Turns the loopback on, which it is already: only the right is asked for.
fn rename_device() -> Attempt {
    let socket = UdpSocket::bind("0.0.0.0:0").or_else(|_| UdpSocket::bind("[::]:0"))?;
    let mut request = [0_u8; 40];
    put(&mut request, 0, b"lo");
    put(&mut request, 16, &1_i16.to_ne_bytes());
    let fd = Given::Number(i64::from(socket.as_raw_fd()));
    let set_flags = Given::Number(0x8914);
    call(libc::SYS_ioctl, [fd, set_flags, Given::Bytes(&mut request)]).map(|_| Outcome::Allowed)
}

/// An upper layer protocol on a connection to ourselves.
fn kernel_tls() -> Attempt {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    let mut name = *b"tls\0";
    let fd = Given::Number(i64::from(stream.as_raw_fd()));
    let (level, option) = (Given::Number(6), Given::Number(31));
    let given = [fd, level, option, Given::Bytes(&mut name), Given::Number(3)];
    call(libc::SYS_setsockopt, given).map(|_| Outcome::Allowed)
}
