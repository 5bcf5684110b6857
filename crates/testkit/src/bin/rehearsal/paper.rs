//! What the story is written on: lines on stdout, with colour where a person sees it.
//!
//! A write that fails is an error like any other, so that `| head` ends the story instead of breaking
//! it. Colour only repeats what the words say.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use contracts::clock::{Clock as _, SystemClock};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Used,
    Unused,
}

#[derive(Debug)]
pub(crate) struct Paper {
    out: io::Stdout,
    colour: Colour,
    /// The scripted outside answers at once; a reader needs a moment for each line.
    pace: Duration,
}

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ink {
    Plain,
    Heading,
    Quiet,
    Good,
    Bad,
    Person,
}

impl Paper {
    pub(crate) fn new(colour: Colour) -> Self {
        let pace =
            if io::stdout().is_terminal() { Duration::from_millis(140) } else { Duration::ZERO };
        Self { out: io::stdout(), colour, pace }
    }

    pub(crate) fn line(&self, line: impl fmt::Display) -> io::Result<()> {
        writeln!(self.out.lock(), "{line}")
    }

    pub(crate) fn heading(&self, title: &str) -> io::Result<()> {
        self.line(format_args!("\n{}", self.ink(Ink::Heading, title)))
    }

    /// Words before an answer is typed, without ending the line.
    pub(crate) fn prompt(&self, words: &str) -> io::Result<()> {
        let mut out = self.out.lock();
        write!(out, "{} ", self.ink(Ink::Person, words))?;
        out.flush()
    }

    pub(crate) fn ink(&self, ink: Ink, text: impl fmt::Display) -> String {
        let code = match ink {
            Ink::Plain => return text.to_string(),
            Ink::Heading => "1",
            Ink::Quiet => "2",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Person => "36",
        };
        match self.colour {
            Colour::Used => format!("\x1b[{code}m{text}\x1b[0m"),
            Colour::Unused => text.to_string(),
        }
    }

    /// Lets the reader read.
    pub(crate) async fn breathe(&self) {
        SystemClock.sleep_until(SystemClock.now() + self.pace).await;
    }
}
