//! What a server keeps beside its database, as far as nobody could make it again: copied into a backup, and back.
//!
//! | what | why it is kept |
//! |---|---|
//! | `keys` | receipts are signed with them, and checked against them |
//! | `master.key`, `secrets` | what is sealed, and the key to it, unless the operator gives that one |
//! | `owner` | who asked and approved is this id |
//! | `outfits`, `egress/tasks` | receipts are made of them |
//! | `notices`, `agents` | what was told already, and what agents remember |
//! | `egress/spent.json`, `used`, `asking`, `sandboxes/ledger` | meters that never decrease |
//! | `egress/log.jsonl` | what left sandboxes |
//! | `sandboxes/gone` | ids that must not come back |
//! | `sandboxes/mirrors` | where repositories are from, and the work of tasks that was not delivered yet |
//!
//! Left out is what is made or fetched again: images, disks and records of sandboxes, baselines, the token, sockets.
//!
//! **Invariant:** these are copied after the database. Whatever an event speaks of was written before it, so it is there to be copied.

use std::{
    fs::{Metadata, Permissions},
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use files::{Durability, Unfinished};
use fs_err as fs;
use terminal::report::Hint;

/// Each is a file or a directory below the data directory.
const KEPT: [&str; 13] = [
    "keys",
    "owner",
    "outfits",
    "notices",
    "agents",
    "egress/tasks",
    "egress/used",
    "egress/asking",
    "egress/spent.json",
    "egress/log.jsonl",
    "sandboxes/ledger",
    "sandboxes/gone",
    "sandboxes/gone.old",
];

const SECRETS: &str = "secrets";
const MASTER_KEY: &str = "master.key";
const MIRRORS: &str = "sandboxes/mirrors";

/// How often secrets are copied whose key is being turned meanwhile.
const TRIES: u32 = 5;

/// Copies them out of the data directory of a server, which may run. Says which there were.
pub fn copy_out(data: &Path, to: &Path) -> anyhow::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for name in KEPT {
        if copy_kept(data, to, name)? {
            found.push(name);
        }
    }
    found.extend(copy_secrets(data, to)?);
    if copy_mirrors(data, to)? {
        found.push(MIRRORS);
    }
    Ok(found)
}

/// Copies them from a backup into a data directory that no server uses. What is there and says something else stays, and is named.
pub fn copy_back(from: &Path, data: &Path) -> io::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for name in KEPT.into_iter().chain([SECRETS, MASTER_KEY, MIRRORS]) {
        if copy_kept(from, data, name)? {
            found.push(name);
        }
    }
    Ok(found)
}

/// What a person has to know about a copy in which these were found, a sentence on each line.
pub fn missing(found: &[&str]) -> String {
    let mut told = String::new();
    if !found.contains(&"keys") {
        told.push_str("There is no key for receipts in it: the next server makes a new one.\n");
    }
    if found.contains(&SECRETS) && !found.contains(&MASTER_KEY) {
        told.push_str(
            "The key of its secrets is not in it: keep what `LAMP_MASTER_KEY` or `LAMP_MASTER_KEY_COMMAND` gives.\n",
        );
    }
    told
}

/// The secrets with the key that they are sealed with. While the key is being turned, the one may be older than the other.
fn copy_secrets(data: &Path, to: &Path) -> anyhow::Result<Vec<&'static str>> {
    let key = || match fs::read(data.join(MASTER_KEY)) {
        Ok(key) => Ok(Some(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    for _ in 0..TRIES {
        let before = key()?;
        let has_secrets = copy_kept(data, to, SECRETS)?;
        let has_key = copy_kept(data, to, MASTER_KEY)?;
        if key()? == before {
            let both = [(has_secrets, SECRETS), (has_key, MASTER_KEY)];
            return Ok(both.into_iter().filter_map(|(has, name)| has.then_some(name)).collect());
        }
        for name in [to.join(SECRETS), to.join(MASTER_KEY)] {
            remove(&name)?;
        }
    }
    Err(anyhow!("the key of the secrets was turned again and again"))
        .with_context(|| Hint::new("cannot copy the secrets", "make the backup again later"))
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(met) if met.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Copies every mirror while nobody fetches into it or tidies it up. Work of tasks may arrive meanwhile: an object comes before the ref
/// that names it, so refs are copied first.
fn copy_mirrors(data: &Path, to: &Path) -> io::Result<bool> {
    let mut has_some = false;
    let root = Path::new(MIRRORS);
    for name in entries(&data.join(root))? {
        let mirror = root.join(name);
        let (source, target) = (data.join(&mirror), to.join(&mirror));
        if !source.join("HEAD").is_file() {
            continue;
        }
        make_above(data, to, &mirror)?;
        make_directory(&fs::metadata(&source)?, &target)?;
        has_some = true;
        let lock = std::fs::File::options().create(true).append(true).open(source.join(LOCK))?;
        lock.lock()?;
        let mut parts = entries(&source)?;
        let turn = |name: &PathBuf| match name.to_str() {
            Some("refs") => 0,
            Some("objects") => 2,
            Some(_) | None => 1,
        };
        parts.sort_by_key(turn);
        for part in parts {
            copy(&source.join(&part), &target.join(&part))?;
        }
        sync(&target)?;
    }
    Ok(has_some)
}

/// What whoever changes a mirror holds; it is no part of it.
const LOCK: &str = "lamp-lock";

/// Whether there is something of this name.
fn copy_kept(from: &Path, to: &Path, name: &str) -> io::Result<bool> {
    let source = from.join(name);
    if source.symlink_metadata().is_err() {
        return Ok(false);
    }
    make_above(from, to, Path::new(name))?;
    copy(&source, &to.join(name))?;
    sync(to)?;
    Ok(true)
}

/// The directories above `name`, as they are in `from`.
fn make_above(from: &Path, to: &Path, name: &Path) -> io::Result<()> {
    let mut above = PathBuf::new();
    for part in name.parent().into_iter().flat_map(Path::components) {
        above.push(part);
        make_directory(&fs::metadata(from.join(&above))?, &to.join(&above))?;
    }
    Ok(())
}

/// A file or a directory with all that is in it, each with its mode. What goes away meanwhile was not needed any more.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match copy_whole(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied,
    }
}

fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    let met = fs::symlink_metadata(from)?;
    if met.is_dir() {
        make_directory(&met, to)?;
        for name in entries(from)? {
            copy(&from.join(&name), &to.join(&name))?;
        }
        return sync(to);
    }
    // Nothing that we write is a link or a pipe, and whatever put one there is not followed.
    if met.is_file() { copy_file(from, &met, to) } else { Ok(()) }
}

