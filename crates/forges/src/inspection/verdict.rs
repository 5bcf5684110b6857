//! What was found: flags for a person who reviews, refusals for whoever asked.

use std::fmt;

use contracts::forge;

use super::{names::NameFault, secrets::Kind};

/// Something that a person should look at twice (RV6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub path: String,
    pub kind: FlagKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlagKind {
    /// It runs when somebody opens, enters or installs the repository.
    RunsWhenOpened {
        what: &'static str,
    },
    /// The forge runs it. It was approved apart.
    Workflow {
        what: &'static str,
    },
    /// A script of `package.json` that runs on installing is new or different.
    LifecycleScript {
        script: String,
    },
    /// Notes and settings that an agent takes up by itself from where it is opened.
    Instructs {
        what: &'static str,
    },
    /// It is no source: nobody can read what it does.
    Compiled {
        what: &'static str,
    },
    /// A manifest or a lock file names packages that it did not name before: the text says which.
    Packages {
        text: String,
    },
    BecameExecutable,
    Link,
    Submodule,
    /// `.gitmodules`: where submodules come from.
    Modules,
    /// `.gitattributes` names filters, drivers or encodings.
    Attributes,
    /// It looks like a secret, but many things do.
    LikeSecret {
        line: usize,
        kind: Kind,
    },
    /// Characters that hide, or turn text around.
    Deceives {
        line: usize,
    },
}

impl Flag {
    /// As the engine hears of it.
    pub(crate) fn told(self) -> forge::Flag {
        let kind = match &self.kind {
            FlagKind::RunsWhenOpened { .. }
            | FlagKind::LifecycleScript { .. }
            | FlagKind::Instructs { .. } => forge::FlagKind::RunsWhenOpened,
            FlagKind::Workflow { .. } => forge::FlagKind::Workflow,
            FlagKind::Submodule | FlagKind::Modules => forge::FlagKind::Submodule,
            FlagKind::BecameExecutable
            | FlagKind::Compiled { .. }
            | FlagKind::Packages { .. }
            | FlagKind::Link
            | FlagKind::Attributes
            | FlagKind::LikeSecret { .. }
            | FlagKind::Deceives { .. } => forge::FlagKind::Odd,
        };
        forge::Flag { kind, text: self.to_string(), path: self.path }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ", self.path)?;
        match &self.kind {
            FlagKind::RunsWhenOpened { what } => write!(f, "runs by being opened ({what})"),
            FlagKind::Workflow { what } => write!(f, "is run by the forge ({what})"),
            FlagKind::LifecycleScript { script } => {
                write!(f, "runs `{script}` when it is installed")
            }
            FlagKind::Instructs { what } => {
                write!(f, "instructs or runs whoever opens an agent there ({what})")
            }
            FlagKind::Compiled { what } => {
                write!(f, "is compiled ({what}), and can be run instead of a source")
            }
            FlagKind::Packages { text } => f.write_str(text),
            FlagKind::BecameExecutable => f.write_str("is executable now"),
            FlagKind::Link => f.write_str("is a symbolic link"),
            FlagKind::Submodule => f.write_str("is a submodule"),
            FlagKind::Modules => f.write_str("says where submodules come from"),
            FlagKind::Attributes => f.write_str("tells git how to treat files"),
            FlagKind::LikeSecret { line, kind } => {
                write!(f, "has in line {line} what may be {kind}")
            }
            FlagKind::Deceives { line } => {
                write!(f, "has in line {line} characters that hide or turn text around")
            }
        }
    }
}

/// Why a change may not leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Empty when it is about the whole change.
    pub path: String,
    pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    Name(NameFault),
    Mode {
        mode: u32,
    },
    Submodule,
    /// A link that leads out of the tree, or into git's own directory.
    LinkOut,
    /// A link where git reads a file.
    LinkForGit,
    /// On some file systems it is the same name as another.
    Meets {
        other: String,
    },
    LargeFile {
        bytes: u64,
        limit: u64,
    },
    LargeChange {
        limit: u64,
    },
    ManyFiles {
        files: usize,
        limit: usize,
    },
    Workflow {
        what: &'static str,
    },
    Secret {
        line: usize,
        kind: Kind,
    },
    /// A value that the platform itself keeps secret.
    KnownSecret,
}

impl Reason {
    /// What somebody can do about it.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::Meets { .. } => "rename it",
            Self::Mode { .. } | Self::LinkForGit => "make it an ordinary file",
            Self::Submodule => {
                "remove the repository that is nested in the checkout, or allow submodules"
            }
            Self::LinkOut => "link to a path inside the repository",
            Self::LargeFile { .. } | Self::LargeChange { .. } | Self::ManyFiles { .. } => {
                "leave out what is generated (with .gitignore), or raise the limit"
            }
            Self::Workflow { .. } => "have the workflow change approved apart, or leave it out",
            Self::Secret { .. } | Self::KnownSecret => "take it out, and renew the secret",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}` ", self.path)?;
        }
        match &self.reason {
            Reason::Name(fault) => write!(f, "{fault}")?,
            Reason::Mode { mode } => write!(f, "has the mode {mode:o}")?,
            Reason::Submodule => f.write_str("is a submodule")?,
            Reason::LinkOut => f.write_str("is a link that leads out of the repository")?,
            Reason::LinkForGit => f.write_str("is a link where git reads a file")?,
            Reason::Meets { other } => write!(f, "is the same name as `{other}` elsewhere")?,
            Reason::LargeFile { bytes, limit } => {
                write!(f, "has {bytes} bytes, and at most {limit} are allowed")?;
            }
            Reason::LargeChange { limit } => write!(f, "all files have more than {limit} bytes")?,
            Reason::ManyFiles { files, limit } => {
                write!(f, "{files} files are touched, and at most {limit} are allowed")?;
            }
            Reason::Workflow { what } => write!(f, "is run by the forge ({what})")?,
            Reason::Secret { line, kind } => write!(f, "has in line {line} {kind}")?,
            Reason::KnownSecret => f.write_str("holds a value that is kept secret")?,
        }
        write!(f, ": {}", self.reason.remedy())
    }
}

/// All that speaks against a change, or as much as a person reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}",
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    if *more > 0 { format!("; and {more} more") } else { String::new() }
)]
pub struct Refused {
    pub refusals: Vec<Refusal>,
    pub more: usize,
}
