//! Names of things: a type for each, so that a plan can never stand where a task belongs.
//!
//! An id is a UUIDv7, made at the edge and passed in. It is printed with a prefix that says what it
//! names and 26 characters of Crockford's base 32 (`t_01jc8qkz5w...`): no look-alike letters, and
//! the text sorts by age.

use std::{fmt, str::FromStr};

macro_rules! ids {
    ($($(#[$document:meta])* $name:ident = $prefix:literal;)+) => {$(
        $(#[$document])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            pub const PREFIX: &str = $prefix;

            pub const fn from_u128(bits: u128) -> Self {
                Self(bits)
            }

            pub const fn as_u128(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Self::PREFIX)?;
                f.write_str(&crockford(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(Self::PREFIX, text).map(Self)
            }
        }
    )+};
}

ids! {
    /// One piece of work that a person handed over.
    TaskId = "t_";
    /// A human being. Agents and bots have none.
    PersonId = "u_";
    /// A question that an agent asked.
    QuestionId = "q_";
    /// A computer for one run.
    SandboxId = "s_";
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id: it should be `{prefix}` and 26 letters or digits")]
pub struct IdError {
    pub text: String,
    pub prefix: &'static str,
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;
const BITS_PER_LETTER: usize = 5;

fn crockford(bits: u128) -> String {
    (0..LENGTH)
        .rev()
        .filter_map(|place| {
            let digit = (bits >> (place * BITS_PER_LETTER)) & 31;
            ALPHABET.get(usize::try_from(digit).ok()?).map(|letter| char::from(*letter))
        })
        .collect()
}

fn parse(prefix: &'static str, text: &str) -> Result<u128, IdError> {
    let wrong = || IdError { text: text.to_owned(), prefix };
    let letters = text.strip_prefix(prefix).ok_or_else(wrong)?;
    // 26 letters hold 130 bits: the first may only fill three of its five.
    if letters.len() != LENGTH || letters.as_bytes().first().is_none_or(|first| *first > b'7') {
        return Err(wrong());
    }
    letters.bytes().try_fold(0u128, |bits, letter| {
        let digit = ALPHABET.iter().position(|known| *known == letter).ok_or_else(wrong)?;
        Ok((bits << BITS_PER_LETTER) | digit as u128)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_reads_as_what_it_names() {
        let task = TaskId::from_u128(0x0192_f1a2_b3c4_7d5e_8f90_1234_5678_9abc);
        assert_eq!(task.to_string(), "t_01jbrt5cy4fnf8z40j6hb7h6nw");
        assert_eq!(task.to_string().parse(), Ok(task));
    }

    #[test]
    fn an_id_of_another_kind_is_refused_by_name() {
        let person = PersonId::from_u128(7).to_string();
        assert_eq!(
            person.parse::<TaskId>().unwrap_err().to_string(),
            "`u_00000000000000000000000007` is not an id: it should be `t_` and 26 letters or digits"
        );
    }

    proptest! {
        #[test]
        fn every_id_survives_printing(bits: u128) {
            let id = SandboxId::from_u128(bits);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn text_that_parses_is_the_only_spelling(text in "t_[0-9a-z]{26}") {
            if let Ok(id) = text.parse::<TaskId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }

        #[test]
        fn older_ids_sort_first_as_text(a: u128, b: u128) {
            let (one, two) = (TaskId::from_u128(a), TaskId::from_u128(b));
            prop_assert_eq!(one.cmp(&two), one.to_string().cmp(&two.to_string()));
        }
    }
}