/// All of it, or nothing.
fn copy_file(from: &Path, met: &Metadata, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return if is_same(from, to)? {
            Ok(())
        } else {
            let what = format!("`{}` is there already, and is another one", to.display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
        };
    }
    let mode = met.permissions().mode();
    let mut arriving = Unfinished::begin(to, mode & 0o777)?;
    io::copy(&mut fs::File::open(from)?, &mut arriving)?;
    arriving.as_file().set_permissions(Permissions::from_mode(mode))?;
    arriving.put_new(Durability::SyncedFile)
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(other)?.is_file() {
        return Ok(false);
    }
    let (one, other) = (fs::File::open(one)?, fs::File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (io::BufReader::new(one).bytes(), io::BufReader::new(other).bytes());
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (left, right) if left == right => {}
            (_, _) => return Ok(false),
        }
    }
}

fn make_directory(like: &Metadata, path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        fs::create_dir(path)?;
    }
    fs::set_permissions(path, Permissions::from_mode(like.permissions().mode() & 0o7777))
}

/// The names in a directory, in order, without what is being written.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in listed {
        let name = PathBuf::from(entry?.file_name());
        let is_lock = name.extension().is_some_and(|ending| ending == "lock");
        if !is_lock && name != Path::new(LOCK) && !files::is_unfinished(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn sync(directory: &Path) -> io::Result<()> {
    files::sync_directory(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Every file below, with its mode.
    fn listed(directory: &Path) -> Vec<String> {
        let mut told = Vec::new();
        for name in entries(directory).unwrap() {
            let path = directory.join(&name);
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
            if path.is_dir() {
                let below = listed(&path);
                told.extend(below.iter().map(|it| format!("{}/{it}", name.display())));
            } else {
                told.push(format!("{} {mode:o}", name.display()));
            }
        }
        told
    }

    #[test]
    fn what_cannot_be_made_again_is_copied_with_its_modes_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let (data, copy, back) =
            (home.path().join("data"), home.path().join("copy"), home.path().join("back"));
        for name in [&copy, &back] {
            fs::create_dir(name).unwrap();
        }
        for (name, mode) in [
            ("keys/signing.key", 0o600),
            ("keys/public/1.pem", 0o644),
            ("master.key", 0o600),
            ("owner", 0o600),
            ("secrets/values/TOKEN", 0o600),
            ("egress/tasks/t_1.jsonl", 0o600),
            ("egress/s_1.json", 0o600),
            ("token", 0o600),
            ("baselines/1", 0o644),
            ("sandboxes/records/s_1", 0o600),
            ("sandboxes/disks/pool.btrfs", 0o600),
            ("sandboxes/mirrors/web.git/HEAD", 0o644),
            ("sandboxes/mirrors/web.git/lamp-source", 0o600),
            ("sandboxes/mirrors/web.git/lamp-lock", 0o644),
            ("sandboxes/mirrors/web.git/refs/heads/main", 0o644),
            ("sandboxes/mirrors/web.git/refs/heads/other.lock", 0o644),
            ("sandboxes/mirrors/web.git/objects/ab/cd", 0o444),
            ("sandboxes/mirrors/takings/half", 0o644),
        ] {
            write(&data.join(name), name, mode);
        }
        // Nothing that we write is a link, so it is nothing of ours.
        std::os::unix::fs::symlink("/etc/passwd", data.join("keys/link")).unwrap();

        let found = copy_out(&data, &copy).unwrap();
        assert_eq!(missing(&found), "");
        assert_eq!(copy_back(&copy, &back).unwrap().len(), found.len());
        assert_eq!(listed(&copy), listed(&back));
        insta::assert_snapshot!(listed(&back).join("\n"), @r"
        egress/tasks/t_1.jsonl 600
        keys/public/1.pem 644
        keys/signing.key 600
        master.key 600
        owner 600
        sandboxes/mirrors/web.git/HEAD 644
        sandboxes/mirrors/web.git/lamp-source 600
        sandboxes/mirrors/web.git/objects/ab/cd 444
        sandboxes/mirrors/web.git/refs/heads/main 644
        secrets/values/TOKEN 600
        ");
        // Again, as after a restore that was interrupted.
        assert_eq!(copy_back(&copy, &back).unwrap().len(), found.len());
        write(&back.join("owner"), "somebody else", 0o600);
        let error = copy_back(&copy, &back).unwrap_err();
        assert!(error.to_string().contains("owner` is there already"), "{error}");
    }

    #[test]
    fn a_key_that_is_not_in_a_copy_is_told() {
        assert_eq!(missing(&["keys", "owner"]), "");
        assert!(missing(&["owner"]).starts_with("There is no key for receipts"));
        assert!(missing(&["keys", "secrets"]).starts_with("The key of its secrets is not in it"));
        assert_eq!(missing(&["keys", "secrets", "master.key"]), "");
    }
}
