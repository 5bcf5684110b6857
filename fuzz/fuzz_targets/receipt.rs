//! A receipt from a stranger: only what was signed is believed, and whatever is read is written the same.
//!
//! The input is an envelope if it begins with `E`, a note on a commit if it begins with `N`, and otherwise what is inside an envelope, which is
//! signed here; without that no mutation would ever have a signature that fits.
#![no_main]

use std::sync::LazyLock;

use evidence::{
    commit::Note,
    envelope::Envelope,
    keys::{SigningKey, TrustedKeys},
    receipt::Statement,
    verify::{Finding, Known, Subject, verify},
};
use libfuzzer_sys::fuzz_target;

/// The only envelope that was ever signed.
const SIGNED: &[u8] = include_bytes!("../seeds/receipt/envelope");

static KEY: LazyLock<SigningKey> = LazyLock::new(|| {
    let mut seed = [7; 32];
    seed[0] = 1;
    SigningKey::from_seed(seed.into()).expect("a key")
});

fuzz_target!(|input: &[u8]| {
    let trusted: TrustedKeys = [KEY.public()].into_iter().collect();
    match input.split_first() {
        Some((b'E', bytes)) => {
            if let Ok(envelope) = Envelope::read(bytes) {
                assert_eq!(envelope.to_bytes().as_deref(), Ok(bytes), "one spelling");
            }
            if verify(bytes, &trusted, &Known::default()).is_ok() {
                assert_eq!(bytes, &SIGNED[1..], "nobody else has the key");
            }
        }
        Some((b'N', bytes)) => {
            if let Ok(note) = Note::read(bytes) {
                assert_eq!(note.to_bytes().as_deref(), Ok(bytes), "one spelling");
            }
        }
        Some(_) | None => {
            let Ok(statement) = Statement::read(input) else { return };
            assert_eq!(statement.to_bytes().as_deref(), Ok(input), "one spelling");
            let envelope =
                Envelope::sign(&statement, &[&KEY]).expect("what was read can be signed");
            let bytes = envelope.to_bytes().expect("what was signed can be written");
            let known = Known { commit: Some(&statement.commit), ..Known::default() };
            let verified = verify(&bytes, &trusted, &known).expect("our own");
            assert_eq!(verified.statement, statement);
            let row = verified.checklist.of(Subject::Commit).expect("every row is there");
            assert_eq!(row.finding, Finding::Holds);
            assert!(verified.checklist.rows().iter().all(|row| !row.detail.contains('\n')));
        }
    }
});
