//! Reads a value: from a file, or from standard input without showing it.

use std::{
    io::{self, IsTerminal as _, Read as _, Write},
    path::Path,
};

use anyhow::{Context as _, anyhow};
use config::text_file;
use rustix::{
    stdio::stdin,
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};
use terminal::report::Hint;

/// Longer than any value that a server takes.
const MOST: u64 = 1 << 20;

pub(super) fn read(file: Option<&Path>, err: &mut impl Write) -> anyhow::Result<String> {
    let text = match file {
        Some(path) => text_file::read(path).map_err(|error| {
            let what = format!("cannot read the value from `{}`: {error}", path.display());
            anyhow!(Hint::new(what, error.help()))
        })?,
        None => typed(err)?,
    };
    Ok(without_last_break(text))
}

/// Editors and `echo` put a line break at the end, which is not part of the value.
fn without_last_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn typed(err: &mut impl Write) -> anyhow::Result<String> {
    let mut text = String::new();
    if !io::stdin().is_terminal() {
        let read = io::stdin().take(MOST).read_to_string(&mut text);
        read.context("cannot read the value from standard input")?;
        return Ok(text);
    }
    write!(err, "Value (not shown): ")?;
    err.flush()?;
    let silence = Silence::begin()?;
    let read = io::stdin().read_line(&mut text);
    drop(silence);
    writeln!(err)?;
    read.context("cannot read the value from the terminal")?;
    Ok(text)
}

/// A terminal that does not show what is typed, until this is dropped.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> anyhow::Result<Self> {
        let before = tcgetattr(stdin()).context("cannot ask how the terminal is set")?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        let set = tcsetattr(stdin(), OptionalActions::Flush, &silent);
        set.context("cannot keep the terminal from showing the value")?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that is gone needs no setting.
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_break_at_the_end_is_not_part_of_a_value() {
        let read = |text: &str| without_last_break(text.to_owned());
        assert_eq!(read("value\n"), "value");
        assert_eq!(read("value\r\n"), "value");
        assert_eq!(read("value\n\n"), "value\n");
        assert_eq!(read("value "), "value ");
    }
}
