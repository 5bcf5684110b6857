//! What is in a file that is new or different.

use contracts::compiled::compiled;

use super::{
    FlagKind, Inspector, KnownSecrets, Mode, Reason, Touched, links, packages, scripts,
    secrets::{self, Certainty},
};
use crate::shown;

/// Enough for a person to see what it is about.
const MOST_OF_A_FILE: usize = 10;

impl<S: KnownSecrets + ?Sized> Inspector<'_, S> {
    /// Looks at a new content, beside the old one: what was there before is nobody's news.
    pub fn content(&mut self, touched: &Touched, old: Option<&[u8]>, new: &[u8]) {
        let path = touched.path.as_slice();
        let Some(after) = &touched.after else { return };
        match after.mode {
            Mode::Symlink => {
                let text = String::from_utf8_lossy(path);
                if !links::stays_inside(&text, new) {
                    self.refuse(path, Reason::LinkOut);
                }
            }
            Mode::File | Mode::Executable | Mode::Other(_) | Mode::Submodule => {}
        }
        if let Some(what) = compiled(&String::from_utf8_lossy(path), new) {
            self.flag(path, FlagKind::Compiled { what });
        }
        if self.known.is_in(new) {
            self.refuse(path, Reason::KnownSecret);
        }
        for found in secrets::find_new(old, new).into_iter().take(MOST_OF_A_FILE) {
            let (line, kind) = (found.line, found.kind);
            match kind.certainty() {
                Certainty::Known => self.refuse(path, Reason::Secret { line, kind }),
                Certainty::Likely => self.flag(path, FlagKind::LikeSecret { line, kind }),
            }
        }
        if scripts::is_package(path) {
            for script in scripts::changed(old, new).into_iter().take(MOST_OF_A_FILE) {
                let script = shown::line(script.as_bytes(), 80);
                self.flag(path, FlagKind::LifecycleScript { script });
            }
        }
        if let Some(text) = packages::told(path, old, new) {
            self.flag(path, FlagKind::Packages { text });
        }
        if let Some(line) = first_that_turns(new)
            && old.and_then(first_that_turns).is_none()
        {
            self.flag(path, FlagKind::Deceives { line });
        }
    }
}

/// The first line with a character that turns text around, so that it reads otherwise than it runs.
fn first_that_turns(text: &[u8]) -> Option<usize> {
    // All of them are U+202A to U+202E and U+2066 to U+2069: three bytes each.
    let turns =
        |three: &[u8]| matches!(three, [0xe2, 0x80, 0xaa..=0xae] | [0xe2, 0x81, 0xa6..=0xa9]);
    let at = text.windows(3).position(turns)?;
    Some(secrets::line_of(text, at))
}
