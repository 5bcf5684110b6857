//! Our terminal, handed over: keys go to the command as they are pressed. Given back when this is dropped.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use rustix::{
    stdio::stdin,
    termios::{OptionalActions, Termios, tcgetattr, tcsetattr},
};

pub(super) struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Nothing, if our input is not a terminal.
    pub(super) fn enter() -> anyhow::Result<Option<Self>> {
        if !std::io::stdin().is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(stdin()).context("cannot ask how the terminal is set")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).context("cannot set the terminal")?;
        Ok(Some(Self { before }))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no setting.
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
