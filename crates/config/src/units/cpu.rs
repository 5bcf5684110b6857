//! Shares of processors: `2`, `0.5`.

use std::{fmt, str::FromStr};

use serde_json::Value;

use crate::{
    problem::Problems,
    shape::{Form, Kind, Shape, read_text},
    yaml::Node,
};

/// Processors for one sandbox, from a tenth to 16, counted in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu(u64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuError {
    #[error("`{0}` is not a number of processors")]
    Malformed(String),
    #[error("`{0}` is outside of 0.1 to 16 processors")]
    OutOfBounds(String),
}

impl Cpu {
    pub const ONE: Self = Self(1000);
    pub const LEAST_MILLIS: u64 = 100;
    pub const MOST_MILLIS: u64 = 16_000;

    pub const fn millis(self) -> u64 {
        self.0
    }
}

impl FromStr for Cpu {
    type Err = CpuError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || CpuError::Malformed(text.to_owned());
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || whole.len() > 6 || part.len() > 3 {
            return Err(malformed());
        }
        let thousandths: u64 = format!("{part:0<3}").parse().map_err(|_not_reached| malformed())?;
        let whole: u64 = whole.parse().map_err(|_not_reached| malformed())?;
        let millis = whole * 1000 + thousandths;
        if !(Self::LEAST_MILLIS..=Self::MOST_MILLIS).contains(&millis) {
            return Err(CpuError::OutOfBounds(text.to_owned()));
        }
        Ok(Self(millis))
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        if part == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{part:03}").trim_end_matches('0'))
    }
}

const FORM: Form = Form {
    name: "a number of processors",
    help: "write it as `2` or `0.5`; from `0.1` to `16`",
    pattern: None,
};

impl Shape for Cpu {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        read_text(node, FORM, problems)
    }

    fn kind() -> Kind {
        Kind::Decimal(FORM)
    }

    fn write(&self) -> Value {
        // Whole numbers stay whole: `2`, not `2.0`.
        serde_json::from_str(&self.to_string()).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_as_it_prints(millis in Cpu::LEAST_MILLIS..=Cpu::MOST_MILLIS) {
            prop_assert_eq!(Cpu(millis).to_string().parse(), Ok(Cpu(millis)));
        }
    }

    #[test]
    fn refuses_what_no_machine_has() {
        for wrong in
            ["", "0", "17", "-1", "1.", ".5", "1.2345", "two", "1e3", "99999999999999999999"]
        {
            assert!(wrong.parse::<Cpu>().is_err(), "{wrong}");
        }
    }
}
