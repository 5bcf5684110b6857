//! How the types of `domain`, which know no JSON, are spelt in it.

/// As its own text: what `Display` prints and `FromStr` reads.
pub(crate) mod plain {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The same, or `null`.
pub(crate) mod plain_or_null {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            None => serializer.serialize_none(),
            Some(value) => serializer.collect_str(value),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// A point in time, as RFC 3339 writes it in UTC with milliseconds: `2026-11-16T08:30:00.000Z`.
pub(crate) mod instant {
    use domain::time::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _, ser::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = written(*time).ok_or_else(|| S::Error::custom("a time out of range"))?;
        serializer.serialize_str(&text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Timestamp::from_millis(time.as_millisecond()))
    }

    /// Nothing, if no calendar has a date for it.
    pub(crate) fn written(time: Timestamp) -> Option<String> {
        let time = jiff::Timestamp::from_millisecond(time.as_millis()).ok()?;
        Some(format!("{time:.3}"))
    }
}

/// Money, as whole micro-dollars.
pub(crate) mod micros {
    use domain::money::Money;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        money: &Money,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(money.as_micros())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Money, D::Error> {
        u64::deserialize(deserializer).map(Money::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use domain::time::Timestamp;

    use super::instant::written;

    #[test]
    fn a_time_is_written_with_milliseconds_always() {
        let text = |millis| written(Timestamp::from_millis(millis));
        assert_eq!(text(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(text(1_794_817_800_120).as_deref(), Some("2026-11-16T08:30:00.120Z"));
        assert_eq!(text(i64::MAX), None);
    }
}
