//! File operations, done by a child that has become the user: what it may not do, the kernel refuses.
//!
//! Standard input and output are the channel's; a [`Failure`] goes to standard error.

mod below;
mod look;
mod tar_in;
mod tar_out;
mod transfer;
mod watch;

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
};

use guest::protocol::{FileJob, encode};
use rustix::io::Errno;
use serde::Serialize;

/// What a child can say of its failure.
pub(crate) const LONGEST_FAILURE: usize = 4096;

/// What did not work, and what the system said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) errno: i32,
}

pub(crate) fn run(job: &FileJob) -> Result<(), Failure> {
    match job {
        FileJob::Stat { path } => look::stat(path),
        FileJob::List { path } => look::list(path),
        FileJob::Read { path } => transfer::read(path),
        FileJob::Write { path, mode } => transfer::write(path, *mode),
        FileJob::TarOut { path } => tar_out::tar_out(path),
        FileJob::TarIn { path } => tar_in::tar_in(path),
        FileJob::Watch { path } => watch::watch(path),
    }
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, error: &io::Error) -> Self {
        Self { what: what.into(), errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }

    /// A rule of ours, not of the system.
    fn rule(what: impl Into<String>) -> Self {
        Self { what: what.into(), errno: libc::EINVAL }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut what = self.what.as_bytes();
        what = what.get(..LONGEST_FAILURE - size_of::<i32>()).unwrap_or(what);
        [&self.errno.to_le_bytes(), what].concat()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (errno, what) = bytes.split_first_chunk()?;
        Some(Self {
            what: String::from_utf8_lossy(what).into_owned(),
            errno: i32::from_le_bytes(*errno),
        })
    }
}

/// Names what was being done when the system refused.
trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(what(), &error))
    }
}

impl<T> Doing<T> for Result<T, Errno> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|errno| Failure { what: what(), errno: errno.raw_os_error() })
    }
}

/// The channel's input, without a buffer in between.
fn input() -> Result<File, Failure> {
    own(rustix::stdio::stdin())
}

/// The channel's output, without a buffer in between.
fn output() -> Result<File, Failure> {
    own(rustix::stdio::stdout())
}

fn own(fd: BorrowedFd<'_>) -> Result<File, Failure> {
    fd.as_fd().try_clone_to_owned().map(File::from).doing(|| "open the channel".to_owned())
}

/// Sends one message to whoever reads the output.
fn emit(output: &mut impl io::Write, message: &impl Serialize) -> Result<(), Failure> {
    let frame = encode(message).map_err(|error| Failure::rule(error.to_string()))?;
    output.write_all(&frame).doing(|| "write to the channel".to_owned())
}
