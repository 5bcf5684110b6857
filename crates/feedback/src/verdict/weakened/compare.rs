//! Tests on base against tests on head: which are gone, and which ask less?

use std::collections::{BTreeMap, VecDeque};

use super::{
    super::table::counted,
    Found, Weakened, Weakening,
    files::Files,
    languages::Language,
    scan::{Mark, Scope, Test},
};

/// In one file, so many deleted tests are compared with so many new ones to find those that were renamed and changed.
const RENAMED_LIMIT: usize = 50;
const NAMED_LIMIT: usize = 5;

/// A test, and the number of the change that its file belongs to.
#[derive(Clone, Copy)]
struct Here<'a> {
    change: usize,
    path: &'a str,
    test: &'a Test,
}

#[derive(Default)]
struct Same<'a> {
    old: Vec<Here<'a>>,
    new: Vec<Here<'a>>,
}

pub(super) fn tests(files: &Files<'_>, found: &mut Found) {
    let mut by_name: BTreeMap<(Language, Scope, &str), Same<'_>> = BTreeMap::new();
    for (change, file) in files.changes.iter().enumerate() {
        for (side, is_old) in [(&file.old, true), (&file.new, false)] {
            let Some((side, language)) =
                side.as_ref().and_then(|side| Some((side, side.language?)))
            else {
                continue;
            };
            for test in &side.tests {
                let same = by_name.entry((language, test.scope, &test.name)).or_default();
                let list = if is_old { &mut same.old } else { &mut same.new };
                list.push(Here { change, path: side.path, test });
            }
        }
    }
    let (mut deleted, mut added) = (Vec::new(), Vec::new());
    for ((_, scope, _), same) in by_name {
        let (gone, new) = pair(same, found);
        match scope {
            Scope::Test => {
                deleted.extend(gone);
                added.extend(new);
            }
            Scope::Group => new.iter().for_each(|group| look_at_group(files, *group, found)),
        }
    }
    let (deleted, added) = renamed(deleted, added, found);
    for test in &added {
        look_at_new(*test, found);
    }
    report_deleted(files, &deleted, found);
}

/// Compares tests of one name, those of one file with each other first. Tells which are left over.
fn pair<'a>(same: Same<'a>, found: &mut Found) -> (Vec<Here<'a>>, Vec<Here<'a>>) {
    let mut files: BTreeMap<usize, Same<'a>> = BTreeMap::new();
    for old in same.old {
        files.entry(old.change).or_default().old.push(old);
    }
    for new in same.new {
        files.entry(new.change).or_default().new.push(new);
    }
    let mut elsewhere = Same::default();
    for file in files.into_values() {
        let mut rest = without_unchanged(file);
        let is_clear = rest.old.len() == 1 && rest.new.len() == 1;
        let pairs = rest.old.len().min(rest.new.len());
        for (old, new) in rest.old.drain(..pairs).zip(rest.new.drain(..pairs)) {
            compare_marks(old, new, found);
            // Of several tests of one name in one file, it is not known which is which.
            if is_clear {
                compare_questions(old, new, found);
            }
        }
        elsewhere.old.append(&mut rest.old);
        elsewhere.new.append(&mut rest.new);
    }
    let mut rest = without_unchanged(elsewhere);
    let pairs = rest.old.len().min(rest.new.len());
    for (old, new) in rest.old.drain(..pairs).zip(rest.new.drain(..pairs)) {
        compare(old, new, found);
    }
    (rest.old, rest.new)
}

/// Tests of one name whose lines and marks are the same are the same test, wherever it stands.
fn without_unchanged<'a>(same: Same<'a>) -> Same<'a> {
    let mut known: BTreeMap<(&'a [u64], Mark), Vec<Here<'a>>> = BTreeMap::new();
    // The first is taken first.
    for new in same.new.into_iter().rev() {
        known.entry((&new.test.measure.lines, new.test.mark)).or_default().push(new);
    }
    let mut old = Vec::new();
    for test in same.old {
        let again = known.get_mut(&(test.test.measure.lines.as_slice(), test.test.mark));
        if again.and_then(Vec::pop).is_none() {
            old.push(test);
        }
    }
    let mut new: Vec<Here<'a>> = known.into_values().flatten().collect();
    new.sort_by_key(|test| (test.change, test.test.line));
    Same { old, new }
}

fn compare(old: Here<'_>, new: Here<'_>, found: &mut Found) {
    compare_marks(old, new, found);
    compare_questions(old, new, found);
}

/// Is it kept from counting?
fn compare_marks(old: Here<'_>, new: Here<'_>, found: &mut Found) {
    let name = &new.test.name;
    let marked = match new.test.mark {
        Mark::Runs => None,
        Mark::SkippedSometimes => {
            Some((Weakening::TestSkipped, format!("`{name}` is skipped under a condition")))
        }
        Mark::Skipped => Some((Weakening::TestSkipped, format!("`{name}` is skipped"))),
        Mark::MayFail => Some((Weakening::ExpectedToFail, format!("`{name}` is expected to fail"))),
        Mark::Only => Some((Weakening::OthersSkipped, format!("only `{name}` is run"))),
    };
    if let Some((kind, what)) = marked.filter(|_| new.test.mark > old.test.mark) {
        found.add(Weakened::new(kind, new.path, Some(new.test.line), &what));
    }
}

