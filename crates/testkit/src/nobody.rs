//! A test that root runs again as somebody without rights.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    process::Command,
};

use anyhow::{Context as _, ensure};

const NOBODY: u32 = 65_534;

/// Whether the test of this name has just been shown by nobody: then we are root, and there is nothing left to do. The name is
/// whole, with the modules before it. An error if it fails as nobody, or if there is no such test.
pub fn has_shown(test: &str) -> anyhow::Result<bool> {
    Ok(shown(test)?.is_some())
}

/// The same, with what it said on its error stream; `None` for whoever is not root.
pub fn shown(test: &str) -> anyhow::Result<Option<String>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    // A copy of these tests, where nobody can reach it.
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("tests");
    fs::copy(std::env::current_exe()?, &program).context("we cannot be copied")?;
    for path in [directory.path(), &program] {
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
    }
    let mut copy = Command::new(&program);
    copy.args([test, "--exact", "--nocapture"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    let output = copy.output().context("we cannot be run as nobody")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    #[expect(clippy::print_stdout, reason = "what could not be shown is told")]
    {
        println!("{said}");
    }
    ensure!(output.status.success() && said.contains("1 passed"), "{said}\n{complained}");
    Ok(Some(complained.into_owned()))
}
