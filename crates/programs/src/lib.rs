//! The small programs of ours that are part of `lamp`, as sealed files in memory.
//!
//! | program | room | what it does | linked |
//! |---|---|---|---|
//! | `lamp-launcher` | `launcher` | builds the walls of sandboxes | static |
//! | `lamp-guest` | `guest` | is the first program inside | static |
//! | `lamp-agent` | `apprentice` | the built-in agent, inside | static |
//! | `lamp-proxy` | `proxy` | reads what sandboxes say | as `lamp` is |
//!
//! Launcher, guest and proxy are handed out as sealed files in memory: nobody can change them after, not even a process
//! that runs from one and finds a way to open itself for writing. The agent is only bytes, for whoever puts it
//! inside; as long as nobody asks for them, they are not read from the disk.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-guest"));
const LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-launcher"));

/// `lamp-agent`, the built-in agent: a static program for the inside of any sandbox.
pub fn agent() -> &'static [u8] {
    static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-agent"));
    AGENT
}

/// `lamp-guest`, the first program inside a sandbox.
pub fn guest() -> std::io::Result<OwnedFd> {
    sealed("lamp-guest", GUEST)
}

/// `lamp-proxy`, the process that reads what sandboxes say.
pub fn proxy() -> std::io::Result<OwnedFd> {
    static PROXY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-proxy"));
    sealed("lamp-proxy", PROXY)
}

/// `lamp-launcher`, which builds walls.
pub fn launcher() -> std::io::Result<OwnedFd> {
    sealed("lamp-launcher", LAUNCHER)
}

fn sealed(name: &str, program: &[u8]) -> std::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know `EXEC`, and need none.
    let file =
        memfd_create(name, flags | MemfdFlags::EXEC).or_else(|_| memfd_create(name, flags))?;
    let mut rest = program;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::unix::fs::PermissionsExt as _, process::Command};

    use super::*;

    #[test]
    fn the_built_in_agent_runs_without_any_library_and_is_small() {
        assert!(agent().len() < 3 << 20, "{} bytes", agent().len());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lamp-agent");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(agent()).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(0o755)).unwrap();
        drop(file);
        assert!(!needs_a_loader(agent()));
        assert!(needs_a_loader(&std::fs::read("/proc/self/exe").unwrap()), "the look is right");
        let told = Command::new(&path).arg("--version").env_clear().output().unwrap();
        assert!(String::from_utf8_lossy(&told.stdout).starts_with("lamp-agent "), "{told:?}");
    }

    /// Whether an ELF file of 64 bits names a program that loads its libraries.
    fn needs_a_loader(elf: &[u8]) -> bool {
        let number = |at: usize, bytes: usize| {
            elf[at..at + bytes]
                .iter()
                .rev()
                .fold(0_usize, |all, byte| all << 8 | usize::from(*byte))
        };
        let (begin, size, count) = (number(32, 8), number(54, 2), number(56, 2));
        (0..count).any(|at| number(begin + at * size, 4) == 3)
    }
}
