//! Runs a program that should answer at once, and ends it if it does not.

use std::{
    io,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

const LIMIT: Duration = Duration::from_secs(5);

/// What the program printed. One that prints more than a pipe holds does not
/// end, and is treated like one that hangs.
pub(crate) fn run(command: &mut Command) -> io::Result<Output> {
    run_within(LIMIT, command)
}

fn run_within(limit: Duration, command: &mut Command) -> io::Result<Output> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Err(error) = wait(&child, limit) {
        // It may have ended by itself in the meantime; then there is nothing to end.
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    child.wait_with_output()
}

/// Waits until the child has ended, but not longer than `limit`.
fn wait(child: &Child, limit: Duration) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let mut ends = [PollFd::new(&ended, PollFlags::IN)];
    let timeout = Timespec::try_from(limit).map_err(io::Error::other)?;
    if poll(&mut ends, Some(&timeout))? == 0 {
        return Err(io::Error::other(format!("it was still running after {limit:?}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_answers_is_heard() {
        let output = run(Command::new("echo").arg("hi")).unwrap();
        assert_eq!(output.stdout, b"hi\n");
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let error = run_within(Duration::from_millis(20), Command::new("sleep").arg("600"));
        assert_eq!(error.unwrap_err().to_string(), "it was still running after 20ms");
    }
}
