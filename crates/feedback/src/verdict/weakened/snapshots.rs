//! Snapshots that were rewritten: what was expected is now whatever came out.

use std::collections::BTreeMap;

use super::{super::table::counted, Found, Weakened, Weakening, files::Change};

pub(super) fn compare(change: &Change<'_>, found: &mut Found) {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return };
    if !is_snapshot(new.path) {
        return;
    }
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in expected(new.text) {
        *known.entry(line).or_default() += 1;
    }
    let mut lost = 0_usize;
    for line in expected(old.text) {
        match known.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => lost += 1,
        }
    }
    // A file that only grew has the results of new tests.
    if lost > 0 {
        let what = format!("{} of what was expected, not expected any more", counted(lost, "line"));
        found.add(Weakened::new(Weakening::SnapshotRewritten, new.path, None, &what));
    }
}

/// Without what only says where the snapshot comes from.
fn expected(text: &str) -> impl Iterator<Item = &str> {
    const HEADER: &[&str] =
        &["source:", "expression:", "assertion_line:", "snapshot_kind:", "---", "description:"];
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !HEADER.iter().any(|start| line.starts_with(start)))
}

fn is_snapshot(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_in = |directory: &str| path.split('/').rev().skip(1).any(|word| word == directory);
    let endings = [".snap", ".ambr", ".golden", ".approved.txt"];
    endings.iter().any(|ending| name.ends_with(ending))
        || is_in("__snapshots__")
        || is_in("__file_snapshots__")
}
