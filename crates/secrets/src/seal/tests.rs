//! Sealing, opening, and turning the master key over.

use std::{
    os::unix::fs::PermissionsExt as _,
    sync::atomic::{AtomicUsize, Ordering},
};

use proptest::prelude::*;

use super::*;
use crate::randomness::SystemRandomness;

fn sealer() -> Sealer {
    Sealer::new(Keys::only(MasterKey::generate(&SystemRandomness).unwrap()), SystemRandomness)
}

#[test]
fn what_is_sealed_opens_for_its_context_only() {
    let sealer = sealer();
    let closed = sealer.seal("secret/github/1", b"a value").unwrap();
    assert_eq!(&sealer.open("secret/github/1", &closed).unwrap()[..], b"a value");
    assert_eq!(sealer.open("secret/github/2", &closed), Err(SealError::Changed));
    assert_eq!(sealer.open("", &closed), Err(SealError::Changed));
}

#[test]
fn the_same_value_is_sealed_differently_each_time() {
    let sealer = sealer();
    assert_ne!(sealer.seal("a", b"value").unwrap(), sealer.seal("a", b"value").unwrap());
}

/// Gives what nobody can guess a few times, and then nothing.
struct Running(AtomicUsize);

impl Randomness for Running {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |it| it.checked_sub(1));
        left.map_err(|_none| NoRandomness)?;
        SystemRandomness.fill(bytes)
    }
}

#[test]
fn nothing_is_sealed_with_what_could_be_guessed() {
    let keys = Keys::only(MasterKey::generate(&SystemRandomness).unwrap());
    for times in 0..3 {
        let dry = Sealer::new(keys.clone(), Running(AtomicUsize::new(times)));
        let told = dry.seal("a", b"value").unwrap_err();
        assert!(matches!(told, SealError::NoRandomness(_)), "{times}: {told}");
    }
    let enough = Sealer::new(keys, Running(AtomicUsize::new(3)));
    assert!(enough.seal("a", b"value").is_ok(), "a data key, and two nonces");
    assert!(MasterKey::generate(&Running(AtomicUsize::new(0))).is_err());
}

#[test]
fn another_master_key_does_not_open_and_is_named() {
    let closed = sealer().seal("a", b"value").unwrap();
    let told = sealer().open("a", &closed).unwrap_err();
    assert!(matches!(told, SealError::OtherKey(_)), "{told}");
}

