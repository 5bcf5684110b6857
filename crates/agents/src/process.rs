//! Speaking with a process in its program's language, and seeing it go.

use std::time::Duration;

use contracts::sandbox::{Finished, SandboxError};

use crate::{
    driver::{self, Fault, Step, Talk},
    pipe::{Next, Pipe},
    program::Speech,
};

/// How long a program that has answered may take to go by itself.
const GRACE: Duration = Duration::from_secs(2);

/// How long one that has failed may take, which often says why while it goes.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// `None`: it has said all, and its answer is elsewhere.
pub(crate) async fn converse(talk: &mut Talk<'_>, speech: Speech) -> Result<Option<Step>, Fault> {
    match speech {
        Speech::Acp => driver::acp::converse(talk).await.map(|it| Some(Step::Answered(it))),
        Speech::ClaudeStream => {
            driver::claude::converse(talk).await.map(|it| Some(Step::Answered(it)))
        }
        Speech::Lines(lines) => driver::lines::converse(talk, lines).await.map(Some),
        Speech::Plain => driver::plain::converse(talk).await.map(|()| None),
    }
}

/// How long a program may take to go, after this.
pub(crate) const fn grace(fault: Option<&Fault>) -> Duration {
    match fault {
        None => GRACE,
        Some(
            Fault::Ended
            | Fault::Failed { .. }
            | Fault::Refused
            | Fault::CutShort(_)
            | Fault::Protocol(_)
            | Fault::Unusable(_),
        ) => LAST_WORDS,
        // It has been waited for, or it says too much.
        Some(Fault::Silent(_) | Fault::Unheard(_)) => Duration::ZERO,
    }
}

/// Waits for the end of a program, and takes what it still says.
pub(crate) async fn drained(
    pipe: &mut Pipe,
    running: impl Future<Output = Result<Finished, SandboxError>>,
) -> Result<Finished, SandboxError> {
    let mut running = std::pin::pin!(running);
    loop {
        tokio::select! {
            finished = &mut running => return finished,
            next = pipe.next(GRACE) => match next {
                Ok(Next::Line(_) | Next::Pause) => {}
                Ok(Next::End) | Err(_) => return running.await,
            },
        }
    }
}
