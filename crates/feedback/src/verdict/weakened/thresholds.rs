//! Numbers below which coverage fails, made smaller or removed.

use std::collections::BTreeMap;

use super::{Found, Weakened, Weakening, files::Change};

const NUMBERS_LIMIT: usize = 1_000;

pub(super) fn compare(change: &Change<'_>, found: &mut Found) {
    let Some(old) = &change.old else { return };
    let keys = keys(old.path);
    if keys.is_empty() {
        return;
    }
    let before = numbers(old.text, keys);
    if before.is_empty() {
        return;
    }
    let (path, text) = change.new.as_ref().map_or((old.path, ""), |new| (new.path, new.text));
    let now = numbers(text, keys);
    for (key, before) in before {
        let now = now.get(key).map_or(&[][..], Vec::as_slice);
        for (index, (old_line, old_number)) in before.iter().enumerate() {
            let (line, what) = match now.get(index) {
                None => (*old_line, format!("`{key}` was {old_number} and is gone")),
                Some((line, number)) if number < old_number => {
                    (*line, format!("`{key}` was {old_number} and is {number}"))
                }
                Some(_) => continue,
            };
            found.add(Weakened::new(Weakening::ThresholdLowered, path, Some(line), &what));
        }
    }
}

/// The keys that mean a threshold in a file of this name.
fn keys(path: &str) -> &'static [&'static str] {
    const ANYWHERE: &[&str] = &[
        "fail_under",
        "fail-under",
        "cov-fail-under",
        "fail-under-lines",
        "fail-under-functions",
        "fail-under-regions",
    ];
    const JAVASCRIPT: &[&str] = &["branches", "functions", "lines", "statements"];
    const CODECOV: &[&str] = &["target"];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    if starts(&[
        "package.json",
        "jest.config",
        "vitest.config",
        "vite.config",
        ".nycrc",
        "nyc.config",
        ".c8rc",
        "karma.conf",
    ]) {
        JAVASCRIPT
    } else if starts(&["codecov.", ".codecov."]) {
        CODECOV
    } else if [
        ".toml",
        ".ini",
        ".cfg",
        ".yml",
        ".yaml",
        ".sh",
        ".mk",
        ".coveragerc",
        "makefile",
        "justfile",
        ".py",
    ]
    .iter()
    .any(|end| name.ends_with(end))
    {
        ANYWHERE
    } else {
        &[]
    }
}

/// For each key its numbers, with their lines, in the order in which they stand: `lines: 80`, `--cov-fail-under=80`, `fail_under = 80`.
fn numbers<'a>(text: &str, keys: &[&'a str]) -> BTreeMap<&'a str, Vec<(usize, f64)>> {
    let mut numbers: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_inclusive(|c: char| !is_word(c) && c != '.').peekable();
        let mut left = NUMBERS_LIMIT;
        while let Some(word) = words.next() {
            let word = word.trim_end_matches(|c: char| !is_word(c)).trim_start_matches('-');
            let Some(key) = keys.iter().find(|key| **key == word) else { continue };
            // Between a key and its number stand only signs.
            let value = std::iter::from_fn(|| {
                words.next_if(|word| word.chars().all(|c| " \"'=:{[\t".contains(c)))
            })
            .count();
            let number = words.peek().and_then(|word| {
                word.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().ok()
            });
            left = left.saturating_sub(value + 1);
            if left == 0 {
                break;
            }
            if let Some(number) = number.filter(|number| number.is_finite()) {
                numbers.entry(key).or_default().push((index + 1, number));
            }
        }
    }
    numbers
}
