//! Amounts of money: `$10`, `$0.50`.

use std::{fmt, str::FromStr};

use domain::money::Money;

use crate::shape::text;

/// An amount that may be spent. More than nothing, at most a million dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price(Money);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    #[error("`{0}` is not an amount of money")]
    Malformed(String),
    #[error("`{0}` lacks its currency")]
    NoCurrency(String),
    #[error("`{0}` is outside of $0.000001 to $1000000")]
    OutOfBounds(String),
}

impl Price {
    pub const MOST_DOLLARS: u32 = 1_000_000;

    /// So many dollars, or the nearest that is within the bounds.
    pub const fn dollars(dollars: u32) -> Self {
        if dollars == 0 {
            return Self(Money::from_micros(1));
        }
        if dollars > Self::MOST_DOLLARS {
            return Self(Money::from_dollars(Self::MOST_DOLLARS));
        }
        Self(Money::from_dollars(dollars))
    }

    pub const fn get(self) -> Money {
        self.0
    }
}

impl FromStr for Price {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || PriceError::Malformed(text.to_owned());
        let Some(amount) = text.strip_prefix('$') else {
            let is_bare = text.starts_with(|c: char| c.is_ascii_digit());
            return Err(if is_bare {
                PriceError::NoCurrency(text.to_owned())
            } else {
                malformed()
            });
        };
        let (whole, part) = amount.split_once('.').unwrap_or((amount, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || whole.len() > 9 || part.len() > 6 {
            return Err(malformed());
        }
        let millionths: u64 = format!("{part:0<6}").parse().map_err(|_not_reached| malformed())?;
        let dollars: u64 = whole.parse().map_err(|_not_reached| malformed())?;
        let micros = dollars * 1_000_000 + millionths;
        if micros == 0 || micros > u64::from(Self::MOST_DOLLARS) * 1_000_000 {
            return Err(PriceError::OutOfBounds(text.to_owned()));
        }
        Ok(Self(Money::from_micros(micros)))
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
        if part == 0 {
            return write!(f, "${whole}");
        }
        let digits = format!("{part:06}");
        write!(f, "${whole}.{:0<2}", digits.trim_end_matches('0'))
    }
}

text!(
    Price,
    "an amount of money",
    help = "write it in dollars, as `$10` or `$0.50`",
    pattern = "^\\$[0-9]+(\\.[0-9]{1,6})?$"
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_as_it_prints(micros in 1..=1_000_000_000_000u64) {
            let price = Price(Money::from_micros(micros));
            prop_assert_eq!(price.to_string().parse(), Ok(price));
        }
    }

    #[test]
    fn refuses_what_is_not_dollars() {
        for wrong in ["", "10", "$", "$0", "$-1", "$1.", "$1.1234567", "€10", "$1,000", "$1000001"]
        {
            assert!(wrong.parse::<Price>().is_err(), "{wrong}");
        }
        assert_eq!("$0.5".parse::<Price>().unwrap().to_string(), "$0.50");
    }
}
