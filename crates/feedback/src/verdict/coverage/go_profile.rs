//! Go: `import/path/file.go:12.34,15.2 3 1`, a block with its first and last line, the number of its statements and how often it ran.

use std::collections::BTreeMap;

use super::{Coverage, CoverageError, Hit};
use crate::location::{Workspace, WorkspacePath};

/// No block of code is longer.
const BLOCK_LINES: u32 = 20_000;
/// Lines of all blocks together; blocks lie in one another, so this is more than the lines that are kept.
const STEPS_LIMIT: usize = 10_000_000;

pub(super) fn read(text: &str, workspace: &Workspace) -> Result<Coverage, CoverageError> {
    let mut coverage = Coverage::default();
    // A file has many blocks, and its path is resolved once.
    let mut files: BTreeMap<&str, Option<WorkspacePath>> = BTreeMap::new();
    let mut left = STEPS_LIMIT;
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let block = Block::parse(line).ok_or(CoverageError::Malformed("Go profile"))?;
        let file = files.entry(block.path).or_insert_with(|| {
            let (package, name) = block.path.rsplit_once('/').unwrap_or(("", block.path));
            workspace.go_place(package, name, None).file().cloned()
        });
        let Some(file) = file else { continue };
        for number in block.first..=block.last {
            left = left.checked_sub(1).ok_or(CoverageError::Long)?;
            coverage.add(file, number, block.hit)?;
        }
    }
    Ok(coverage)
}

struct Block<'a> {
    path: &'a str,
    first: u32,
    last: u32,
    hit: Hit,
}

impl<'a> Block<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (path, rest) = line.trim_end().rsplit_once(':')?;
        let mut words = rest.split(' ');
        let (from, to) = words.next()?.split_once(',')?;
        let first: u32 = from.split('.').next()?.parse().ok()?;
        let last: u32 = to.split('.').next()?.parse().ok()?;
        let _statements: u64 = words.next()?.parse().ok()?;
        let count: u64 = words.next()?.parse().ok()?;
        let is_sane = first <= last && last - first <= BLOCK_LINES && words.next().is_none();
        is_sane.then_some(Self { path, first, last, hit: Hit::of_count(count) })
    }
}
