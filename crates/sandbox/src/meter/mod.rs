//! What a sandbox has used, over all the bodies that it had.
//!
//! A body is one life of a sandbox's processes: a rest ends it, and a new one starts counting at zero. A
//! [`Meter`] adds bodies up, so that its readings never decrease. It is a value that can be saved after every
//! sample; a server that comes back with an old copy loses nothing that the living body still counts, and of a
//! dead body at most what came after the last copy.
//!
//! ```text
//!  begin("a")    sample  sample  settle      begin("b")   sample …
//!  ───●────────────●───────●───────●────rest────●───────────●──────
//!     cpu: the kernel's counter    │ kept       │ from zero, on top
//!     memory × time: between two samples of one body, their mean
//! ```

mod ledger;
#[cfg(test)]
mod properties;

use contracts::sandbox::Reading;
use domain::{cost::Cost, time::Timestamp};
use serde::{Deserialize, Serialize};

pub use ledger::{Ledger, LedgerError, Row, Standing};

use crate::control_groups::Counters;

/// Adds up what the bodies of one sandbox use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// Of all bodies that ended.
    settled: Totals,
    body: Option<Body>,
    /// In bytes times milliseconds, of all bodies.
    memory_byte_millis: u128,
    memory_peak_bytes: u64,
}

/// What only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Totals {
    cpu_micros: u64,
    oom_kills: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// The body that lives, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Body {
    name: String,
    counted: Totals,
    memory_bytes: u64,
    processes: u64,
    sampled_at_millis: i64,
}

/// What its writable disk holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disk {
    pub bytes: u64,
    pub files: u64,
}

impl Meter {
    /// A body begins: its counters start at zero. The name tells bodies apart; the same again changes nothing.
    pub fn begin(&mut self, body: &str, now: Timestamp) {
        if self.body.as_ref().is_some_and(|living| living.name == body) {
            return;
        }
        self.settle();
        self.body = Some(Body {
            name: body.to_owned(),
            counted: Totals::default(),
            memory_bytes: 0,
            processes: 0,
            sampled_at_millis: now.as_millis(),
        });
    }

    /// What the living body has counted by `now`. Without a body nothing is counted.
    pub fn sample(&mut self, counters: &Counters, now: Timestamp) {
        let Some(body) = &mut self.body else { return };
        let passed = now.since(Timestamp::from_millis(body.sampled_at_millis)).as_millis();
        let mean = u128::midpoint(body.memory_bytes.into(), counters.memory_bytes.into());
        self.memory_byte_millis =
            self.memory_byte_millis.saturating_add(mean.saturating_mul(passed));
        self.memory_peak_bytes =
            self.memory_peak_bytes.max(counters.memory_peak_bytes).max(counters.memory_bytes);
        body.counted = body.counted.at_least(Totals::of(counters));
        body.memory_bytes = counters.memory_bytes;
        body.processes = counters.processes;
        // A clock that was set back is waited for: time that was paid is not paid again.
        body.sampled_at_millis = body.sampled_at_millis.max(now.as_millis());
    }

    /// The body ended; take a last [`Meter::sample`] before it does. Nothing is lost when it is said twice.
    pub fn settle(&mut self) {
        if let Some(body) = self.body.take() {
            self.settled = self.settled.plus(body.counted);
        }
    }

    /// Without tokens, money and network, which others meter.
    pub fn cost(&self) -> Cost {
        let totals = self.totals();
        Cost {
            cpu_millis: totals.cpu_micros / 1_000,
            memory_mib_seconds: self.memory_mib_seconds(),
            ..Cost::ZERO
        }
    }

