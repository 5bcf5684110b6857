//! The words of `docs/GLOSSARY.md`, held against the code that they are about.
//!
//! A word that a newcomer looks up has to lead somewhere: each row names a file that exists, and what in it has that name. A word that
//! the code no longer uses is found here when its file moves or its type is renamed.

use std::collections::BTreeSet;

use crate::{
    table,
    tree::{assert_none, read, root},
};

const HEADING: &[&str] = &["word", "means", "where"];

/// One line each: whoever needs more follows the link.
const LONGEST_MEANING: usize = 220;

/// What makes a name in Rust.
const MAKERS: &[&str] = &["struct ", "enum ", "trait ", "fn ", "mod ", "type ", "const "];

#[test]
fn every_word_leads_to_where_it_is_made() {
    let mut wrong = Vec::new();
    for row in rows() {
        let [word, _, place] = row.as_slice() else {
            wrong.push(format!("{row:?} does not have three cells"));
            continue;
        };
        let mut named = place.split('`').skip(1).step_by(2);
        let Some(path) = named.next() else {
            wrong.push(format!("{word}: name a file in backticks"));
            continue;
        };
        if !root().join(path).exists() {
            wrong.push(format!("{word}: there is no {path}"));
            continue;
        }
        let Some(name) = named.next() else { continue };
        let text = read(path);
        let is_made = MAKERS.iter().any(|maker| makes(&text, maker, name));
        if !is_made {
            wrong.push(format!("{word}: {path} makes no `{name}`"));
        }
    }
    assert_none("correct docs/GLOSSARY.md", &wrong);
}

#[test]
fn words_are_in_order_once_and_in_one_line_each() {
    let rows = rows();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let mut before = String::new();
    for row in &rows {
        let [word, meaning, _] = row.as_slice() else { continue };
        let key = word.to_lowercase();
        if !seen.insert(key.clone()) {
            wrong.push(format!("`{word}` has two rows"));
        }
        if key < before {
            wrong.push(format!("`{word}` stands behind `{before}`"));
        }
        before = key;
        if meaning.chars().count() > LONGEST_MEANING {
            wrong.push(format!("`{word}` takes more than {LONGEST_MEANING} letters"));
        }
    }
    assert_none("docs/GLOSSARY.md is a list to look words up in", &wrong);
}

/// Whether the text makes a name by this word, and not only one that begins so.
fn makes(text: &str, maker: &str, name: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(maker).any(|(at, _)| {
        text.get(at + maker.len()..)
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| !rest.starts_with(is_name))
    })
}

fn rows() -> Vec<Vec<String>> {
    let rows = table::rows(&read("docs/GLOSSARY.md"), HEADING);
    assert!(!rows.is_empty(), "docs/GLOSSARY.md has no table with the columns {HEADING:?}");
    rows
}
