//! The network of a sandbox: a loopback, and no way out.

use launcher::plan::Failure;
use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    thread::UnshareFlags,
};
use std::os::fd::AsFd;

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