    pub fn reading(&self, disk: Disk) -> Reading {
        let totals = self.totals();
        let body = self.body.as_ref();
        let processes = body.map_or(0, |body| body.processes);
        Reading {
            cost: self.cost(),
            memory_bytes: body.map_or(0, |body| body.memory_bytes),
            memory_peak_bytes: self.memory_peak_bytes,
            disk_bytes: disk.bytes,
            disk_files: disk.files,
            read_bytes: totals.read_bytes,
            written_bytes: totals.written_bytes,
            processes: u32::try_from(processes).unwrap_or(u32::MAX),
            out_of_memory: totals.oom_kills,
        }
    }

    fn totals(&self) -> Totals {
        self.body.as_ref().map_or(self.settled, |body| self.settled.plus(body.counted))
    }

    fn memory_mib_seconds(&self) -> u64 {
        const MIB_SECOND: u128 = 1_000 << 20;
        u64::try_from(self.memory_byte_millis / MIB_SECOND).unwrap_or(u64::MAX)
    }
}

impl Totals {
    fn of(counters: &Counters) -> Self {
        Self {
            cpu_micros: counters.cpu_micros,
            oom_kills: counters.oom_kills,
            read_bytes: counters.read_bytes,
            written_bytes: counters.written_bytes,
        }
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// A counter that was read while its group went away shows zero; that takes nothing back.
    fn at_least(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    fn each(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_micros: join(self.cpu_micros, other.cpu_micros),
            oom_kills: join(self.oom_kills, other.oom_kills),
            read_bytes: join(self.read_bytes, other.read_bytes),
            written_bytes: join(self.written_bytes, other.written_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn counted(cpu_micros: u64, memory_bytes: u64) -> Counters {
        Counters { cpu_micros, memory_bytes, ..Counters::default() }
    }

    #[test]
    fn a_rest_costs_nothing_and_forgets_nothing() {
        let mut meter = Meter::default();
        meter.begin("first", at(0));
        meter.sample(&counted(5_000_000, 100 * MIB), at(0));
        meter.sample(&counted(7_000_000, 100 * MIB), at(10));
        meter.settle();
        let rested = meter.cost();
        assert_eq!((rested.cpu_millis, rested.memory_mib_seconds), (7_000, 1_000));
        assert_eq!(meter.reading(Disk::default()).memory_bytes, 0);

        meter.begin("second", at(1_000));
        meter.sample(&counted(1_000_000, 10 * MIB), at(1_000));
        meter.sample(&counted(1_000_000, 10 * MIB), at(1_010));
        let woken = meter.cost();
        assert_eq!((woken.cpu_millis, woken.memory_mib_seconds), (8_000, 1_100));
    }

    #[test]
    fn a_server_that_was_away_pays_for_the_time_between() {
        let mut meter = Meter::default();
        meter.begin("body", at(0));
        meter.sample(&counted(0, 10 * MIB), at(0));
        let saved = serde_json::to_string(&meter).unwrap();
        let mut back: Meter = serde_json::from_str(&saved).unwrap();
        back.begin("body", at(100));
        back.sample(&counted(3_000, 30 * MIB), at(100));
        assert_eq!(back.cost().memory_mib_seconds, 2_000, "the mean of both ends");
        assert_eq!(back.cost().cpu_millis, 3);
    }

    #[test]
    fn a_clock_that_is_set_back_is_not_paid_twice() {
        let mut meter = Meter::default();
        meter.begin("body", at(0));
        for second in [0, 100, 50, 100] {
            meter.sample(&counted(0, MIB), at(second));
        }
        assert_eq!(meter.cost().memory_mib_seconds, 100);
    }

    #[test]
    fn a_large_machine_for_a_year_is_saved_and_read_back() {
        let mut meter = Meter::default();
        meter.begin("body", at(0));
        meter.sample(&counted(0, 1 << 36), at(0));
        meter.sample(&counted(0, 1 << 36), at(31_536_000));
        let back: Meter = serde_json::from_str(&serde_json::to_string(&meter).unwrap()).unwrap();
        assert_eq!(back, meter);
        assert_eq!(back.cost().memory_mib_seconds, 65_536 * 31_536_000);
    }
}
