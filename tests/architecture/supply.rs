//! What we build on: no banned crate, and only licences that we accept.
//!
//! The rules are read from `deny.toml`, so cargo-deny and this test cannot disagree. The graph is the one that
//! cargo really builds on this machine (`cargo tree`): the lock file alone also lists optional crates that no
//! feature turns on.

use std::collections::BTreeSet;

use crate::tree::{assert_none, cargo, read};

#[test]
fn no_banned_crate_is_in_the_graph() {
    let banned = quoted_after(&read("deny.toml"), "deny = [", "crate = \"");
    assert!(banned.contains("ring"), "deny.toml was not understood: {banned:?}");
    let wrong: Vec<String> = graph()
        .into_iter()
        .filter(|package| banned.contains(&package.name))
        .map(|package| format!("{}: see `cargo tree -i {}`", package.name, package.name))
        .collect();
    assert_none("deny.toml bans these crates, and says why", &wrong);
}

#[test]
fn every_licence_is_one_we_accept() {
    let accepted = quoted_after(&read("deny.toml"), "allow = [", "\"");
    assert!(accepted.contains("MIT"), "deny.toml was not understood: {accepted:?}");
    let wrong: Vec<String> = graph()
        .into_iter()
        .filter(|package| !allows(&package.licence, &accepted))
        .map(|package| format!("{}: `{}`", package.name, package.licence))
        .collect();
    assert_none("these licences are not in deny.toml's list", &wrong);
}

struct Package {
    name: String,
    licence: String,
}

/// Every package that a build of the workspace compiles here, tests included.
fn graph() -> Vec<Package> {
    let lines = cargo(&[
        "tree",
        "--workspace",
        "--edges=normal,build,dev",
        "--prefix=none",
        "--no-dedupe",
        "--format={p};{l}",
    ]);
    let lines: BTreeSet<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 50, "cargo tree lists only {} packages", lines.len());
    lines
        .into_iter()
        .map(|line| {
            let (package, licence) = line.rsplit_once(';').expect("a package and its licence");
            let name = package.split(' ').next().unwrap_or_default();
            // A dev-dependency that leads back to its own crate is marked `(*)`.
            let licence = licence.trim_end_matches(" (*)");
            Package { name: name.to_owned(), licence: licence.to_owned() }
        })
        .collect()
}

/// The strings that follow `before` on the lines between `start` and the closing bracket.
fn quoted_after(text: &str, start: &str, before: &str) -> BTreeSet<String> {
    text.lines()
        .skip_while(|line| line.trim() != start)
        .skip(1)
        .take_while(|line| line.trim() != "]")
        .filter_map(|line| Some(line.split_once(before)?.1.split_once('"')?.0.to_owned()))
        .collect()
}

/// Whether the SPDX `expression` can be met with `accepted` licences alone. `AND` binds tighter than `OR`; a
/// slash is the old way to write `OR`.
fn allows(expression: &str, accepted: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (met, rest) = alternatives(&words, accepted);
    met && rest.is_empty()
}

fn alternatives<'a>(words: &'a [&'a str], accepted: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    let (mut met, mut rest) = conjunction(words, accepted);
    while let ["OR", after @ ..] = rest {
        let (other, next) = conjunction(after, accepted);
        (met, rest) = (met || other, next);
    }
    (met, rest)
}

fn conjunction<'a>(words: &'a [&'a str], accepted: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    let (mut met, mut rest) = licence(words, accepted);
    while let ["AND", after @ ..] = rest {
        let (other, next) = licence(after, accepted);
        (met, rest) = (met && other, next);
    }
    (met, rest)
}

fn licence<'a>(words: &'a [&'a str], accepted: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inner @ ..] => match alternatives(inner, accepted) {
            (met, [")", rest @ ..]) => (met, rest),
            (_, rest) => (false, rest),
        },
        [name, "WITH", exception, rest @ ..] => {
            (accepted.contains(&format!("{name} WITH {exception}")), rest)
        }
        [name, rest @ ..] => (accepted.contains(*name), rest),
        [] => (false, words),
    }
}

#[test]
fn a_licence_expression_is_read_as_spdx_means_it() {
    let accepted = ["MIT", "ISC", "Apache-2.0"].map(str::to_owned).into();
    for fine in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "MIT AND (GPL-3.0 OR ISC)",
        "GPL-3.0 OR MIT AND ISC",
    ] {
        assert!(allows(fine, &accepted), "{fine}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT",
        "Apache-2.0 WITH LLVM-exception",
        "(MIT OR GPL-3.0) AND BSL-1.0",
    ] {
        assert!(!allows(refused, &accepted), "{refused}");
    }
}
