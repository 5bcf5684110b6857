//! Which command inside has a connection, seen from outside: its network's table of sockets, and who holds the socket.
//!
//! ```text
//!  peer 127.0.0.1:40312 ──▶ /proc/FIRST/net/tcp ──▶ inode ──▶ /proc/PID/fd/N is socket:[inode] ──▶ /proc/PID/cmdline
//! ```
//!
//! Only processes in the sandbox's own network are looked at. What a process calls itself is its own choice: it is made printable, cut short, and
//! never believed.

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
};

use domain::{id::SandboxId, visible::is_plain};
use egress::broker::cause::Causes;
use secrets::keeper::Keeper;

use super::process::Sandboxes;

/// The most letters of a command that are told.
const LONGEST: usize = 200;
/// The most processes of a sandbox, and descriptors of all of them, that are looked at.
const MOST_PROCESSES: usize = 4096;
const MOST_DESCRIPTORS: usize = 65_536;
/// A table of sockets is not read further than this.
const MOST_TABLE: u64 = 8 << 20;
/// A command line is not read further than this.
const MOST_COMMAND: u64 = 4096;

#[derive(Debug)]
pub(super) struct Inside {
    pub(super) sandboxes: Arc<Sandboxes>,
    pub(super) keeper: Keeper,
}

impl Causes for Inside {
    fn find(&self, sandbox: SandboxId, peer: SocketAddr) -> Option<String> {
        let first = self.sandboxes.provider()?.first_process(sandbox)?;
        let command = command_of(Path::new("/proc"), first, peer)?;
        let redactions = self.keeper.redactions().ok()?;
        Some(redactions.text(&command).into_owned())
    }
}

fn command_of(proc: &Path, first: u32, peer: SocketAddr) -> Option<String> {
    let of_first = proc.join(first.to_string());
    let inode = ["tcp", "tcp6"]
        .iter()
        .find_map(|table| inode_of(&read(&of_first.join("net").join(table), MOST_TABLE)?, peer))?;
    let wanted = format!("socket:[{inode}]");
    let network = fs_err::read_link(of_first.join("ns/net")).ok()?;
    let mut descriptors = 0;
    let processes = fs_err::read_dir(proc).ok()?.flatten().map(|entry| entry.path());
    let inside = processes
        .filter(|path| path.file_name().is_some_and(is_number))
        .filter(|path| fs_err::read_link(path.join("ns/net")).is_ok_and(|net| net == network))
        .take(MOST_PROCESSES);
    for process in inside {
        let Ok(held) = fs_err::read_dir(process.join("fd")) else { continue };
        for descriptor in held.flatten() {
            descriptors += 1;
            if descriptors > MOST_DESCRIPTORS {
                return None;
            }
            let target = fs_err::read_link(descriptor.path());
            if target.is_ok_and(|target| target.as_os_str() == wanted.as_str()) {
                return Some(printable(&read_bytes(&process.join("cmdline"), MOST_COMMAND)?));
            }
        }
    }
    None
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    fs_err::File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn read(path: &Path, most: u64) -> Option<String> {
    String::from_utf8(read_bytes(path, most)?).ok()
}

/// The inode of the socket whose own end is `peer`, by a table of the kernel.
fn inode_of(table: &str, peer: SocketAddr) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let local = words.nth(1)?;
        let inode: u64 = words.nth(7)?.parse().ok()?;
        // Of one that nobody holds any more there is no inode.
        (inode != 0 && address(local)? == (peer.ip().to_canonical(), peer.port())).then_some(inode)
    })
}

/// `0100007F:1F90`: words of four bytes, each in the order of the machine.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |index: usize| {
        let digits = address.get(index * 8..index * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address: IpAddr = match address.len() {
        8 => word(0)?.into(),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_mut(4).enumerate() {
                part.copy_from_slice(&word(index)?);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some((address.to_canonical(), port))
}

/// Arguments with spaces between them, without anything that a terminal or a log would obey.
fn printable(command: &[u8]) -> String {
    let text = String::from_utf8_lossy(command);
    let words = text.trim_end_matches('\0').replace('\0', " ");
    let plain = |c: char| if is_plain(c) { c } else { '?' };
    let mut told: String = words.chars().map(plain).take(LONGEST).collect();
    if words.chars().count() > LONGEST {
        told.push('…');
    }
    // What stands in backticks must not end them.
    told.replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_connection_is_found_by_its_other_end() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_theirs, peer) = listener.accept().unwrap();
        let found = command_of(Path::new("/proc"), std::process::id(), peer).unwrap();
        let own = std::env::args().next().unwrap();
        assert!(found.starts_with(own.get(..LONGEST.min(own.len())).unwrap()), "{found}");
        let mut over_6 = peer;
        over_6.set_ip("::ffff:127.0.0.1".parse().unwrap());
        assert_eq!(command_of(Path::new("/proc"), std::process::id(), over_6), Some(found));
        drop(ours);
        let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(command_of(Path::new("/proc"), std::process::id(), nobody), None);
    }

    #[test]
    fn tables_of_the_kernel_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17 1 0 100 0 0 10 0\n   \
            1: 0100007F:9D78 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20 4 30 10 -1\n";
        assert_eq!(inode_of(table, "127.0.0.1:40312".parse().unwrap()), Some(4711));
        assert_eq!(inode_of(table, "127.0.0.1:40313".parse().unwrap()), None);
        let six = "00000000000000000000000001000000:0050";
        assert_eq!(address(six), Some(("::1".parse().unwrap(), 80)));
        for wrong in ["", ":", "0100007F", "x100007F:0035", "0100007F:99999", "01:0035"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_program_calls_itself_is_made_harmless() {
        let hostile = b"curl\0-H\0\x1b]0;x\x07\n`rm`\xe2\x80\xaeX\0\xff\0";
        assert_eq!(printable(hostile), "curl -H ?]0;x??'rm'?X \u{fffd}");
        let long = printable(&vec![b'a'; 4096]);
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
