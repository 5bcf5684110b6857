//! One run of one check, as it is kept: how it ended, and what it printed.

use feedback::{Exit, Format, location::Workspace, verdict};
use serde::{Deserialize, Serialize};

/// Bytes of the end of a check's output that people are shown.
const LOG: usize = 16 * 1024;

/// Kept, so that what was read in it can be read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Captured {
    pub(crate) command: String,
    pub(crate) ending: Ending,
    #[serde(with = "text")]
    pub(crate) stdout: Vec<u8>,
    #[serde(with = "text")]
    pub(crate) stderr: Vec<u8>,
    /// What the check wrote into its report.
    pub(crate) report: Option<String>,
    pub(crate) millis: u64,
    pub(crate) place: Place,
}

/// Where it ran: tools print it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Where the repository was, inside.
    pub(crate) root: String,
    pub(crate) directory: String,
    pub(crate) go_module: Option<String>,
}

impl Place {
    /// The directory, as the sandbox knows it.
    pub(crate) fn inside(&self) -> String {
        match self.directory.as_str() {
            "." => self.root.clone(),
            below => format!("{}/{below}", self.root),
        }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        let workspace = Workspace::at(&self.root).with_directory(&self.directory);
        match &self.go_module {
            Some(module) => workspace.with_go_module(module),
            None => workspace,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    Exited(i32),
    Killed(i32),
    TimedOut,
    OutOfMemory,
}

/// Output is text, nearly always; what is not is replaced, as every reader does.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        Ok(String::deserialize(deserializer)?.into_bytes())
    }
}

impl Captured {
    /// What is to be judged.
    pub(crate) fn run(&self) -> verdict::Run {
        let exit = match self.ending {
            Ending::Exited(code) => Exit::Code(code),
            Ending::Killed(signal) => Exit::Signal(signal),
            Ending::TimedOut | Ending::OutOfMemory => Exit::TimedOut,
        };
        let workspace = self.place.workspace();
        let said = feedback::Run {
            command: &self.command,
            exit,
            stdout: &self.stdout,
            stderr: &self.stderr,
        };
        let mut report = feedback::read(&said, &workspace);
        if let Some(written) = &self.report {
            report.join(feedback::parse(Format::Documents, written.as_bytes(), &workspace));
        }
        let ended = match self.ending {
            Ending::OutOfMemory => verdict::Ended::OutOfMemory,
            Ending::Exited(_) | Ending::Killed(_) | Ending::TimedOut => exit.into(),
        };
        verdict::Run { ended, report }
    }

    /// The end of what it printed, for people.
    pub(crate) fn log(&self) -> String {
        log(&self.stdout, &self.stderr)
    }
}

/// The end of both streams, the errors last.
pub(crate) fn log(stdout: &[u8], stderr: &[u8]) -> String {
    let end = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let start = text.len().saturating_sub(LOG / 2);
        let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.get(start..).unwrap_or_default().to_owned()
    };
    let (out, error) = (end(stdout), end(stderr));
    if error.is_empty() { out } else { format!("{out}\n{error}") }
}
