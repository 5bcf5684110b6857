//! Money, as people type it: `5`, `2.50`, `$5`.

use std::str::FromStr;

/// Millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dollars(pub(super) u64);

impl FromStr for Dollars {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not an amount of money: write it as `5`, `2.50` or `$5`");
        let digits = text.strip_prefix('$').unwrap_or(text);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_number = |text: &str| {
            !text.is_empty() && text.len() <= 9 && text.bytes().all(|it| it.is_ascii_digit())
        };
        if !is_number(whole) || !is_number(part) || part.len() > 6 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
        let micros = whole * 1_000_000 + part;
        if micros == 0 {
            return Err("a budget of nothing lets nothing be done".to_owned());
        }
        Ok(Self(micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_as_people_write_it() {
        assert_eq!("5".parse(), Ok(Dollars(5_000_000)));
        assert_eq!("$2.50".parse(), Ok(Dollars(2_500_000)));
        assert_eq!("0.0042".parse(), Ok(Dollars(4_200)));
        for wrong in
            ["", "$", "0", "$0.00", "-1", "5€", "1.", ".5", "1e3", "1.0000001", "9999999999"]
        {
            assert!(wrong.parse::<Dollars>().is_err(), "{wrong}");
        }
    }
}
