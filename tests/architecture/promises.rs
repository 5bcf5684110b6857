//! The promises of the product, and the tests that show them.
//!
//! `docs/PROMISES.md` lists every promise. Its last column names the tests that show one, or says `not yet`.
//! A promise counts only when a test shows it, so a test that is named must be one: a function that is run as a test, or one of
//! the promises of `contracts` that a suite there plays.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    functions, table,
    tree::{assert_none, files_with, read},
};

/// Suites that every implementation of a contract runs: functions that are played by others, and are no tests by themselves.
const SUITES: &str = "crates/contracts/src/promises/";

const HEADING: &[&str] = &["id", "promise", "test"];

#[test]
fn every_promise_has_one_row() {
    let mut seen = BTreeSet::new();
    let wrong: Vec<String> = rows()
        .into_iter()
        .filter_map(|row| {
            let id = row.first()?.clone();
            let problem = if !is_id(&id) {
                "is no promise id"
            } else if row.len() != HEADING.len() {
                "does not have three cells"
            } else if !seen.insert(id.clone()) {
                "has two rows"
            } else {
                return None;
            };
            Some(format!("`{id}` {problem}"))
        })
        .collect();
    assert_none("correct docs/PROMISES.md", &wrong);
}

#[test]
fn every_test_that_shows_a_promise_exists() {
    let tests = tests();
    let mut wrong = Vec::new();
    for (id, shown_by) in promises() {
        for test in shown_by {
            if !tests.contains(test.rsplit("::").next().unwrap_or_default()) {
                wrong.push(format!("{id}: there is no test `{test}`"));
            }
        }
    }
    assert_none("name tests that exist, or say `not yet`", &wrong);
}

#[test]
fn documents_name_only_promises_that_exist() {
    let known = promises();
    let groups: BTreeSet<&str> = known.keys().filter_map(|id| id.get(..2)).collect();
    let mut wrong = Vec::new();
    for file in files_with("md") {
        for word in file.text.split(|character: char| !character.is_ascii_alphanumeric()) {
            let is_ours = is_id(word) && word.get(..2).is_some_and(|group| groups.contains(group));
            if is_ours && !known.contains_key(word) {
                wrong.push(format!("{}: {word}", file.path));
            }
        }
    }
    assert_none("these promises are not in docs/PROMISES.md", &wrong);
}

/// Each promise with the tests that show it; none for `not yet`.
fn promises() -> BTreeMap<String, Vec<String>> {
    rows()
        .into_iter()
        .map(|row| {
            let [id, _, shown_by] = row.as_slice() else {
                panic!("a row of docs/PROMISES.md has {} cells: {row:?}", row.len());
            };
            if shown_by == "not yet" {
                return (id.clone(), Vec::new());
            }
            let named: Vec<String> =
                shown_by.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            assert!(!named.is_empty(), "{id}: name tests in backticks, or say `not yet`");
            (id.clone(), named)
        })
        .collect()
}

fn rows() -> Vec<Vec<String>> {
    let rows = table::rows(&read("docs/PROMISES.md"), HEADING);
    assert!(!rows.is_empty(), "docs/PROMISES.md has no table with the columns {HEADING:?}");
    rows
}

/// Two capitals and a number below 100, as in `GA1`.
fn is_id(word: &str) -> bool {
    let Some((group, number)) = word.split_at_checked(2) else { return false };
    group.chars().all(|letter| letter.is_ascii_uppercase())
        && matches!(number.len(), 1 | 2)
        && number.chars().all(|digit| digit.is_ascii_digit())
}

/// The name of every test in the tree, and of every promise that a suite plays.
fn tests() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for file in files_with("rs") {
        let is_suite = file.path.starts_with(SUITES);
        if is_suite || functions::may_have_tests(&file) {
            let found = functions::find(&file);
            all.extend(found.tests);
            all.extend(found.called.into_iter().filter(|_| is_suite));
        }
    }
    all
}
