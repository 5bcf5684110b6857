//! The host's own toolchain as a base: read-only, and no more of the host than compilers and interpreters need.
//!
//! | of the host | inside |
//! |---|---|
//! | `/usr`, `/opt` | bound read-only |
//! | `/bin`, `/sbin`, `/lib*` | the same link as on the host, or bound |
//! | `/etc` | copies of the files on a list ([`etc`]); a few are written by us |
//! | toolchains that the operator names | bound read-only at the same path ([`toolchain`]) |
//! | everything else: homes, `/var`, `/run`, secrets | does not exist |
//!
//! Only what every user of the host may read is copied. A link is copied as a link: it can name a file that does not
//! exist inside, and never brings one in.

mod etc;
mod toolchain;
mod tools;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    BaseError, Digest,
    skeleton::{Skeleton, SkeletonEntry},
};

pub use tools::{FoundToolchain, FoundTools, Tools, find};

/// A directory of the host, read-only inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBind {
    pub from: String,
    /// Absolute, inside. It exists in the skeleton.
    pub to: String,
}

/// What a sandbox sees of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    pub binds: Vec<HostBind>,
    /// To be added to what every sandbox has.
    pub skeleton: Vec<SkeletonEntry>,
    /// What was left out although it is on the list, each as a sentence.
    pub left_out: Vec<String>,
    stamps: String,
}

/// Bound whole, if they exist. Distributions put programs there, and nothing that one user hides from another.
const PROGRAMS: [&str; 2] = ["/usr", "/opt"];
/// Links into `/usr` on most hosts, directories on some.
const MERGED: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Change when the host's packages do, at the latest when one of them installs a program or a library.
const STAMPED: [&str; 10] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/local/bin",
    "/usr/local/lib",
    "/opt",
    "/etc/ld.so.cache",
    "/var/lib/dpkg/status",
    "/usr/lib/sysimage/rpm",
    "/var/lib/pacman/local",
];

impl HostView {
    /// Of this host, with the toolchains that the operator names.
    pub fn of_this_host(toolchains: &[PathBuf]) -> Result<Self, BaseError> {
        Self::of(Path::new("/"), toolchains)
    }

    /// Of a host whose root is elsewhere, for tests. `toolchains` are as that host would name them.
    fn of(root: &Path, toolchains: &[PathBuf]) -> Result<Self, BaseError> {
        let mut view = Self {
            binds: Vec::new(),
            skeleton: Vec::new(),
            left_out: Vec::new(),
            stamps: String::new(),
        };
        for path in PROGRAMS {
            if on(root, path).is_dir() {
                view.bind(root, path);
            }
        }
        for path in MERGED {
            view.merged(root, path);
        }
        etc::copy(root, &mut view.skeleton, &mut view.left_out);
        let mut named = BTreeSet::new();
        for path in toolchains {
            let path = toolchain::check(root, path)?;
            if named.insert(path.clone())
                && !PROGRAMS.iter().any(|program| is_below(&path, program))
            {
                view.bind(root, &path);
            }
        }
        for path in STAMPED.into_iter().map(str::to_owned).chain(named) {
            if let Ok(found) = fs::metadata(on(root, &path)) {
                let (seconds, nanos) = (found.mtime(), found.mtime_nsec());
                // Writing to a string cannot fail.
                let _ = writeln!(view.stamps, "{path:?} {seconds} {nanos} {}", found.size());
            }
        }
        Ok(view)
    }

    /// The name of what a sandbox sees: another after a change of the host's packages. The programs themselves are not
    /// read; the times of their directories stand for them.
    pub fn digest(&self) -> Digest {
        let mut skeleton = Skeleton::default();
        skeleton.extend(self.skeleton.iter().cloned());
        let mut text = format!("host 1\n{}\n{}", skeleton.digest(), self.stamps);
        for HostBind { from, to } in &self.binds {
            let _ = writeln!(text, "bind {from:?} {to:?}");
        }
        Digest::of(text.as_bytes())
    }

    fn bind(&mut self, root: &Path, path: &str) {
        let from = on(root, path).display().to_string();
        self.binds.push(HostBind { from, to: path.to_owned() });
        self.skeleton.push(SkeletonEntry::directory(path));
    }

    fn merged(&mut self, root: &Path, path: &str) {
        let place = on(root, path);
        let Ok(found) = place.symlink_metadata() else { return };
        if found.is_dir() {
            self.bind(root, path);
            return;
        }
        match fs::read_link(&place).ok().and_then(|target| target.to_str().map(str::to_owned)) {
            Some(target) if leads_to_programs(&target) => {
                self.skeleton.push(SkeletonEntry::symlink(path, target));
            }
            Some(target) => {
                self.left_out
                    .push(format!("`{path}` leads to `{target}`, which sandboxes do not see"));
            }
            None => {}
        }
    }
}

/// Where a path of the host is, when its root is elsewhere.
fn on(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn leads_to_programs(target: &str) -> bool {
    let target = target.trim_start_matches('/');
    let names: Vec<&str> = target.split('/').collect();
    names.first() == Some(&"usr") && !names.contains(&"..")
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
