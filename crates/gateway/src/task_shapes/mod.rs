//! Tasks in the shapes of the API.

mod event;
mod found;
mod headline;
mod next;
mod plan;
mod pull;
mod shown;
mod spent;
mod why;

pub(crate) use event::{recorded, said};
pub(crate) use found::{checks, review};
pub(crate) use plan::{conditions_in, task_plan};
pub(crate) use pull::{patch, pull};
pub(crate) use shown::{Told, detail, summary};
pub(crate) use spent::spent;
pub(crate) use why::why;

use domain::time::Timestamp;
use wire::{money::Money, time::Time};

pub(crate) const fn time(at: Timestamp) -> Time {
    Time::from_millis(at.as_millis())
}

pub(crate) fn money(money: domain::money::Money) -> Money {
    Money::from_micros(money.as_micros())
}

#[cfg(test)]
mod tests {
    #[test]
    fn amounts_read_the_same_everywhere() {
        for micros in [0, 1, 4_200, 1_500_000, 10_000_000, 123_456_789, u64::MAX] {
            let money = domain::money::Money::from_micros(micros);
            assert_eq!(super::money(money).text, money.to_string());
        }
    }
}
