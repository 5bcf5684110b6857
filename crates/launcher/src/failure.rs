//! Which wall could not be built, and why.

use std::io;

use launcher::plan::Failure;
use rustix::io::Errno;

/// Names the step that an error of the system belongs to.
pub(crate) trait Step<T> {
    fn step(self, step: &str) -> Result<T, Failure>;

    /// Names the thing that it was about, too.
    fn step_on(self, step: &str, what: &str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &str) -> Result<T, Failure> {
        self.map_err(|error| failure(step, &error.into()))
    }

    fn step_on(self, step: &str, what: &str) -> Result<T, Failure> {
        self.map_err(|error| {
            let Failure { step, errno, reason } = failure(step, &error.into());
            Failure { step, errno, reason: format!("{what}: {reason}") }
        })
    }
}

/// A wall that cannot be built for a reason of our own.
pub(crate) fn refused(step: &str, reason: impl Into<String>) -> Failure {
    Failure { step: step.to_owned(), errno: Errno::INVAL.raw_os_error(), reason: reason.into() }
}

fn failure(step: &str, error: &io::Error) -> Failure {
    Failure {
        step: step.to_owned(),
        errno: error.raw_os_error().unwrap_or_else(|| Errno::IO.raw_os_error()),
        reason: error.to_string(),
    }
}
