//! What it means to be the stored shape of something: serde knows how to write it, and it can be made
//! from the domain's value and turned back.
//!
//! Both ways are total. Whatever can be wrong with a stored value is found by serde while it reads,
//! so that the error names the line and the column.

use std::{collections::BTreeSet, time::Duration};

use domain::{code::PullRequestNumber, money::Money};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub(super) trait Shape: Serialize + DeserializeOwned {
    type Of;

    fn of(value: &Self::Of) -> Self;
    fn value(self) -> Self::Of;
}

/// The shape of a struct, field by field. `budget as "budget_micros"` gives a field another name in
/// the store.
///
/// A field must be there, even if it is `null`. By itself serde would take a missing `Option` for
/// `None`, and a lost condition for no condition; with `deserialize_with` it does not.
macro_rules! record {
    (
        $name:ident of $value:path { $($field:ident $(as $word:literal)?: $shape:ty),+ $(,)? }
    ) => {
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::stored) struct $name {
            $(
                $(#[serde(rename = $word)])?
                #[serde(deserialize_with = "serde::Deserialize::deserialize")]
                $field: $shape,
            )+
        }

        impl $crate::stored::shape::Shape for $name {
            type Of = $value;

            fn of(value: &Self::Of) -> Self {
                let $value { $($field),+ } = value;
                Self { $($field: $crate::stored::shape::Shape::of($field)),+ }
            }

            fn value(self) -> Self::Of {
                $value { $($field: $crate::stored::shape::Shape::value(self.$field)),+ }
            }
        }
    };
}

macro_rules! stored_as_they_are {
    ($($plain:ty),+) => {$(
        impl Shape for $plain {
            type Of = Self;

            fn of(value: &Self) -> Self {
                value.clone()
            }

            fn value(self) -> Self {
                self
            }
        }
    )+};
}
stored_as_they_are!(String, u8, u32, u64);

/// A duration. What is finer than a millisecond is dropped; what is longer than 500 million years is
/// cut to that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Millis(u64);

impl Shape for Millis {
    type Of = Duration;

    fn of(value: &Duration) -> Self {
        Self(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    fn value(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// Millionths of a dollar.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Micros(u64);

impl Shape for Micros {
    type Of = Money;

    fn of(value: &Money) -> Self {
        Self(value.as_micros())
    }

    fn value(self) -> Money {
        Money::from_micros(self.0)
    }
}

/// A pull request's number, without the `#`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Number(u64);

impl Shape for Number {
    type Of = PullRequestNumber;

    fn of(value: &PullRequestNumber) -> Self {
        Self(value.0)
    }

    fn value(self) -> PullRequestNumber {
        PullRequestNumber(self.0)
    }
}

impl<S: Shape> Shape for Option<S> {
    type Of = Option<S::Of>;

    fn of(value: &Self::Of) -> Self {
        value.as_ref().map(S::of)
    }

    fn value(self) -> Self::Of {
        self.map(S::value)
    }
}

impl<S: Shape> Shape for Vec<S> {
    type Of = Vec<S::Of>;

    fn of(value: &Self::Of) -> Self {
        value.iter().map(S::of).collect()
    }

    fn value(self) -> Self::Of {
        self.into_iter().map(S::value).collect()
    }
}

/// A set, as a list in its order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Set<S>(Vec<S>);

impl<S: Shape<Of: Ord>> Shape for Set<S> {
    type Of = BTreeSet<S::Of>;

    fn of(value: &Self::Of) -> Self {
        Self(value.iter().map(S::of).collect())
    }

    fn value(self) -> Self::Of {
        self.0.into_iter().map(S::value).collect()
    }
}
