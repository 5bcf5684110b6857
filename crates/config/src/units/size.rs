//! Amounts of memory and disk, in powers of two: `512MiB`, `8GiB`.

use std::{fmt, str::FromStr};

use crate::shape::text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    #[error("`{0}` is not a size")]
    Malformed(String),
    #[error("`{text}` counts in thousands; sizes are counted in powers of two, as `{instead}`")]
    Decimal { text: String, instead: String },
    #[error("`{asked}` is outside of {} to {}", Written(*.least), Written(*.most))]
    OutOfBounds { asked: String, least: u64, most: u64 },
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const UNITS: [(&str, u64); 4] = [("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];

macro_rules! bounded {
    ($(#[doc = $about:literal])+ $name:ident, $least:expr, $most:expr, help = $help:literal) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(u64);

        impl $name {
            pub const LEAST_BYTES: u64 = $least;
            pub const MOST_BYTES: u64 = $most;

            /// So many GiB, or the nearest that is within the bounds.
            pub const fn gib(gib: u64) -> Self {
                Self::nearest_to(gib.saturating_mul(GIB))
            }

            /// So many bytes, or the nearest that is within the bounds.
            pub const fn nearest_to(bytes: u64) -> Self {
                if bytes < Self::LEAST_BYTES {
                    return Self(Self::LEAST_BYTES);
                }
                if bytes > Self::MOST_BYTES { Self(Self::MOST_BYTES) } else { Self(bytes) }
            }

            pub const fn bytes(self) -> u64 {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = SizeError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                within(text, Self::LEAST_BYTES, Self::MOST_BYTES).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Written(self.0).fmt(f)
            }
        }

        text!($name, "a size", help = $help, pattern = "^[0-9]+(KiB|MiB|GiB|TiB)$");
    };
}

bounded! {
    /// The memory of one sandbox: 256 MiB to 64 GiB.
    Memory, 256 * MIB, 64 * GIB, help = "write it as `512MiB` or `8GiB`; from `256MiB` to `64GiB`"
}
bounded! {
    /// The writable disk of one sandbox: 256 MiB to 1 TiB.
    Disk, 256 * MIB, TIB, help = "write it as `20GiB`; from `256MiB` to `1TiB`"
}
bounded! {
    /// Disk for many sandboxes together: 1 GiB to 1024 TiB.
    Storage, GIB, 1024 * TIB, help = "write it as `100GiB` or `2TiB`"
}

bounded! {
    /// What a program may say: 1 MiB to 16 GiB.
    Speech, MIB, 16 * GIB, help = "write it as `256MiB` or `1GiB`; from `1MiB` to `16GiB`"
}

fn within(text: &str, least: u64, most: u64) -> Result<u64, SizeError> {
    let bytes = parse(text)?;
    if bytes < least || bytes > most {
        return Err(SizeError::OutOfBounds { asked: text.to_owned(), least, most });
    }
    Ok(bytes)
}

fn parse(text: &str) -> Result<u64, SizeError> {
    let malformed = || SizeError::Malformed(text.to_owned());
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
        return Err(malformed());
    }
    if let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) {
        let number: u64 = digits.parse().map_err(|_too_long| malformed())?;
        return number.checked_mul(*factor).ok_or_else(malformed);
    }
    let letter = unit.chars().next().map(|c| c.to_ascii_uppercase());
    let meant = UNITS.iter().find(|(name, _)| name.chars().next() == letter);
    match meant {
        Some((name, _)) => {
            Err(SizeError::Decimal { text: text.to_owned(), instead: format!("{digits}{name}") })
        }
        None => Err(malformed()),
    }
}

/// A size in the largest unit that says it exactly.
struct Written(u64);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor));
        match exact {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_powers_of_two_and_explains_the_rest() {
        assert_eq!("8GiB".parse::<Memory>().unwrap(), Memory::gib(8));
        assert_eq!("512MiB".parse::<Memory>().unwrap().to_string(), "512MiB");
        let told: Vec<String> = [
            "8GB",
            "8g",
            "8",
            "GiB",
            "-8GiB",
            "1KiB",
            "65GiB",
            "99999999999999999999GiB",
            "8 GiB",
            "８GiB",
        ]
        .iter()
        .map(|text| text.parse::<Memory>().unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        `8GB` counts in thousands; sizes are counted in powers of two, as `8GiB`
        `8g` counts in thousands; sizes are counted in powers of two, as `8GiB`
        `8` is not a size
        `GiB` is not a size
        `-8GiB` is not a size
        `1KiB` is outside of 256MiB to 64GiB
        `65GiB` is outside of 256MiB to 64GiB
        `99999999999999999999GiB` is not a size
        `8 GiB` is not a size
        `８GiB` is not a size
        ");
    }
}