/// Does it ask less?
fn compare_questions(old: Here<'_>, new: Here<'_>, found: &mut Found) {
    let mut add =
        |kind, line, what: String| found.add(Weakened::new(kind, new.path, Some(line), &what));
    let (before, now) = (&old.test.measure, &new.test.measure);
    let name = &new.test.name;
    if !(before.is_known && now.is_known) {
        return;
    }
    if now.assertions < before.assertions {
        let what = format!(
            "`{name}` has {}, and had {}",
            counted(now.assertions, "assertion"),
            before.assertions
        );
        add(Weakening::AssertionsRemoved, new.test.line, what);
    } else if now.loose > before.loose && now.assertions == before.assertions {
        add(
            Weakening::Loosened,
            new.test.line,
            format!("`{name}` asks only whether there is something"),
        );
    }
    if now.always_true.len() > before.always_true.len()
        && let Some(line) = now.always_true.last()
    {
        add(Weakening::AlwaysTrue, *line, format!("`{name}` asserts what is always true"));
    }
}

/// A test that is new, but keeps others from running or can only pass.
fn look_at_new(new: Here<'_>, found: &mut Found) {
    let Test { name, line, mark, measure, .. } = new.test;
    if *mark == Mark::Only {
        found.add(Weakened::new(
            Weakening::OthersSkipped,
            new.path,
            Some(*line),
            &format!("only `{name}` is run"),
        ));
    }
    if measure.assertions > 0 && measure.assertions == measure.always_true.len() {
        let what = format!("`{name}` is new and cannot fail");
        found.add(Weakened::new(Weakening::AlwaysTrue, new.path, Some(*line), &what));
    }
}

/// A class, a `describe` or a file that is marked now. Without tests on base there is nothing that it takes away.
fn look_at_group(files: &Files<'_>, group: Here<'_>, found: &mut Found) {
    let old = files.changes.get(group.change).and_then(|change| change.old.as_ref());
    let had_tests = old.is_some_and(|side| side.tests.iter().any(|test| test.scope == Scope::Test));
    let Test { name, line, mark, .. } = group.test;
    let all = format!("all tests of `{name}`");
    let (kind, what) = match mark {
        Mark::Runs => return,
        Mark::Only => (Weakening::OthersSkipped, format!("only `{name}` is run")),
        Mark::MayFail => (Weakening::ExpectedToFail, all),
        Mark::Skipped | Mark::SkippedSometimes => (Weakening::TestSkipped, all),
    };
    if had_tests || *mark == Mark::Only {
        found.add(Weakened::new(kind, group.path, Some(*line), &what));
    }
}

/// Finds deleted tests again under another name: with the same lines anywhere, or with half of them in the same file.
fn renamed<'a>(
    deleted: Vec<Here<'a>>,
    added: Vec<Here<'a>>,
    found: &mut Found,
) -> (Vec<Here<'a>>, Vec<Here<'a>>) {
    let mut by_lines: BTreeMap<&[u64], VecDeque<usize>> = BTreeMap::new();
    for (index, test) in
        added.iter().enumerate().filter(|(_, test)| !test.test.measure.lines.is_empty())
    {
        by_lines.entry(&test.test.measure.lines).or_default().push_back(index);
    }
    let mut taken = vec![false; added.len()];
    let mut take =
        |index: usize| taken.get_mut(index).is_some_and(|taken| !std::mem::replace(taken, true));
    let mut gone = Vec::new();
    for old in deleted {
        let again =
            by_lines.get_mut(old.test.measure.lines.as_slice()).and_then(VecDeque::pop_front);
        match again.and_then(|index| added.get(index).filter(|_| take(index))) {
            Some(new) => compare(old, *new, found),
            None => gone.push(old),
        }
    }
    let mut in_file: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, test) in added.iter().enumerate() {
        in_file.entry(test.change).or_default().push(index);
    }
    let mut tried: BTreeMap<usize, usize> = BTreeMap::new();
    gone.retain(|old| {
        let tried = tried.entry(old.change).or_default();
        *tried += 1;
        if *tried > RENAMED_LIMIT {
            return true;
        }
        let near =
            in_file.get(&old.change).map_or(&[][..], Vec::as_slice).iter().take(RENAMED_LIMIT);
        let alike = near.copied().find(|index| {
            let new = added.get(*index);
            new.is_some_and(|new| are_alike(&old.test.measure.lines, &new.test.measure.lines))
                && take(*index)
        });
        let Some(new) = alike.and_then(|index| added.get(index)) else { return true };
        compare(*old, *new, found);
        false
    });
    let added =
        added.into_iter().zip(taken).filter(|(_, taken)| !taken).map(|(test, _)| test).collect();
    (gone, added)
}

/// At least half of the lines of the larger one are in both.
fn are_alike(old: &[u64], new: &[u64]) -> bool {
    let (mut a, mut b) = (old.iter().peekable(), new.iter().peekable());
    let mut common = 0;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                a.next();
                b.next();
            }
        }
    }
    common > 0 && common * 2 >= old.len().max(new.len())
}

fn report_deleted(files: &Files<'_>, deleted: &[Here<'_>], found: &mut Found) {
    let mut by_change: BTreeMap<usize, Vec<Here<'_>>> = BTreeMap::new();
    for test in deleted {
        by_change.entry(test.change).or_default().push(*test);
    }
    for (change, tests) in by_change {
        let still_there = files.changes.get(change).is_some_and(|change| change.new.is_some());
        if still_there {
            for test in tests {
                let what = format!("`{}` is gone", test.test.name);
                found.add(Weakened::new(
                    Weakening::TestDeleted,
                    test.path,
                    Some(test.test.line),
                    &what,
                ));
            }
            continue;
        }
        let Some(first) = tests.first() else { continue };
        let names: Vec<String> =
            tests.iter().take(NAMED_LIMIT).map(|test| format!("`{}`", test.test.name)).collect();
        let more = tests.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let what =
            format!("{} gone with it: {}{more}", counted(tests.len(), "test"), names.join(", "));
        found.add(Weakened::new(Weakening::FileDeleted, first.path, None, &what));
    }
}
