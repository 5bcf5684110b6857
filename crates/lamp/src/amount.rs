//! Amounts as people write and read them: `8GiB`, `2h`, `1.5` cores.

use std::{str::FromStr, time::Duration};

const SIZES: &[(&str, u64)] =
    &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const TIMES: &[(&str, u64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    /// In MiB, rounded up, so that one byte is not taken for nothing.
    pub(crate) fn mib(self) -> u32 {
        u32::try_from(self.0.div_ceil(1 << 20)).unwrap_or(u32::MAX)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self(0));
        }
        let (digits, unit) = split(text);
        let factor = SIZES.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let number = digits.parse::<u64>().ok();
        let bytes = number.zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
        bytes
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a size: write it as `512MiB` or `8GiB`"))
    }
}

/// A time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a time: write it as `90s`, `30m` or `2h`");
        if text == "0" {
            return Ok(Self(Duration::ZERO));
        }
        let (digits, unit) = split(text);
        let factor = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let number = digits.parse::<u64>().ok();
        let millis = number.zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
        millis.map(|millis| Self(Duration::from_millis(millis))).ok_or_else(wrong)
    }
}

/// Cores, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cores(pub(crate) u32);

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a number of cores: write it as `2` or `0.5`");
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| {
            !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|it| it.is_ascii_digit())
        };
        if !is_number(whole) || !is_number(part) || part.len() > 3 {
            return Err(wrong());
        }
        let part: u32 = format!("{part:0<3}").parse().map_err(|_| wrong())?;
        let whole: u32 = whole.parse().map_err(|_| wrong())?;
        whole.checked_mul(1000).and_then(|it| it.checked_add(part)).map(Self).ok_or_else(wrong)
    }
}

/// The digits, and what comes after them.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Bytes for people: `1.5 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let unit = SIZES.iter().find(|(_, factor)| bytes >= *factor);
    match unit {
        None | Some(("B", _)) => format!("{bytes} B"),
        Some((name, factor)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*factor);
            match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            }
        }
    }
}

/// So many of a thing: `1 file`, `2 files`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

pub(crate) fn cores(millis: u32) -> String {
    if millis.is_multiple_of(1000) {
        return (millis / 1000).to_string();
    }
    format!("{}.{:03}", millis / 1000, millis % 1000).trim_end_matches('0').to_owned()
}

/// A point in time for people, to the second.
pub(crate) fn moment(millis: i64) -> String {
    match jiff::Timestamp::from_second(millis / 1000) {
        Ok(time) => time.to_string(),
        Err(_) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!("8GiB".parse(), Ok(Size(8 << 30)));
        assert_eq!("0".parse(), Ok(Size(0)));
        assert_eq!(Size(1).mib(), 1);
        assert_eq!("2h".parse(), Ok(Time(Duration::from_hours(2))));
        assert_eq!("250ms".parse(), Ok(Time(Duration::from_millis(250))));
        assert_eq!("1.5".parse(), Ok(Cores(1500)));
        assert_eq!("0.05".parse(), Ok(Cores(50)));
        for wrong in ["", "8", "8GB", "-1GiB", "1.5GiB", "GiB", "99999999999999999999GiB"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
        for wrong in ["", "2", "h", "2 h", "-1s"] {
            assert!(wrong.parse::<Time>().is_err(), "{wrong}");
        }
        for wrong in ["", "x", "1.", ".5", "1.2345", "-1", "9999999"] {
            assert!(wrong.parse::<Cores>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_written_as_people_read_them() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1 << 30), "1 GiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(count(0, "file"), "0 files");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(cores(1500), "1.5");
        assert_eq!(cores(2000), "2");
        assert_eq!(cores(50), "0.05");
    }
}
