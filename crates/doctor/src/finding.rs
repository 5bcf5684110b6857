//! One thing that was looked at: how it stands, what was measured, what follows.
//!
//! **Invariant:** whatever is not all right says what follows and what to do.

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Kernel,
    Processors,
    Memory,
    Clock,
    UserNamespaces,
    Namespaces,
    Overlay,
    Seccomp,
    Landlock,
    Limits,
    Virtualisation,
    DataDirectory,
    DiskSpace,
    FileSystem,
    Configuration,
    Database,
    Git,
    Gvisor,
    DiskLimits,
    Postgres,
    Runc,
    Bubblewrap,
    Toolchains,
}

/// The headings under which topics are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Computer,
    Isolation,
    Storage,
    Programs,
}

/// How much lamp depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Without it, lamp cannot run at all.
    Essential,
    /// Without it, something that lamp offers is not available.
    Useful,
    /// Lamp does not use it; people may want to.
    Extra,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Ok,
    Limited(Shortfall),
    Missing(Shortfall),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shortfall {
    pub(crate) follows: String,
    pub(crate) remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) topic: Topic,
    pub(crate) need: Need,
    pub(crate) state: State,
    pub(crate) measured: String,
}

impl Finding {
    pub(crate) fn ok(topic: Topic, measured: impl Into<String>) -> Self {
        Self { topic, need: topic.need(), state: State::Ok, measured: measured.into() }
    }

    pub(crate) fn limited(
        topic: Topic,
        measured: impl Into<String>,
        follows: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let shortfall = Shortfall { follows: follows.into(), remedy: remedy.into() };
        Self { state: State::Limited(shortfall), ..Self::ok(topic, measured) }
    }

    pub(crate) fn missing(
        topic: Topic,
        measured: impl Into<String>,
        follows: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let shortfall = Shortfall { follows: follows.into(), remedy: remedy.into() };
        Self { state: State::Missing(shortfall), ..Self::ok(topic, measured) }
    }
}

impl State {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Limited(_) => "limited",
            Self::Missing(_) => "missing",
        }
    }

    pub(crate) const fn shortfall(&self) -> Option<&Shortfall> {
        match self {
            Self::Ok => None,
            Self::Limited(shortfall) | Self::Missing(shortfall) => Some(shortfall),
        }
    }
}

impl Topic {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Processors => "processors",
            Self::Memory => "memory",
            Self::Clock => "clock",
            Self::UserNamespaces => "user namespaces",
            Self::Namespaces => "namespaces",
            Self::Overlay => "overlay mounts",
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Limits => "limits",
            Self::Virtualisation => "virtualisation",
            Self::DataDirectory => "data directory",
            Self::DiskSpace => "disk space",
            Self::FileSystem => "file system",
            Self::Configuration => "configuration",
            Self::Database => "database",
            Self::Git => "git",
            Self::Gvisor => "runsc",
            Self::DiskLimits => "disk limits",
            Self::Postgres => "postgres",
            Self::Runc => "runc",
            Self::Bubblewrap => "bwrap",
            Self::Toolchains => "toolchains",
        }
    }

    pub(crate) const fn group(self) -> Group {
        match self {
            Self::Kernel | Self::Processors | Self::Memory | Self::Clock => Group::Computer,
            Self::UserNamespaces
            | Self::Namespaces
            | Self::Overlay
            | Self::Seccomp
            | Self::Landlock
            | Self::Limits
            | Self::Virtualisation => Group::Isolation,
            Self::DataDirectory
            | Self::DiskSpace
            | Self::FileSystem
            | Self::Configuration
            | Self::Database => Group::Storage,
            Self::Git
            | Self::Gvisor
            | Self::DiskLimits
            | Self::Postgres
            | Self::Runc
            | Self::Bubblewrap
            | Self::Toolchains => Group::Programs,
        }
    }

    const fn need(self) -> Need {
        match self {
            Self::DataDirectory
            | Self::DiskSpace
            | Self::Configuration
            | Self::Database
            | Self::Git => Need::Essential,
            Self::Kernel
            | Self::Processors
            | Self::Memory
            | Self::Clock
            | Self::UserNamespaces
            | Self::Namespaces
            | Self::Overlay
            | Self::Seccomp
            | Self::Landlock
            | Self::Limits
            | Self::Virtualisation
            | Self::FileSystem
            | Self::Gvisor
            | Self::DiskLimits => Need::Useful,
            Self::Postgres | Self::Runc | Self::Bubblewrap | Self::Toolchains => Need::Extra,
        }
    }
}

impl Group {
    pub(crate) const ALL: [Self; 4] =
        [Self::Computer, Self::Isolation, Self::Storage, Self::Programs];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Computer => "Computer",
            Self::Isolation => "Isolation",
            Self::Storage => "Storage",
            Self::Programs => "Programs",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Computer => "computer",
            Self::Isolation => "isolation",
            Self::Storage => "storage",
            Self::Programs => "programs",
        }
    }
}
