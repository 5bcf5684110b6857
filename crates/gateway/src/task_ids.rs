//! Ids of tasks: from keys that callers choose, of attempts side by side, and as people type them.
//!
//! ```text
//!  t_ 0 1 j b r t 5 c y 4   f n   f 8 z 4 0 j 6 h b 7 h 6 n w
//!     └── when, 48 bits ──┘ │ └── which attempt, 5 bits
//!                           └──── the version of a UUID, 7, and a bit
//! ```
//!
//! The same key of the same person gives the same id, so that a call whose answer was lost can be repeated, also after the server was
//! started again. Lists sort tasks by id, so an id needs a time. A key that is a UUID of version 7 brings one. For any other key it is the
//! hour of the first call; the hours of the last day are looked through for it.

use std::str::FromStr;

use domain::{
    digest::Digest,
    id::{PersonId, TaskId},
};
use wire::task::new::KEY_LIMIT;

/// What comes after `t_`.
const LETTERS: usize = 26;

/// The letters that a short id has: when, and which attempt.
const SHORT: usize = 12;

/// The fewest letters that may stand for an id.
const FEWEST: usize = 4;

const TIME_SHIFT: u32 = 80;
const VERSION: u128 = 7 << 76;
const VARIANT: u128 = 2 << 62;
const ATTEMPT_SHIFT: u32 = 70;
const ATTEMPT: u128 = 31 << ATTEMPT_SHIFT;
/// What is neither time, version nor variant.
const REST: u128 = (0xfff << 64) | ((1 << 62) - 1);

const HOUR: u64 = 60 * 60 * 1000;
/// The hours in which a plain key is remembered.
const REMEMBERED: u64 = 25;
/// How far ahead of us a caller's clock may be.
const AHEAD: u64 = 10 * 60 * 1000;

/// What a caller calls a task that it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// A UUID of version 7, with its milliseconds.
    Timed {
        text: String,
        at: u64,
    },
    Plain(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an idempotency key has 1 to {KEY_LIMIT} visible ASCII letters; a UUID of version 7 is best"
)]
pub(crate) struct KeyError;

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > KEY_LIMIT || !visible {
            return Err(KeyError);
        }
        let text = text.to_owned();
        Ok(match uuid_time(&text) {
            Some(at) => Self::Timed { text, at },
            None => Self::Plain(text),
        })
    }
}

/// The milliseconds of a UUID of version 7 in its usual spelling.
fn uuid_time(text: &str) -> Option<u64> {
    let shape = text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'7',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
        _digit => byte.is_ascii_hexdigit(),
    });
    if !shape || text.len() != 36 {
        return None;
    }
    let digits: String = text.chars().filter(|letter| *letter != '-').take(12).collect();
    u64::from_str_radix(&digits, 16).ok()
}

impl Key {
    /// The ids that a task of this key may have, the one to give to a new task first. `now` is any new id. Nothing for a key of a time
    /// that has not come yet.
    pub(crate) fn candidates(&self, person: PersonId, now: TaskId) -> Vec<TaskId> {
        let now = millis(now);
        match self {
            Self::Timed { at, .. } if *at > now.saturating_add(AHEAD) => Vec::new(),
            Self::Timed { text, at } => vec![made(*at, hash(person, text))],
            Self::Plain(text) => {
                let hash = hash(person, text);
                let within = u64::try_from(hash % u128::from(HOUR)).unwrap_or_default();
                let hour = now - now % HOUR;
                (0..REMEMBERED)
                    .map(|back| made(hour.saturating_sub(back * HOUR) + within, hash))
                    .collect()
            }
        }
    }
}

fn hash(person: PersonId, key: &str) -> u128 {
    // Neither has a line's end in it, so that no two pairs are written alike.
    let digest = Digest::of(format!("lamplighter idempotency key 1\n{person}\n{key}").as_bytes());
    digest.as_bytes().iter().take(16).fold(0, |bits, byte| (bits << 8) | u128::from(*byte))
}

fn made(millis: u64, hash: u128) -> TaskId {
    let time = u128::from(millis) << TIME_SHIFT;
    attempt(TaskId::from_u128(time | VERSION | VARIANT | (hash & REST)), 0)
}

/// When an id was made.
fn millis(task: TaskId) -> u64 {
    u64::try_from(task.as_u128() >> TIME_SHIFT).unwrap_or(u64::MAX)
}

/// The id of attempt `number`, from 0, of those that begin with `base`.
pub(crate) fn attempt(base: TaskId, number: u8) -> TaskId {
    let number = (u128::from(number) << ATTEMPT_SHIFT) & ATTEMPT;
    TaskId::from_u128((base.as_u128() & !ATTEMPT) | number)
}

