//! The directory that keeps keys.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use evidence::{
    envelope::Envelope,
    keys::{
        PublicKey,
        ring::{KeyRing, KeyRingError},
    },
    verify::{Known, verify},
};
use zeroize::Zeroizing;

use crate::stories;

fn seed(first: u8) -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([9; 32]);
    seed[0] = first;
    seed
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_key_is_made_once_and_found_again() {
    let place = tempfile::tempdir().unwrap();
    let first = KeyRing::open(place.path(), seed(1)).unwrap();
    let key = place.path().join("signing.key");
    assert_eq!(mode(&key), 0o600);
    let id = first.signing().public().id();
    let public = place.path().join("public").join(format!("{id}.pem"));
    let read: PublicKey = fs::read_to_string(public).unwrap().parse().unwrap();
    assert_eq!(read.id(), id);
    let again = KeyRing::open(place.path(), seed(2)).unwrap();
    assert_eq!(again.signing().public().id(), id, "other random bytes change nothing");
    assert_eq!(again.trusted().ids().count(), 1);
}

#[test]
fn receipts_of_a_former_key_still_hold_and_it_signs_no_more() {
    let place = tempfile::tempdir().unwrap();
    let mut ring = KeyRing::open(place.path(), seed(1)).unwrap();
    let former = ring.signing().public().id();
    let statement = stories::happy().statement;
    let old = Envelope::sign(&statement, &[ring.signing()]).unwrap().to_bytes().unwrap();
    let newer = ring.rotate(seed(2)).unwrap();
    assert_ne!(former, newer);
    assert_eq!(ring.signing().public().id(), newer);
    let ring = KeyRing::open(place.path(), seed(3)).unwrap();
    assert_eq!(ring.signing().public().id(), newer, "also after a restart");
    assert_eq!(verify(&old, ring.trusted(), &Known::default()).unwrap().signed_by, [former]);
    assert_eq!(mode(&place.path().join("signing.key")), 0o600);
    fs::remove_file(place.path().join(format!("public/{former}.pem"))).unwrap();
    let ring = KeyRing::open(place.path(), seed(3)).unwrap();
    assert!(
        verify(&old, ring.trusted(), &Known::default()).is_err(),
        "nobody believes it any more"
    );
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_remedy() {
    let place = tempfile::tempdir().unwrap();
    drop(KeyRing::open(place.path(), seed(1)).unwrap());
    let key = place.path().join("signing.key");
    for open in [0o640, 0o604, 0o660, 0o700 | 0o001] {
        fs::set_permissions(&key, fs::Permissions::from_mode(open)).unwrap();
        let refused = KeyRing::open(place.path(), seed(1)).unwrap_err();
        assert!(matches!(refused, KeyRingError::Exposed { mode, .. } if mode == open));
        let remedy = format!("take that away with `chmod 600 {}`", key.display());
        assert!(refused.to_string().contains(&remedy), "{refused}");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(KeyRing::open(place.path(), seed(1)).is_ok());
}

#[test]
fn a_lost_key_is_told_and_not_replaced() {
    let place = tempfile::tempdir().unwrap();
    drop(KeyRing::open(place.path(), seed(1)).unwrap());
    fs::remove_file(place.path().join("signing.key")).unwrap();
    let refused = KeyRing::open(place.path(), seed(2)).unwrap_err();
    assert!(matches!(refused, KeyRingError::Lost { .. }), "{refused}");
    assert!(!place.path().join("signing.key").exists());
}

/// As after a crash between the two.
#[test]
fn a_missing_public_half_is_written_again() {
    let place = tempfile::tempdir().unwrap();
    let id = KeyRing::open(place.path(), seed(1)).unwrap().signing().public().id();
    let public = place.path().join(format!("public/{id}.pem"));
    fs::remove_file(&public).unwrap();
    assert!(KeyRing::open(place.path(), seed(2)).is_ok());
    assert!(public.exists());
}

#[test]
fn other_files_in_place_of_keys_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let ring = KeyRing::open(place.path(), seed(1)).unwrap();
    let key = place.path().join("signing.key");
    let written = fs::read_to_string(&key).unwrap();
    let put = |text: &str| fs::write(&key, text).unwrap();
    let refused = || KeyRing::open(place.path(), seed(1)).unwrap_err();
    for wrong in ["", "x", &ring.signing().public().to_pem(), &written[..40]] {
        put(wrong);
        assert!(matches!(refused(), KeyRingError::Malformed { .. }), "{wrong}");
    }
    put(&"x".repeat(5000));
    assert!(matches!(refused(), KeyRingError::NotAFile { .. }));
    fs::remove_file(&key).unwrap();
    let elsewhere = place.path().join("elsewhere");
    fs::write(&elsewhere, &written).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &key).unwrap();
    assert!(matches!(refused(), KeyRingError::Disk { .. }), "a link is not followed");
    fs::remove_file(&key).unwrap();
    #[expect(clippy::disallowed_methods, reason = "another file takes the name")]
    fs::rename(&elsewhere, &key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(KeyRing::open(place.path(), seed(1)).is_ok());
    let public = place.path().join("public");
    fs::write(public.join("x.pem.begun"), "half").unwrap();
    fs::write(public.join(".x.pem"), "hidden").unwrap();
    assert!(KeyRing::open(place.path(), seed(1)).is_ok(), "what is no key is passed over");
    let misnamed = public.join(format!("{}.pem", "ab".repeat(32)));
    fs::write(&misnamed, ring.signing().public().to_pem()).unwrap();
    assert!(matches!(refused(), KeyRingError::Misnamed { .. }));
    fs::write(&misnamed, "no key").unwrap();
    assert!(matches!(refused(), KeyRingError::Malformed { .. }));
}
