//! Counts what is read from a hostile archive, and stops it.
//!
//! Names and headers are held in memory, so that between two entries only so much may be read; content goes to the disk
//! and counts against the whole. The reader is inside the tar's parser, hence the shared counters.

use std::{
    cell::Cell,
    io::{self, Read},
};

use super::BaseError;

/// The most that the headers of one entry may be.
pub(super) const HEADERS: u64 = 1 << 20;

pub(super) struct Meter {
    most: u64,
    left: Cell<u64>,
    headers_left: Cell<u64>,
    exceeded: Cell<Option<&'static str>>,
}

impl Meter {
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            left: Cell::new(most),
            headers_left: Cell::new(HEADERS),
            exceeded: Cell::new(None),
        }
    }

    pub(super) fn expect_headers(&self) {
        self.headers_left.set(HEADERS);
    }

    pub(super) fn expect_content(&self) {
        self.headers_left.set(u64::MAX);
    }

    /// An error while reading and writing is ours if a limit was passed, the host's if the kernel said so, and
    /// otherwise the archive's.
    pub(super) fn refusal(&self, error: &io::Error, doing: &str) -> BaseError {
        match (self.exceeded.get(), error.raw_os_error()) {
            (Some("headers"), _) => {
                BaseError::refused(format!("the archive has headers of more than {HEADERS} bytes"))
            }
            (Some(_), _) => BaseError::refused(format!(
                "the archive is larger than {} bytes unpacked",
                self.most
            )),
            (None, Some(errno)) => BaseError::Host {
                doing: doing.to_owned(),
                source: io::Error::from_raw_os_error(errno),
            },
            (None, None) => BaseError::refused(format!("{doing}: {}", BaseError::shown(error))),
        }
    }

    fn stop(&self, limit: &'static str) -> io::Error {
        self.exceeded.set(Some(limit));
        io::Error::other("a limit was passed")
    }
}

pub(super) struct Metered<'m, R> {
    inner: R,
    meter: &'m Meter,
}

impl<'m, R> Metered<'m, R> {
    pub(super) fn new(inner: R, meter: &'m Meter) -> Self {
        Self { inner, meter }
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let counted = u64::try_from(count).unwrap_or(u64::MAX);
        let meter = self.meter;
        let left = meter.left.get().checked_sub(counted).ok_or_else(|| meter.stop("bytes"))?;
        meter.left.set(left);
        let headers = meter.headers_left.get();
        let headers = headers.checked_sub(counted).ok_or_else(|| meter.stop("headers"))?;
        meter.headers_left.set(headers);
        Ok(count)
    }
}
