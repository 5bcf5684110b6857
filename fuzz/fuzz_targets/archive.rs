//! An archive of a stranger: whatever is in it, unpacking ends, and nothing is written outside.
#![no_main]

use std::path::Path;

use images::base::{
    Owner,
    unpack::{Limits, Rules, Whiteouts, unpack},
};
use libfuzzer_sys::fuzz_target;

const RULES: Rules = Rules {
    owner: Owner { base: None },
    whiteouts: Whiteouts::Translated,
    limits: Limits { entries: 256, bytes: 1 << 20 },
};

fuzz_target!(|bytes: &[u8]| {
    let place = tempfile::tempdir_in("/dev/shm").expect("a place to unpack into");
    let into = place.path().join("into");
    std::fs::create_dir(&into).expect("a directory");
    if let Ok(unpacked) = unpack(bytes, &into, &RULES) {
        assert!(unpacked.entries <= RULES.limits.entries && unpacked.bytes <= RULES.limits.bytes);
    }
    let beside = std::fs::read_dir(place.path()).expect("our own").count();
    assert_eq!(beside, 1, "something was written outside");
    assert!(!Path::new("/dev/shm/escaped").exists());
});
