//! Which lines a change wrote, from a unified difference as git prints it.

use std::collections::{BTreeMap, BTreeSet};

use crate::location::{Workspace, WorkspacePath};

/// Of a longer difference only the beginning is read.
pub const DIFF_BYTES: usize = 32 * 1024 * 1024;
const FILES_LIMIT: usize = 20_000;

/// The added lines of each file, by their numbers in the new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedLines(pub BTreeMap<WorkspacePath, BTreeSet<u32>>);

impl ChangedLines {
    /// Reads what it understands. Inside a hunk nothing is taken for a header, whatever it looks like: the hunk says how long it is.
    pub fn of_diff(diff: &str) -> Self {
        let workspace = Workspace::at("/");
        let mut changed = Self::default();
        let mut file: Option<WorkspacePath> = None;
        let mut hunk = Hunk::default();
        let mut read = 0_usize;
        for line in diff.lines() {
            read = read.saturating_add(line.len() + 1);
            if read > DIFF_BYTES {
                break;
            }
            if hunk.is_open() {
                let added = hunk.take(line);
                if let (Some(file), Some(number)) = (&file, added) {
                    changed.0.entry(file.clone()).or_default().insert(number);
                }
            } else if let Some(path) = line.strip_prefix("+++ ") {
                let path = path.split('\t').next().unwrap_or_default();
                // Without the prefix it may be `/dev/null`: the file is gone.
                let path = path.strip_prefix("b/").filter(|_| changed.0.len() < FILES_LIMIT);
                file = path.and_then(|path| workspace.file(path));
            } else if let Some(header) = line.strip_prefix("@@ ") {
                hunk = Hunk::parse(header).unwrap_or_default();
            }
        }
        changed
    }
}

/// What is left of a hunk, and the number of its next line in the new file.
#[derive(Default)]
struct Hunk {
    old_left: u32,
    new_left: u32,
    next: u32,
}

impl Hunk {
    /// `-3,7 +3,9 @@`.
    fn parse(header: &str) -> Option<Self> {
        let mut words = header.split(' ');
        let old = words.next()?.strip_prefix('-')?;
        let new = words.next()?.strip_prefix('+')?;
        let numbers = |text: &str| -> Option<(u32, u32)> {
            let (first, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((first.parse().ok()?, count.parse().ok()?))
        };
        let (_, old_left) = numbers(old)?;
        let (next, new_left) = numbers(new)?;
        Some(Self { old_left, new_left, next })
    }

    fn is_open(&self) -> bool {
        self.old_left > 0 || self.new_left > 0
    }

    /// Takes one line; its number if it was added.
    fn take(&mut self, line: &str) -> Option<u32> {
        let number = self.next;
        match line.chars().next() {
            Some('+') => {
                self.new_left = self.new_left.saturating_sub(1);
                self.next = self.next.saturating_add(1);
                Some(number)
            }
            Some('-') => {
                self.old_left = self.old_left.saturating_sub(1);
                None
            }
            // "No newline at end of file" is no line.
            Some('\\') => None,
            // Some programs write an empty context line without its space.
            Some(_) | None => {
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
                self.next = self.next.saturating_add(1);
                None
            }
        }
    }
}
