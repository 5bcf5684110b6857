//! Looks for programs on the `PATH`, and asks them for their version.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::super::{
    brief,
    host::{Found, Program},
};

pub(crate) fn measure(path: Option<&OsStr>) -> BTreeMap<Program, Found> {
    Program::ALL.into_iter().map(|program| (program, look_for(program, path))).collect()
}

fn look_for(program: Program, path: Option<&OsStr>) -> Found {
    let Some(file) = on_path(program.name(), path) else { return Found::Nowhere };
    match program {
        // Where it is tells enough; running it is not for a look around.
        Program::MkfsBtrfs => Found::There { path: file },
        Program::Git | Program::Runsc | Program::Postgres | Program::Runc | Program::Bwrap => {
            ask(file)
        }
    }
}

fn ask(file: PathBuf) -> Found {
    let output = match brief::run(Command::new(&file).arg("--version")) {
        Ok(output) => output,
        Err(error) => return Found::Broken { path: file, error: error.to_string() },
    };
    if !output.status.success() {
        return Found::Broken { path: file, error: output.status.to_string() };
    }
    let said = String::from_utf8_lossy(&output.stdout);
    match said.lines().next() {
        Some(line) => Found::Runs { version: printable(line) },
        None => Found::There { path: file },
    }
}

/// What a program prints goes to a person's terminal: no control characters, not too long.
fn printable(line: &str) -> String {
    line.trim().chars().filter(|character| !character.is_control()).take(80).collect()
}

fn on_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    // An empty or relative entry means the directory where we happen to be. Not a place to run things from.
    let directories = std::env::split_paths(path?).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_places_are_searched() {
        assert!(on_path("sh", Some(OsStr::new("relative::/bin"))).is_some());
        assert_eq!(on_path("sh", Some(OsStr::new("bin:."))), None);
        assert_eq!(on_path("sh", None), None);
    }

    #[test]
    fn a_program_that_fails_is_broken_and_one_that_colours_is_tamed() {
        assert!(matches!(ask(PathBuf::from("/bin/false")), Found::Broken { .. }));
        assert_eq!(printable(" git\u{1b}[31m 2.39\u{7} "), "git[31m 2.39");
    }
}
