//! What was found out about gVisor, so that a server that starts again need not try it again.
//!
//! Only that it works is remembered, and only for the same program until the host is started anew.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::Platform;

#[derive(Debug)]
pub(crate) struct Memory {
    file: PathBuf,
}

impl Memory {
    pub(crate) fn new(data: &Path) -> Self {
        Self { file: data.join("gvisor") }
    }

    /// The platform that worked with this program.
    pub(crate) fn recall(&self, program: &Path) -> Option<Platform> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (platform, about) = text.split_once('\n')?;
        let is_the_same = about == describe(program).ok()?;
        Platform::ALL.into_iter().find(|one| is_the_same && one.name() == platform)
    }

    pub(crate) fn remember(&self, program: &Path, platform: Platform) -> io::Result<()> {
        fs::write(&self.file, format!("{}\n{}", platform.name(), describe(program)?))
    }
}

/// The same for as long as trying again would find the same.
fn describe(program: &Path) -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let about = fs::metadata(program)?;
    let (device, inode) = (about.dev(), about.ino());
    let (changed, size) = (about.ctime(), about.len());
    Ok(format!("{boot}{}\n{device} {inode} {changed} {size}\n", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_worked_is_remembered_until_the_program_changes() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("runsc");
        fs::write(&program, "one").unwrap();
        let memory = Memory::new(directory.path());
        assert_eq!(memory.recall(&program), None);
        memory.remember(&program, Platform::Ptrace).unwrap();
        assert_eq!(memory.recall(&program), Some(Platform::Ptrace));
        fs::write(&program, "another").unwrap();
        assert_eq!(memory.recall(&program), None);
    }
}
