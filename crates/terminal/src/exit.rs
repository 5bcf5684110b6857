//! How the program ends, as a number that scripts can rely on.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// It was refused, it failed, or what was checked is wrong.
    Failed,
    WrongUsage,
    /// Whoever read our output stopped reading. The number is the one that a shell
    /// reports for the many programs that die of SIGPIPE here.
    ReaderGone,
    /// The number of a command in a sandbox, passed on.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::WrongUsage => 2,
            Exit::ReaderGone => 141,
            Exit::Command(code) => code,
        })
    }
}
