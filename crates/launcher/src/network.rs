//! The network of a sandbox: a loopback, and no way out.

use std::{io, os::fd::AsFd as _};

use launcher::plan::Failure;
use rustix::{
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with},
    thread::UnshareFlags,
};

use crate::{failure::Step, syscalls};

/// Moves this process into a network of its own, and turns its loopback on.
pub(crate) fn isolate() -> Result<(), Failure> {
    let step = "make the network";
    syscalls::unshare(UnshareFlags::NEWNET).step(step)?;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .step(step)?;
    syscalls::raise_device(socket.as_fd(), b"lo").step(step)?;
    // When all addresses lead to the loopback, each of them would answer a ping. The rule is a nicety: the calls that
    // could send a ping are refused.
    let _absent_without_sysctl = std::fs::write("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1");
    Ok(())
}

/// Makes every address one of the loopback's, so that whoever connects anywhere arrives here. There is still no other device, and
/// so no packet that leaves. Doing it again changes nothing.
pub(crate) fn lead_home() -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        send(&socket, &home_route(family), SendFlags::empty())?;
        let mut answer = [0; 512];
        let (length, _whole) = recv(&socket, &mut answer, RecvFlags::empty())?;
        let told = refusal(answer.get(..length).unwrap_or_default());
        // A kernel without the second family has no way out by it either.
        if family == AddressFamily::INET {
            told?;
        }
    }
    Ok(())
}

/// A request to the kernel: the route `local DEFAULT dev lo table local`.
fn home_route(family: AddressFamily) -> [u8; 36] {
    const NEW_ROUTE: u16 = 24;
    /// Request, acknowledge, create, replace.
    const FLAGS: u16 = 0x1 | 0x4 | 0x400 | 0x100;
    const LOCAL_TABLE: u8 = 255;
    const BY_ADMINISTRATOR: u8 = 4;
    const HOST_SCOPE: u8 = 254;
    const LOCAL_ROUTE: u8 = 2;
    const OUTGOING_DEVICE: u16 = 4;
    /// The first device of a network is always its loopback.
    const LOOPBACK: u32 = 1;
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    let mut message = [0; 36];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        for byte in bytes {
            if let Some(place) = message.get_mut(at) {
                *place = *byte;
            }
            at += 1;
        }
    };
    put(&36_u32.to_ne_bytes());
    put(&NEW_ROUTE.to_ne_bytes());
    put(&FLAGS.to_ne_bytes());
    put(&1_u32.to_ne_bytes());
    put(&0_u32.to_ne_bytes());
    put(&[family, 0, 0, 0, LOCAL_TABLE, BY_ADMINISTRATOR, HOST_SCOPE, LOCAL_ROUTE]);
    put(&0_u32.to_ne_bytes());
    put(&8_u16.to_ne_bytes());
    put(&OUTGOING_DEVICE.to_ne_bytes());
    put(&LOOPBACK.to_ne_bytes());
    message
}

/// What the kernel answered: an error with number zero is its yes.
fn refusal(answer: &[u8]) -> io::Result<()> {
    let number = answer.get(16..20).and_then(|bytes| bytes.first_chunk::<4>());
    match number.map(|bytes| i32::from_ne_bytes(*bytes)) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(errno.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
