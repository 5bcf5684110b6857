//! Many times of the same thing, and the two that matter: the usual one and the bad one.

use std::{fmt, time::Duration};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    pub p50: Duration,
    pub p99: Duration,
}

impl Spread {
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
            times.get(index).copied().unwrap_or_default()
        };
        Self { p50: at(50), p99: at(99) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p50 {}, p99 {}", Short(self.p50), Short(self.p99))
    }
}

/// A duration with three digits and the unit that fits.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_secs_f64() * 1_000.0;
        match millis {
            long if long >= 1_000.0 => write!(f, "{:.2} s", long / 1_000.0),
            long if long >= 10.0 => write!(f, "{long:.1} ms"),
            short => write!(f, "{short:.2} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_time_and_the_bad_one_are_found() {
        let times = (1..=100).map(Duration::from_millis).collect();
        let spread = Spread::of(times);
        assert_eq!(spread.to_string(), "p50 51.0 ms, p99 100.0 ms");
        assert_eq!(Spread::of(Vec::new()).p99, Duration::ZERO);
    }
}
