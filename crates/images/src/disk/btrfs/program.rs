//! The few programs that make and attach the pool. They run when a pool is opened, never for a disk.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Where such programs live. The server's own search path is not asked: whoever can write to a directory in it would be root.
const PLACES: [&str; 6] =
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/run/current-system/sw/bin"];

pub(super) fn find(name: &str) -> Option<PathBuf> {
    PLACES.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file())
}

/// Runs a program to its end, and returns what it printed, or why it failed, as a phrase.
pub(super) fn run(program: &Path, arguments: &[&Path]) -> Result<String, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| format!("`{name}` does not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason");
    Err(format!("`{name}` failed: {}", last.trim()))
}
