//! Checks that keep their name and run something else: `make test` that prints what a test suite would have printed.
//!
//! The command of a check is that of the base commit, but what stands behind it is the change's. Nobody can tell by the output of such a run
//! whether anything was tested, so whoever reviews is told that it was rewritten.

use super::{
    Found, Weakened, Weakening,
    commands::{tolerant, without_marks},
    files::Change,
};
use crate::checks::{goes_before_another, recipes};

/// Bytes of a line that are told.
const TOLD: usize = 200;

pub(super) fn compare(change: &Change<'_>, found: &mut Found) {
    let Some(new) = &change.new else { return };
    // Only the same alarm is not raised twice: any other one of this file may be there to hide it.
    let is_told = found.weakened.iter().any(|it| match it.kind {
        Weakening::CheckChanged | Weakening::CheckRemoved => it.file.as_str() == new.path,
        Weakening::FileDeleted
        | Weakening::TestDeleted
        | Weakening::TestSkipped
        | Weakening::OthersSkipped
        | Weakening::ExpectedToFail
        | Weakening::AssertionsRemoved
        | Weakening::AlwaysTrue
        | Weakening::Loosened
        | Weakening::CommandTolerant
        | Weakening::RunnerTouched
        | Weakening::NotSource
        | Weakening::ThresholdLowered
        | Weakening::SnapshotRewritten
        | Weakening::Unread
        | Weakening::GoneFromRun
        | Weakening::SkippedInRun => false,
    });
    if is_told {
        return;
    }
    let after = recipes(new.path, new.text);
    let Some(old) = &change.old else {
        // A file of this name goes before the usual one, which may still stand there, unchanged.
        if let Some(command) = after.keys().next().filter(|_| goes_before_another(new.path)) {
            let what = format!("`{command}` is that of this new file");
            found.add(Weakened::new(Weakening::CheckChanged, new.path, None, &what));
        }
        return;
    };
    let before = recipes(old.path, old.text);
    let lost = before.iter().filter_map(|(command, lines)| {
        // What is gone altogether is told as that.
        let now = after.get(command)?;
        let runs = |now: &String, line: &String| runs(now, line) || tolerates(now, line, new.path);
        let lost = lines.iter().find(|line| !now.iter().any(|it| runs(it, line)))?;
        Some(format!("`{command}` no longer runs `{}`", shortened(&without_marks(lost))))
    });
    let bent = make::bent(old, new).map(|line| format!("`{}` is new", shortened(line)));
    for what in lost.chain(bent.filter(|_| !before.is_empty())) {
        found.add(Weakened::new(Weakening::CheckChanged, new.path, None, &what));
    }
}

/// Whether a line of now still runs what a line of before ran, first of all and with nothing behind it that hides how it ended.
fn runs(now: &str, before: &str) -> bool {
    let (said, was) = (words(without_comment(now)), words(before));
    if said == was {
        return true;
    }
    let was = without_marks(&was);
    let Some(rest) = plain(&said).strip_prefix(plain(&was)) else { return false };
    rest.is_empty() || (rest.starts_with(' ') && !hides_its_end(rest))
}

/// Whether it is the same command, whose failure is not noticed any more: that is told, with a better word for it.
fn tolerates(now: &str, before: &str, path: &str) -> bool {
    tolerant(now, path).is_some()
        && without_marks(plain(&words(without_comment(now)))) == without_marks(plain(before))
}

/// Without what make is told about a line.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['@', '+', ' '])
}

fn hides_its_end(rest: &str) -> bool {
    rest.replace("&&", " ").contains(['|', ';', '&'])
}

/// A `#` behind a space begins a comment, unless it is in quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => return line.get(..at).unwrap_or(line),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None | Some(_), _) => {}
        }
        before = letter;
    }
    line
}

/// What make is told besides recipes, and makes the same recipes do something else: which shell runs them, whether failures count.
mod make {
    use super::super::files::Side;

    const WORDS: &[&str] = &[
        "SHELL",
        ".SHELLFLAGS",
        ".ONESHELL",
        ".IGNORE",
        "MAKEFLAGS",
        "GNUMAKEFLAGS",
        "include",
        "PATH",
    ];

    /// Lines of that kind that were not there.
    pub(super) fn bent<'a>(old: &Side<'_>, new: &Side<'a>) -> impl Iterator<Item = &'a str> {
        let is_make = new.path.to_ascii_lowercase().ends_with("makefile");
        let known: Vec<&str> = old.text.lines().map(str::trim).collect();
        let lines = new.text.lines().filter(move |line| is_make && !line.starts_with(['\t', '#']));
        lines.map(str::trim).filter(move |line| says(line) && !known.contains(line))
    }

    fn says(line: &str) -> bool {
        let word =
            |letter: char| !(letter.is_ascii_alphanumeric() || letter == '.' || letter == '_');
        line.split(word).any(|word| WORDS.contains(&word))
    }
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(line: &str) -> &str {
    line.get(..line.floor_char_boundary(TOLD)).unwrap_or_default()
}
