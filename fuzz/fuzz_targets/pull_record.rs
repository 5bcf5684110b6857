//! The record of a pull request, which whoever may push can write: what is accepted is written and read the same.
#![no_main]

use forges::record::{LARGEST, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(record) = Record::read(input) else { return };
    assert!(input.len() <= LARGEST && record.number.0 > 0);
    assert!(record.branch.as_str().starts_with("agent/"));
    assert!(!record.title.chars().any(char::is_control));
    // Indented it may be larger than it came.
    let Ok(written) = record.write() else { return };
    assert_eq!(Record::read(&written), Ok(record));
});
