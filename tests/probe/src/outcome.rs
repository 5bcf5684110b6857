//! What came of an attempt, as one line.

use std::{fmt, io};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It did what the attacker wanted.
    Allowed,
    /// The system refused, with this error.
    Denied(String),
    /// Something to look at.
    Value(String),
    /// There is no such attempt.
    Unknown,
}

impl Outcome {
    pub(crate) fn value(value: impl fmt::Display) -> Self {
        Self::Value(value.to_string())
    }
}

impl From<Result<Self, io::Error>> for Outcome {
    fn from(attempt: Result<Self, io::Error>) -> Self {
        attempt.unwrap_or_else(|error| Self::Denied(name(&error)))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed => f.write_str("allowed"),
            Self::Denied(error) => write!(f, "denied {error}"),
            Self::Value(value) => write!(f, "value {value}"),
            Self::Unknown => f.write_str("unknown probe"),
        }
    }
}

const NAMES: [(i32, &str); 44] = [
    (libc::EPERM, "EPERM"),
    (libc::ENOENT, "ENOENT"),
    (libc::ESRCH, "ESRCH"),
    (libc::EIO, "EIO"),
    (libc::ENXIO, "ENXIO"),
    (libc::E2BIG, "E2BIG"),
    (libc::ENOEXEC, "ENOEXEC"),
    (libc::EBADF, "EBADF"),
    (libc::ECHILD, "ECHILD"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EACCES, "EACCES"),
    (libc::EFAULT, "EFAULT"),
    (libc::ENOTBLK, "ENOTBLK"),
    (libc::EBUSY, "EBUSY"),
    (libc::EEXIST, "EEXIST"),
    (libc::EXDEV, "EXDEV"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::EISDIR, "EISDIR"),
    (libc::EINVAL, "EINVAL"),
    (libc::ENFILE, "ENFILE"),
    (libc::EMFILE, "EMFILE"),
    (libc::ENOTTY, "ENOTTY"),
    (libc::EFBIG, "EFBIG"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EROFS, "EROFS"),
    (libc::EMLINK, "EMLINK"),
    (libc::ERANGE, "ERANGE"),
    (libc::ENAMETOOLONG, "ENAMETOOLONG"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::ELOOP, "ELOOP"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"),
    (libc::EPROTONOSUPPORT, "EPROTONOSUPPORT"),
    (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (libc::ENETUNREACH, "ENETUNREACH"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    (libc::ECONNREFUSED, "ECONNREFUSED"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::ENOKEY, "ENOKEY"),
    (libc::ENOPROTOOPT, "ENOPROTOOPT"),
];

/// The name that manuals give an error.
pub(crate) fn name(error: &io::Error) -> String {
    let Some(number) = error.raw_os_error() else { return error.to_string() };
    let found = NAMES.iter().find(|(known, _)| *known == number);
    found.map_or_else(|| format!("E#{number}"), |(_, name)| (*name).to_owned())
}
