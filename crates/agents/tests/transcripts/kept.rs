//! What is kept: exactly the versions that are pinned, and nothing of the machine that recorded it.

use std::collections::BTreeSet;

use crate::{SCENARIOS, directory, path, place, recorded};

/// Bytes of one transcript.
const LIMIT: u64 = 200 * 1024;

#[test]
fn every_program_was_recorded_at_the_versions_that_are_pinned_and_at_no_others() {
    let mut kept = BTreeSet::new();
    for entry in fs_err::read_dir(place()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() && entry.file_name() != "snapshots" {
            kept.insert(entry.file_name().into_string().unwrap());
        }
    }
    let pinned: BTreeSet<String> = recorded().map(directory).collect();
    assert_eq!(kept, pinned, "record again: scripts/record-transcripts PROGRAM");
    for program in recorded() {
        let mut files = Vec::new();
        for entry in fs_err::read_dir(place().join(directory(program))).unwrap() {
            files.push(entry.unwrap().file_name().into_string().unwrap());
        }
        files.sort();
        assert_eq!(files, SCENARIOS.map(|it| format!("{it}.jsonl")), "{}", program.name);
    }
}

#[test]
fn transcripts_are_short_and_tell_nothing_of_the_machine_that_made_them() {
    for program in recorded() {
        for scenario in SCENARIOS {
            let path = path(program, scenario);
            assert!(fs_err::metadata(&path).unwrap().len() < LIMIT, "{}", path.display());
            let text = fs_err::read_to_string(&path).unwrap();
            for word in ["/root", ".cache/", "/tmp/tmp", "127.0.0.1", "localhost", "registry."] {
                assert!(!text.contains(word), "{}: `{word}`", path.display());
            }
        }
    }
}
