//! Looks for programs on the `PATH`, and asks them for their version.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    super::{
        brief,
        host::{Found, Program},
    },
    read,
};
use crate::data_directory::Account;

pub(crate) fn measure(path: Option<&OsStr>) -> BTreeMap<Program, Found> {
    Program::ALL.into_iter().map(|program| (program, look_for(program, path))).collect()
}

fn look_for(program: Program, path: Option<&OsStr>) -> Found {
    let Some(file) = on_path(program.name(), path) else { return Found::Nowhere };
    match program {
        // It knows no `--version`.
        Program::Newuidmap => Found::There { path: file },
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

/// The range of `/etc/subuid` for this account: `100000-165535`.
pub(crate) fn subordinate_uids(account: Account) -> Option<String> {
    let Account::Ordinary { uid } = account else { return None };
    let passwd = read("/etc/passwd").unwrap_or_default();
    range_of(&read("/etc/subuid")?, &passwd, uid)
}

fn range_of(subuid: &str, passwd: &str, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then_some(name)
    });
    subuid.lines().find_map(|line| {
        let (owner, range) = line.split_once(':')?;
        if owner != uid && Some(owner) != named {
            return None;
        }
        let (first, count) = range.split_once(':')?;
        let (first, count): (u64, u64) = (first.parse().ok()?, count.trim().parse().ok()?);
        let last = first.checked_add(count)?.checked_sub(1)?;
        Some(format!("{first}-{last}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_belongs_to_a_name_or_a_number() {
        let passwd = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
        let subuid = "bob:1:2\nann:100000:65536\n1001:200000:10\nbroken:x:y\n";
        assert_eq!(range_of(subuid, passwd, 1000).as_deref(), Some("100000-165535"));
        assert_eq!(range_of(subuid, passwd, 1001).as_deref(), Some("200000-200009"));
        assert_eq!(range_of(subuid, passwd, 1002), None);
    }

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
