//! The last line of a terminal while something is waited for: drawn again and again, gone before anything else is printed.

use std::io::{self, Write};

use super::words;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

#[derive(Debug, Default)]
pub(crate) struct Screen {
    is_drawn: bool,
    frame: usize,
}

impl Screen {
    /// Draws `status`, on the line that it had before.
    pub(crate) fn draw(
        &mut self,
        status: &str,
        columns: usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let frame = FRAMES.iter().cycle().nth(self.frame % FRAMES.len()).unwrap_or(&"");
        self.frame = self.frame.wrapping_add(1);
        // One column stays free: a line that is full goes on to the next, and could not be wiped.
        let status = words::cut(status, columns.saturating_sub(3));
        write!(out, "\r\u{1b}[2K{frame} {status}")?;
        self.is_drawn = true;
        out.flush()
    }

    /// Makes room for something that stays.
    pub(crate) fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !std::mem::take(&mut self.is_drawn) {
            return Ok(());
        }
        write!(out, "\r\u{1b}[2K")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_wiped_before_anything_else_is_printed() {
        let (mut screen, mut out) = (Screen::default(), Vec::new());
        screen.clear(&mut out).unwrap();
        assert!(out.is_empty());
        screen.draw("researching for a long time", 20, &mut out).unwrap();
        screen.draw("planning", 20, &mut out).unwrap();
        screen.clear(&mut out).unwrap();
        let drawn = String::from_utf8(out).unwrap();
        assert_eq!(drawn, "\r\u{1b}[2K⠋ researching for …\r\u{1b}[2K⠙ planning\r\u{1b}[2K");
    }
}
