//! Keys that are pressed while a task works and nothing is asked: `q` leaves.
//!
//! **Invariant:** the terminal is given back as it was, before anybody is asked and when this is dropped. Nothing of what is typed
//! meanwhile is shown, for it would stand in the status that moves, and nothing of it answers a question that comes later.

use std::io::IsTerminal as _;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    stdio::stdin,
    termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetpgrp, tcsetattr,
    },
};

/// What Ctrl-D sends where the terminal gathers no lines.
const END: u8 = 4;

/// Whether whoever watches wants to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    Leave,
    Nothing,
}

/// Our terminal while it is listened to.
#[derive(Default)]
pub(super) struct Keys {
    before: Option<Termios>,
}

impl Keys {
    /// Begins to listen, where there is a terminal that is ours. Who was put into the background does not touch it: that would stop us.
    pub(super) fn listen(&mut self) {
        if self.before.is_some() || !is_ours() {
            return;
        }
        let Ok(before) = tcgetattr(stdin()) else { return };
        let mut quiet = before.clone();
        // Ctrl-C stays what it is.
        quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(stdin(), OptionalActions::Now, &quiet).is_ok() {
            self.before = Some(before);
        }
    }

    /// Gives the terminal back, without what was typed meanwhile.
    pub(super) fn rest(&mut self) {
        let Some(before) = self.before.take() else { return };
        if is_ours() {
            // A terminal that is gone needs no setting.
            let _gone = tcflush(stdin(), QueueSelector::IFlush);
            let _gone = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }

    /// What was pressed since somebody looked last. Never waits.
    pub(super) fn pressed(&self) -> Pressed {
        if self.before.is_none() || !is_ours() {
            return Pressed::Nothing;
        }
        let input = stdin();
        let mut ready = [PollFd::new(&input, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if !matches!(poll(&mut ready, Some(&at_once)), Ok(count) if count > 0) {
            return Pressed::Nothing;
        }
        let mut keys = [0; 64];
        match rustix::io::read(input, &mut keys) {
            Ok(length) => meant(keys.get(..length).unwrap_or_default()),
            Err(_gone) => Pressed::Nothing,
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.rest();
    }
}

fn is_ours() -> bool {
    std::io::stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// An arrow or another key of several bytes begins with an escape, and none of its letters was meant.
fn meant(keys: &[u8]) -> Pressed {
    let is_plain = keys.first().is_some_and(|first| *first != b'\x1b');
    if is_plain && keys.iter().any(|key| matches!(*key, b'q' | b'Q' | END)) {
        return Pressed::Leave;
    }
    Pressed::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_key_leaves() {
        for leaves in ["q", "Q", "xq", "\u{4}"] {
            assert_eq!(meant(leaves.as_bytes()), Pressed::Leave, "{leaves:?}");
        }
        for stays in ["", "a", "\n", "\u{1b}[A", "\u{1b}q"] {
            assert_eq!(meant(stays.as_bytes()), Pressed::Nothing, "{stays:?}");
        }
    }
}