#[test]
fn a_byte_that_is_changed_anywhere_does_not_open() {
    let sealer = sealer();
    let closed = sealer.seal("a", b"value").unwrap();
    for place in 0..closed.len() {
        let mut changed = closed.clone();
        changed[place] ^= 1;
        assert!(sealer.open("a", &changed).is_err(), "byte {place}");
    }
    for length in 0..closed.len() {
        assert!(sealer.open("a", &closed[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn what_is_too_long_is_not_sealed() {
    let told = sealer().seal("a", &vec![0; SEAL_LIMIT + 1]).unwrap_err();
    assert_eq!(told, SealError::TooLong { length: SEAL_LIMIT + 1 });
}

#[test]
fn a_master_key_is_turned_over_and_the_content_stays() {
    let old = Keys::only(MasterKey::generate(&SystemRandomness).unwrap());
    let sealer = Sealer::new(old.clone(), SystemRandomness);
    let closed = sealer.seal("a", b"value").unwrap();
    assert_eq!(sealer.rewrap(&closed), Ok(Rewrapped::AsItWas));
    let both = old.replaced_by(MasterKey::generate(&SystemRandomness).unwrap());
    sealer.use_keys(both.clone());
    assert_eq!(&sealer.open("a", &closed).unwrap()[..], b"value");
    let Rewrapped::Anew(anew) = sealer.rewrap(&closed).unwrap() else {
        panic!("it has the old key")
    };
    sealer.use_keys(both.without_former());
    assert!(sealer.open("a", &closed).is_err());
    assert_eq!(&sealer.open("a", &anew).unwrap()[..], b"value");
    assert!(sealer.open("b", &anew).is_err());
}

#[test]
fn keys_are_read_strictly_and_never_repeated() {
    let key = "0123456789abcdef".repeat(4);
    let told = |text: &str| text.parse::<Keys>().unwrap_err().to_string();
    let short = &key[1..];
    let zeros = "0".repeat(64);
    let texts = [
        "",
        " \n",
        short,
        &zeros,
        &format!("{key} {short}"),
        &format!("{key}\n{key}"),
        &"x".repeat(64),
    ];
    let told: Vec<String> = texts.into_iter().map(told).collect();
    insta::assert_snapshot!(told.join("\n"));
    assert!(!told.join("").contains("0123456789"), "a wrong key may be nearly right");
    let keys: Keys =
        format!("  {key}\n{}\n", key.to_uppercase().replace('0', "1")).parse().unwrap();
    assert!(keys.has_former());
    assert!(!format!("{keys:?}").contains("0123456789"));
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_key_file_is_made_for_its_owner_alone_and_refused_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("master.key");
    let file = KeyFile::at(path.clone());
    assert!(matches!(file.read(), Err(KeyFileError::Missing { .. })));
    let keys = file.make(&SystemRandomness).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(file.read().unwrap().current().bytes(), keys.current().bytes());
    for wide in [0o640, 0o604, 0o620, 0o602] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(wide)).unwrap();
        let Err(KeyFileError::Io { source, .. }) = file.read() else {
            panic!("mode {wide:o} is refused")
        };
        assert!(source.to_string().contains("chmod 600"), "{source}");
    }
}

#[test]
fn a_key_file_is_no_link_and_not_too_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("master.key");
    KeyFile::at(path.clone()).make(&SystemRandomness).unwrap();
    let link = directory.path().join("link.key");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(KeyFile::at(link).read(), Err(KeyFileError::Io { .. })));
    std::fs::write(&path, vec![b' '; 5000]).unwrap();
    assert!(matches!(KeyFile::at(path).read(), Err(KeyFileError::Io { .. })));
}

#[test]
fn turning_a_key_file_over_can_stop_at_any_point() {
    let directory = tempfile::tempdir().unwrap();
    let file = KeyFile::at(directory.path().join("master.key"));
    let old = file.make(&SystemRandomness).unwrap();
    let closed = Sealer::new(old, SystemRandomness).seal("a", b"value").unwrap();
    file.begin(&SystemRandomness).unwrap();
    // A crash here: the next server reads both keys and opens what either closed.
    let after = Sealer::new(file.read().unwrap(), SystemRandomness);
    assert_eq!(&after.open("a", &closed).unwrap()[..], b"value");
    let Rewrapped::Anew(anew) = after.rewrap(&closed).unwrap() else {
        panic!("it has the old key")
    };
    file.finish().unwrap();
    let last = Sealer::new(file.read().unwrap(), SystemRandomness);
    assert_eq!(&last.open("a", &anew).unwrap()[..], b"value");
    assert!(last.open("a", &closed).is_err());
}

proptest! {
    #[test]
    fn anything_sealed_comes_back(context in ".{0,40}", plain in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let sealer = sealer();
        let closed = sealer.seal(&context, &plain).unwrap();
        prop_assert_eq!(&sealer.open(&context, &closed).unwrap()[..], &plain[..]);
    }

    #[test]
    fn any_bytes_are_refused_and_not_panicked_at(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(sealer().open("a", &bytes).is_err());
        prop_assert!(sealer().rewrap(&[b"LAMP\x01".to_vec(), bytes].concat()).is_err());
    }

    #[test]
    fn any_text_is_read_as_keys_or_refused(text in "[0-9a-f\\s]{0,140}") {
        if let Ok(keys) = text.parse::<Keys>() {
            prop_assert_eq!(text.split_ascii_whitespace().count(), keys.all().count());
        }
    }
}