/// Whether `task` could be an attempt of those that begin with `base`.
pub(crate) fn is_attempt(base: TaskId, task: TaskId) -> bool {
    attempt(base, 0) == base && attempt(task, 0) == base
}

/// Enough of an id to type.
pub(crate) fn short(task: TaskId) -> String {
    task.to_string().chars().take(TaskId::PREFIX.len() + SHORT).collect()
}

/// The beginning of an id, or all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beginning {
    first: TaskId,
    last: TaskId,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a task: write its id, or at least `t_` and the first 4 letters after it")]
pub(crate) struct BeginningError(String);

impl FromStr for Beginning {
    type Err = BeginningError;

    fn from_str(text: &str) -> Result<Self, BeginningError> {
        let wrong = || BeginningError(text.chars().take(60).collect());
        let letters = text.strip_prefix(TaskId::PREFIX).ok_or_else(wrong)?;
        let count = letters.len();
        if !(FEWEST..=LETTERS).contains(&count) || !letters.is_ascii() {
            return Err(wrong());
        }
        let filled = |letter: &str| {
            let id = format!("{text}{}", letter.repeat(LETTERS - count));
            id.parse::<TaskId>().map_err(|_| wrong())
        };
        Ok(Self { first: filled("0")?, last: filled("z")? })
    }
}

impl Beginning {
    pub(crate) fn fits(&self, task: TaskId) -> bool {
        (self.first..=self.last).contains(&task)
    }

    /// The id that is behind all that begin so, if there is one.
    pub(crate) fn end(&self) -> Option<TaskId> {
        self.last.as_u128().checked_add(1).map(TaskId::from_u128)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANN: PersonId = PersonId::from_u128(1);
    const BOB: PersonId = PersonId::from_u128(2);

    fn at(millis: u64) -> TaskId {
        TaskId::from_u128((u128::from(millis) << TIME_SHIFT) | 0x1234)
    }

    fn first(key: &str, person: PersonId, now: u64) -> TaskId {
        key.parse::<Key>().unwrap().candidates(person, at(now))[0]
    }

    #[test]
    fn a_timed_key_gives_one_id_for_ever_at_its_time() {
        let key = "0192f1a2-b3c4-7d5e-8f90-123456789abc";
        let then = 0x0192_f1a2_b3c4;
        let id = first(key, ANN, then + 5);
        assert_eq!(millis(id), then);
        assert_eq!(id, first(key, ANN, then + 1_000 * HOUR));
        assert_ne!(id, first(key, BOB, then + 5));
        let future = key.parse::<Key>().unwrap().candidates(ANN, at(then - HOUR));
        assert_eq!(future, []);
    }

    #[test]
    fn a_plain_key_is_found_again_for_a_day() {
        let key: Key = "deploy-7".parse().unwrap();
        let begun = key.candidates(ANN, at(1_000 * HOUR + 5))[0];
        assert!(key.candidates(ANN, at(1_000 * HOUR + 9))[0] == begun);
        assert!(key.candidates(ANN, at(1_024 * HOUR)).contains(&begun));
        assert!(!key.candidates(ANN, at(1_030 * HOUR)).contains(&begun));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for wrong in ["", "a b", "ü", "\n", &"x".repeat(256)] {
            assert_eq!(wrong.parse::<Key>(), Err(KeyError), "{wrong:?}");
        }
    }

    #[test]
    fn attempts_side_by_side_differ_in_what_people_type() {
        let base = first("k", ANN, HOUR);
        let shorts: std::collections::BTreeSet<String> =
            (0..8).map(|number| short(attempt(base, number))).collect();
        assert_eq!(shorts.len(), 8);
        assert!((0..8).all(|number| is_attempt(base, attempt(base, number))));
        assert!(!is_attempt(attempt(base, 1), base), "only the first is the base");
    }

    #[test]
    fn a_beginning_is_plain_letters() {
        for wrong in
            ["", "t_", "t_012", "x_0123", "t_8123", "t_012u", "t_01jb/", "t_0öäü", "T_0123"]
        {
            assert!(wrong.parse::<Beginning>().is_err(), "{wrong}");
        }
        assert!("t_7zzzzzzzzzzzzzzzzzzzzzzzzz".parse::<Beginning>().unwrap().end().is_none());
    }

    proptest! {
        #[test]
        fn an_id_fits_each_of_its_beginnings_and_no_other(bits: u128, other: u128, length in 4_usize..=26) {
            let task = TaskId::from_u128(bits);
            let text = task.to_string();
            let beginning: Beginning = text[..2 + length].parse().unwrap();
            prop_assert!(beginning.fits(task));
            prop_assert!(beginning.end().is_none_or(|end| end > task));
            let other = TaskId::from_u128(other);
            prop_assert_eq!(beginning.fits(other), other.to_string().starts_with(&text[..2 + length]));
        }
    }
}
