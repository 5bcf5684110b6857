//! Turns refusals of a server into errors for people.

use anyhow::anyhow;
use wire::{client::ClientError, error::Problem};

use crate::{clean::Cleaner, colors::Stream, report::Hint};

/// An answer, or an error that says what to do.
pub trait Explained<T> {
    fn explained(self) -> anyhow::Result<T>;
}

impl<T> Explained<T> for Result<T, ClientError> {
    fn explained(self) -> anyhow::Result<T> {
        self.map_err(explain)
    }
}

pub fn explain(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::NoServer { at, source } => {
            let what = format!("no server answers at `{at}`");
            let hint = "start one with `lamp up`, or name another with `--server`";
            anyhow::Error::from(source).context(Hint::new(what, hint))
        }
        ClientError::Refused(problem) => refused(problem),
        ClientError::Broken { .. } | ClientError::Strange { .. } => anyhow::Error::from(error),
    }
}

/// What the server said stays what it is, so that programs are told its code; a log is one more cause.
pub fn refused(mut problem: Problem) -> anyhow::Error {
    problem.message = harmless(&problem.message);
    problem.help = problem.help.as_deref().map(harmless);
    let log = problem.log.take().map(|log| harmless(&log));
    match log.filter(|log| !log.trim().is_empty()) {
        None => anyhow::Error::new(problem),
        Some(log) => anyhow!("its log ends so:\n{}", log.trim_end()).context(problem),
    }
}

/// Names and logs come from inside, and errors go to terminals.
fn harmless(text: &str) -> String {
    let cleaned = Cleaner::of(Stream::Terminal).clean(text.as_bytes()).into_owned();
    String::from_utf8(cleaned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use wire::error::Code;

    use super::*;

    #[test]
    fn what_a_server_passes_on_cannot_speak_to_the_terminal() {
        let mut problem = Problem::new(Code::SetupFailed, "no \u{1b}]0;title\u{7}");
        problem.log = Some("\u{1b}[2Jlast words\n".to_owned());
        let error = format!("{:?}", refused(problem));
        assert!(!error.contains('\u{1b}') && error.contains("last words"), "{error}");
    }
}
