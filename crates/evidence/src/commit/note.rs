//! The note on a commit, by which `lamp why` gets from a line of code to its task, plan and approval (RV5).
//!
//! Notes are kept in git, where anybody who may push can write them. A note is therefore read strictly, and what it says is shown as proven only
//! when the receipt that it names says the same ([`Note::agrees_with`]).

use domain::{
    digest::Digest,
    id::{PersonId, TaskId},
    plan::PlanHash,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::{
    canonical::{self, NotCanonical},
    receipt::{Receipt, spelling},
};

/// Bytes of a note.
pub const NOTE_LIMIT: usize = 4096;

/// The version of the format. Another one is refused.
const VERSION: u64 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub task: TaskId,
    pub plan: PlanHash,
    pub approved_by: PersonId,
    pub approved_at: Timestamp,
    /// The digest of the receipt's envelope.
    pub receipt: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    #[error("the note on this commit is not ours: {0}")]
    Unreadable(#[from] NotCanonical),
    #[error("the note has version {0}, which this version of lamp does not know; use a newer one")]
    UnknownVersion(u64),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Shape {
    version: u64,
    #[serde(with = "spelling::plain")]
    task: TaskId,
    #[serde(with = "spelling::plain")]
    plan: PlanHash,
    approval: Approval,
    #[serde(with = "spelling::plain")]
    receipt: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    #[serde(with = "spelling::plain")]
    by: PersonId,
    #[serde(with = "spelling::instant")]
    at: Timestamp,
}

impl Note {
    /// Of `receipt`, whose envelope has this `digest`.
    pub fn of(receipt: &Receipt, digest: Digest) -> Self {
        Self {
            task: receipt.task,
            plan: receipt.plan,
            approved_by: receipt.approval.by.id,
            approved_at: receipt.approval.at,
            receipt: digest,
        }
    }

    /// Whether this is what a note of `receipt` would say.
    pub fn agrees_with(&self, receipt: &Receipt, digest: Digest) -> bool {
        *self == Self::of(receipt, digest)
    }

    /// One line, with its end.
    pub fn to_bytes(&self) -> Result<Vec<u8>, NoteError> {
        let shape = Shape {
            version: VERSION,
            task: self.task,
            plan: self.plan,
            approval: Approval { by: self.approved_by, at: self.approved_at },
            receipt: self.receipt,
        };
        let mut bytes = canonical::write(&shape)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads exactly what [`Note::to_bytes`] writes.
    pub fn read(bytes: &[u8]) -> Result<Self, NoteError> {
        let line = bytes.strip_suffix(b"\n").ok_or(NotCanonical::Spelling)?;
        Self::check_version(line)?;
        let shape: Shape = canonical::read(line, NOTE_LIMIT)?;
        Ok(Self {
            task: shape.task,
            plan: shape.plan,
            approved_by: shape.approval.by,
            approved_at: shape.approval.at,
            receipt: shape.receipt,
        })
    }

    fn check_version(line: &[u8]) -> Result<(), NoteError> {
        #[derive(Deserialize)]
        struct Head {
            version: u64,
        }
        let is_short = line.len() <= NOTE_LIMIT;
        match is_short.then(|| serde_json::from_slice::<Head>(line)) {
            Some(Ok(Head { version })) if version != VERSION => {
                Err(NoteError::UnknownVersion(version))
            }
            // The strict reader has the better words for the rest.
            Some(Ok(_) | Err(_)) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn note() -> Note {
        Note {
            task: TaskId::from_u128(7),
            plan: "ab".repeat(32).parse().unwrap(),
            approved_by: PersonId::from_u128(9),
            approved_at: Timestamp::from_millis(1_794_817_800_120),
            receipt: Digest::of(b"receipt"),
        }
    }

    #[test]
    fn a_note_is_one_line() {
        let text = String::from_utf8(note().to_bytes().unwrap()).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(Note::read(text.as_bytes()), Ok(note()));
    }

    #[test]
    fn a_note_in_another_spelling_is_not_ours() {
        let text = String::from_utf8(note().to_bytes().unwrap()).unwrap();
        for wrong in [
            text.trim_end().to_owned(),
            format!("{text}\n"),
            format!(" {text}"),
            text.replace(".120Z", ".12Z"),
            text.replace(".120Z", ".120+00:00"),
            text.replace("T08", " 08"),
            text.replace("\"task\"", "\"task\":1,\"task\""),
            text.replace("\"version\":1", "\"version\":1.0"),
            text.replace("ab\"", "AB\""),
            "x".repeat(NOTE_LIMIT + 1),
            "[".repeat(NOTE_LIMIT),
        ] {
            assert!(Note::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert_eq!(Note::read(newer.as_bytes()), Err(NoteError::UnknownVersion(2)));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_the_same(
            task: u128, by: u128, plan: [u8; 32], receipt: [u8; 32], at in -60_000_000_000_000i64..250_000_000_000_000
        ) {
            let plan = Digest::from_bytes(plan).to_string().parse().unwrap();
            let note = Note {
                task: TaskId::from_u128(task), plan, approved_by: PersonId::from_u128(by),
                approved_at: Timestamp::from_millis(at), receipt: Digest::from_bytes(receipt),
            };
            let bytes = note.to_bytes().unwrap();
            prop_assert_eq!(Note::read(&bytes), Ok(note));
        }

        #[test]
        fn a_changed_byte_is_another_note_or_none(at: prop::sample::Index, byte: u8) {
            let bytes = note().to_bytes().unwrap();
            let mut changed = bytes.clone();
            let at = at.index(bytes.len());
            changed[at] = byte;
            if changed != bytes {
                prop_assert_ne!(Note::read(&changed), Ok(note()));
            }
        }
    }
}
