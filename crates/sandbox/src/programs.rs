//! The programs that are part of this one: the launcher, the guest, and the built-in agent.
//!
//! Launcher and guest are handed out as sealed files in memory: nobody can change them after, not even a process
//! that runs from one and finds a way to open itself for writing. The agent is only bytes, for whoever puts it
//! inside; as long as nobody asks for them, they are not read from the disk.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-guest"));
const LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-launcher"));

/// `lamp-agent`, the built-in agent: a static program for the inside of any sandbox.
pub fn agent_program() -> &'static [u8] {
    static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-agent"));
    AGENT
}

pub(crate) fn guest() -> std::io::Result<OwnedFd> {
    sealed("lamp-guest", GUEST)
}

pub(crate) fn launcher() -> std::io::Result<OwnedFd> {
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
        assert!(agent_program().len() < 3 << 20, "{} bytes", agent_program().len());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lamp-agent");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(agent_program()).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(0o755)).unwrap();
        drop(file);
        assert!(!needs_a_loader(agent_program()));
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
