//! A parent group of ours in the unified hierarchy, with as many controllers as this user was given.
//!
//! The kernel's rules: a group that passes controllers on to its children has no processes of its own (the top
//! is exempt), and whoever moves a process must be able to write `cgroup.procs` of a group above both places.
//! So the parent stands as high as possible. Where only our own group is ours, as in a systemd service with
//! `Delegate=yes`, its processes first step aside into a leaf.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{
    files::{put, text},
    mounts::Hierarchy,
};

const WANTED: [&str; 4] = ["cpu", "memory", "pids", "io"];

/// Our parent group there.
#[derive(Debug)]
pub(super) struct Unified {
    pub(super) directory: PathBuf,
    gained: Vec<&'static str>,
}

impl Unified {
    pub(super) fn controller(&self, name: &str) -> Result<(), String> {
        if self.gained.contains(&name) {
            return Ok(());
        }
        let place = self.directory.display();
        Err(format!("the controller `{name}` was not passed on to `{place}`"))
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.directory.join(file).exists()
    }
}

/// Makes the parent, in the group that gives the most. The highest wins among equals.
pub(super) fn take(two: &Hierarchy, name: &str) -> Result<Unified, String> {
    let mut best: Result<Unified, String> = Err("it is not mounted".to_owned());
    for above in above_own(two) {
        let found = try_in(&above, &two.own, name);
        let better = match (&found, &best) {
            (Ok(found), Ok(best)) => found.gained.len() > best.gained.len(),
            (Ok(_), Err(_)) => true,
            (Err(_), Ok(_) | Err(_)) => false,
        };
        let beaten =
            if better || best.is_err() { std::mem::replace(&mut best, found) } else { found };
        if let Ok(beaten) = beaten {
            // Fails if another server uses it, and then it is not ours to remove.
            let _ = fs::remove_dir(beaten.directory);
        }
        if best.as_ref().is_ok_and(|best| WANTED.iter().take(3).all(|c| best.gained.contains(c))) {
            break;
        }
    }
    best
}

/// From the top of the mount down to our own group.
fn above_own(two: &Hierarchy) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = two
        .own
        .ancestors()
        .take_while(|group| group.starts_with(&two.mount))
        .map(Path::to_owned)
        .collect();
    all.reverse();
    all
}

fn try_in(above: &Path, own: &Path, name: &str) -> Result<Unified, String> {
    let members = above.join("cgroup.procs");
    if access(&members, Access::WRITE_OK).is_err() {
        return Err(format!("this user may not move processes within `{}`", above.display()));
    }
    let directory = make(&above.join(name))?;
    let offered = text(&above.join("cgroup.controllers"));
    let gained = WANTED
        .into_iter()
        .filter(|controller| offered.split_whitespace().any(|offer| offer == *controller))
        .filter(|controller| pass_on(above, own, name, controller).is_ok())
        .filter(|controller| enable(&directory, controller).is_ok())
        .collect();
    Ok(Unified { directory, gained })
}

/// Passes a controller on to the children of `above`.
fn pass_on(above: &Path, own: &Path, name: &str, controller: &str) -> io::Result<()> {
    match enable(above, controller) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy && above == own => {
            step_aside(own, name)?;
            enable(above, controller)
        }
        done => done,
    }
}

fn enable(group: &Path, controller: &str) -> io::Result<()> {
    put(&group.join("cgroup.subtree_control"), &format!("+{controller}"))
}

/// Moves every process of our own group into a leaf below it, ourselves included.
fn step_aside(own: &Path, name: &str) -> io::Result<()> {
    let leaf = own.join(format!("{name}.server"));
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    for pid in text(&own.join("cgroup.procs")).lines() {
        // Whoever is gone meanwhile need not be moved.
        let _ = put(&leaf.join("cgroup.procs"), pid);
    }
    Ok(())
}

/// Makes a parent group, or finds it made and open to us.
pub(super) fn make(directory: &Path) -> Result<PathBuf, String> {
    match fs::create_dir(directory) {
        Ok(()) => Ok(directory.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            access(directory, Access::WRITE_OK)
                .map(|()| directory.to_owned())
                .map_err(|_errno| format!("`{}` belongs to another user", directory.display()))
        }
        Err(error) => Err(format!("`{}` cannot be made ({})", directory.display(), plain(&error))),
    }
}

/// Without the number that the system's text ends with.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
