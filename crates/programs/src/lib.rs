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
//! that runs from one and finds a way to open itself for writing. They are copied by the kernel from the file that this process runs from,
//! so that they take no memory of the server's. The agent is only bytes, for whoever puts it
//! inside; as long as nobody asks for them, they are not read from the disk.

mod own;

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

static GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-guest"));
static LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-launcher"));
static PROXY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lamp-proxy"));

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
    sealed("lamp-proxy", PROXY)
}

/// `lamp-launcher`, which builds walls.
pub fn launcher() -> std::io::Result<OwnedFd> {
    sealed("lamp-launcher", LAUNCHER)
}

fn sealed(name: &str, program: &'static [u8]) -> std::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know `EXEC`, and need none.
    let file =
        memfd_create(name, flags | MemfdFlags::EXEC).or_else(|_| memfd_create(name, flags))?;
    // What could not be copied unread is read and written.
    let copied = own::copy(program, &file).unwrap_or_default();
    let mut rest = program.get(copied..).unwrap_or_default();
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
    use std::{
        io::Write as _,
        os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
        process::Command,
    };

    use super::*;

    #[test]
    fn a_sealed_program_is_whole_and_nobody_can_change_it() {
        for (sealed, program) in [(guest(), GUEST), (launcher(), LAUNCHER), (proxy(), PROXY)] {
            let path = format!("/proc/self/fd/{}", sealed.as_ref().unwrap().as_raw_fd());
            assert!(std::fs::read(&path).unwrap() == program, "it is what was built");
            let opened = std::fs::OpenOptions::new().write(true).open(&path);
            assert!(opened.and_then(|mut file| file.write_all(b"x")).is_err());
        }
    }

    #[test]
    fn the_proxy_serves_nobody_but_the_server_that_started_it() {
        let sealed = proxy().unwrap();
        let mut command = Command::new(format!("/proc/self/fd/{}", sealed.as_raw_fd()));
        let told = command.env_clear().stdin(std::process::Stdio::null()).output().unwrap();
        assert!(!told.status.success(), "{told:?}");
        assert!(String::from_utf8_lossy(&told.stderr).starts_with("lamp-proxy: "), "{told:?}");
    }

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
