//! The stored shapes are a promise to databases that exist already.
//!
//! Each file under `golden/v1` holds one body, exactly as a lamp wrote it, and a line end; `golden/v2` holds those of events whose shape was
//! changed once, and so on. To add one for a new kind: `UPDATE_GOLDEN=1 cargo test -p store golden`. A file that changes is a database
//! that cannot be read.

use std::{collections::BTreeSet, path::PathBuf};

use domain::{failure::FailureKind, phase::Phase};

use super::*;

/// Read when the tests are compiled; cargo compiles them again when it changes.
const UPDATE: Option<&str> = option_env!("UPDATE_GOLDEN");

fn golden(name: &str, version: i64) -> PathBuf {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/src/stored/golden");
    PathBuf::from(place).join(format!("v{version}")).join(name).with_extension("json")
}

fn files(version: i64) -> BTreeSet<String> {
    let directory = golden("any", version);
    fs_err::read_dir(directory.parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn what_was_stored_once_is_read_and_written_the_same_for_ever() {
    for (name, event) in samples::all() {
        let stored = encode(&event);
        let path = golden(name, stored.version);
        if UPDATE.is_some() {
            fs_err::write(&path, format!("{}\n", stored.body)).unwrap();
        }
        let golden = fs_err::read_to_string(&path).unwrap();
        let golden = golden.strip_suffix('\n').unwrap();
        assert_eq!(stored.body, golden, "{name}");
        assert_eq!(decode(stored.kind, stored.version, golden).unwrap(), event, "{name}");
    }
}

#[test]
fn what_an_older_lamp_stored_is_read_and_written_in_its_newer_shape() {
    for (name, version, event) in samples::old() {
        let body = fs_err::read_to_string(golden(name, version)).unwrap();
        assert_eq!(decode(event.kind(), version, &body).unwrap(), event, "{name}");
        let again = encode(&event);
        assert!(again.version > version);
        assert_eq!(decode(again.kind, again.version, &again.body).unwrap(), event, "{name}");
    }
}

#[test]
fn every_kind_has_a_golden_file_and_every_file_a_kind() {
    let kind = |name: &str| name.split(['-', '.']).next().unwrap().to_owned();
    let mut written: BTreeSet<(i64, String)> = samples::all()
        .iter()
        .map(|(name, event)| (encode(event).version, format!("{name}.json")))
        .collect();
    written
        .extend(samples::old().iter().map(|(name, version, _)| (*version, format!("{name}.json"))));
    let there = [v1::VERSION, v2::VERSION].map(|version| {
        files(version).into_iter().map(move |name| (version, name)).collect::<Vec<_>>()
    });
    let there: BTreeSet<(i64, String)> = there.into_iter().flatten().collect();
    assert_eq!(there, written);
    let kinds: BTreeSet<String> = v1::KINDS.iter().map(|&kind| kind.to_owned()).collect();
    assert_eq!(there.iter().map(|(_, name)| kind(name)).collect::<BTreeSet<_>>(), kinds);
    for (name, event) in samples::all() {
        assert_eq!(kind(name), event.kind());
    }
}

/// The domain owns these names, so a change there would change what is stored. Names may be added.
#[test]
fn the_domains_names_that_are_stored_stay() {
    let failures: Vec<&str> = FailureKind::ALL.iter().map(|kind| kind.name()).collect();
    insta::assert_snapshot!(failures.join("\n"), @r"
    test_loop
    dependency_conflict
    approval_timeout
    answer_timeout
    oom
    disk_full
    budget_hit
    no_progress
    egress_blocked
    time_limit
    plan_drift
    plan_unusable
    answer_unusable
    review_loop
    agent_error
    sandbox_lost
    setup_failed
    forge_error
    delivery_refused
    internal
    ");
    insta::assert_snapshot!(
        Phase::ALL.map(Phase::name).join(" "),
        @"prepare research plan implement verify review deliver"
    );
}
