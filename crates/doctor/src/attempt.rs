//! Tries for real what a sandbox will need, in a child process that goes away.
//!
//! A namespace cannot be left, and Landlock cannot be taken off. So doctor starts
//! this program again as `lamp __attempt NAME`; the child tries, prints one line and
//! ends, and with it end its namespaces and mounts.
//!
//! As root, a namespace is tried directly first; as an ordinary user, and as a
//! root without the right (in a container), inside a user namespace.

use std::{
    ffi::OsString,
    io::{self, Write},
    process::Command,
};

use anyhow::{Context, bail};
use landlock::{AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetStatus};
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::UnshareFlags,
};
use terminal::{data_directory::Account, exit::Exit};

use super::brief;

const ARGUMENT: &str = "__attempt";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attempt {
    UserNamespace,
    MountNamespace,
    PidNamespace,
    NetworkNamespace,
    IpcNamespace,
    UtsNamespace,
    CgroupNamespace,
    TimeNamespace,
    OverlayMount,
    Landlock,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Worked {
        note: String,
    },
    Refused {
        why: String,
    },
    /// The child did not start, or did not end.
    NotTried {
        why: String,
    },
}

impl Attempt {
    pub(crate) const ALL: [Self; 10] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::PidNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::CgroupNamespace,
        Self::TimeNamespace,
        Self::OverlayMount,
        Self::Landlock,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user",
            Self::MountNamespace => "mount",
            Self::PidNamespace => "pid",
            Self::NetworkNamespace => "network",
            Self::IpcNamespace => "ipc",
            Self::UtsNamespace => "uts",
            Self::CgroupNamespace => "cgroup",
            Self::TimeNamespace => "time",
            Self::OverlayMount => "overlay",
            Self::Landlock => "landlock",
        }
    }

    /// Starts the child, and hears what became of it.
    pub(crate) fn make(self) -> Outcome {
        let mut child = Command::new("/proc/self/exe");
        let output = match brief::run(child.args([ARGUMENT, self.name()])) {
            Ok(output) => output,
            Err(error) => return Outcome::NotTried { why: format!("could not be tried: {error}") },
        };
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() {
            return Outcome::Worked { note: said };
        }
        let why = if said.is_empty() { output.status.to_string() } else { said };
        Outcome::Refused { why }
    }

    /// The child's side: tries, and prints one line.
    pub fn answer(self, out: &mut impl Write) -> Exit {
        let (line, exit) = match self.try_here() {
            Ok(note) => (note, Exit::Done),
            Err(error) => (format!("{error:#}"), Exit::Failed),
        };
        match writeln!(out, "{line}") {
            Ok(()) => exit,
            Err(_) => Exit::ReaderGone,
        }
    }

    fn try_here(self) -> anyhow::Result<String> {
        match self {
            Self::UserNamespace => {
                enter_user_namespace()?;
                // Some distributions let everyone in, and give no rights inside.
                unshare(UnshareFlags::NEWNS).context("mount namespace inside it")?;
                mount_scratch().context("mount inside it")?;
                Ok("created one, and mounted inside it".to_owned())
            }
            Self::MountNamespace => enter(UnshareFlags::NEWNS),
            Self::PidNamespace => enter(UnshareFlags::NEWPID),
            Self::NetworkNamespace => enter(UnshareFlags::NEWNET),
            Self::IpcNamespace => enter(UnshareFlags::NEWIPC),
            Self::UtsNamespace => enter(UnshareFlags::NEWUTS),
            Self::CgroupNamespace => enter(UnshareFlags::NEWCGROUP),
            Self::TimeNamespace => enter(UnshareFlags::NEWTIME),
            Self::OverlayMount => {
                let how = enter(UnshareFlags::NEWNS).context("mount namespace")?;
                mount_overlay()?;
                Ok(how)
            }
            Self::Landlock => restrict_self(),
        }
    }
}

/// The attempt that this process was started for, if doctor started it.
pub fn asked_for(arguments: &[OsString]) -> Option<Attempt> {
    let [_program, argument, name] = arguments else { return None };
    if argument != ARGUMENT {
        return None;
    }
    Attempt::ALL.into_iter().find(|attempt| name == attempt.name())
}

/// Directly where we may, in a user namespace where we must.
fn enter(flags: UnshareFlags) -> anyhow::Result<String> {
    if Account::own() == Account::Root && unshare(flags).is_ok() {
        return Ok("directly".to_owned());
    }
    enter_user_namespace().context("user namespace")?;
    unshare(flags)?;
    Ok("in a user namespace".to_owned())
}

fn enter_user_namespace() -> anyhow::Result<()> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    unshare(UnshareFlags::NEWUSER)?;
    // Without this, an ordinary user may not map a group.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {} 1", uid.as_raw()))?;
    write("/proc/self/gid_map", &format!("0 {} 1", gid.as_raw()))?;
    Ok(())
}

fn write(path: &str, text: &str) -> anyhow::Result<()> {
    // One write: the kernel takes a map only once. The file is there, never created.
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write `{path}`"))
}

#[expect(deprecated, reason = "only unsound with `FILES`, and its successor needs `unsafe`")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Puts an empty tmpfs over `/proc`, seen by this process alone. That directory
/// is surely there: this program was started from it.
fn mount_scratch() -> anyhow::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("cannot make mounts private")?;
    mount("tmpfs", "/proc", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)
        .context("cannot mount a tmpfs")
}

fn mount_overlay() -> anyhow::Result<()> {
    mount_scratch()?;
    for directory in ["/proc/lower", "/proc/upper", "/proc/work", "/proc/merged"] {
        fs_err::create_dir(directory)?;
    }
    let options = c"lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work";
    mount("overlay", "/proc/merged", "overlay", MountFlags::empty(), options)
        .context("cannot mount an overlay")?;
    fs_err::write("/proc/merged/written", "")?;
    Ok(())
}

fn restrict_self() -> anyhow::Result<String> {
    let restriction =
        Ruleset::default().handle_access(AccessFs::Execute)?.create()?.restrict_self()?;
    match restriction.landlock {
        LandlockStatus::NotEnabled => bail!("built into the kernel, but not enabled at boot"),
        LandlockStatus::NotImplemented => bail!("not built into the kernel"),
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            if restriction.ruleset == RulesetStatus::NotEnforced {
                bail!("a rule was accepted, but not enforced");
            }
            Ok(kernel_abi.map_or_else(|| effective_abi.to_string(), |abi| abi.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_name_is_an_attempt() {
        let asked =
            |line: &str| asked_for(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked("lamp __attempt overlay"), Some(Attempt::OverlayMount));
        assert_eq!(asked("lamp __attempt everything"), None);
        assert_eq!(asked("lamp __attempt overlay twice"), None);
        assert_eq!(asked("lamp doctor overlay"), None);
    }
}
