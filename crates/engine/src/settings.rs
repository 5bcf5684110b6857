//! How one engine works: how many steps at a time, how long a lease, how often again.

use std::{sync::Arc, time::Duration};

use domain::{agent::Tier, queue::Places};

use crate::{
    redactor::{NoSecrets, Redactor},
    witness::{Unwatched, Witness},
};

#[derive(Debug, Clone)]
pub struct Settings {
    /// Who this engine is, among those on the same database. Keep it across restarts, and never give
    /// two running engines the same one.
    pub name: String,
    pub places: Places,
    /// Steps at the same time in this process.
    pub parallel: usize,
    /// A driver that has not been heard of for this long has lost its steps.
    pub lease: Duration,
    /// How often a step is tried when the outside is busy, before its task fails.
    pub tries: u32,
    /// The pause after the first failed try; it doubles up to `longest_pause`.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// How often to look when nobody tells.
    pub look_every: Duration,
    /// How often to remove sandboxes that nobody owns.
    pub sweep_every: Duration,
    /// Bots that may start tasks, as the policy names them.
    pub bots: Vec<String>,
    pub image: String,
    pub tier: Tier,
    /// What has to pass before a change is reviewed.
    pub checks: Vec<Check>,
    pub witness: Arc<dyn Witness>,
    /// Takes values of secrets out of what agents say.
    pub redactor: Arc<dyn Redactor>,
}

/// A check that the platform runs itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub command: String,
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "engine".to_owned(),
            places: Places { total: 8, per_repository: 4, per_person: 4 },
            parallel: 32,
            lease: Duration::from_secs(30),
            tries: 8,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_mins(1),
            look_every: Duration::from_secs(1),
            sweep_every: Duration::from_mins(1),
            bots: Vec::new(),
            image: "host".to_owned(),
            tier: Tier::Standard,
            checks: Vec::new(),
            witness: Arc::new(Unwatched),
            redactor: Arc::new(NoSecrets),
        }
    }
}

impl Settings {
    /// The pause before try number `attempt + 1`.
    pub(crate) fn pause_after(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        self.first_pause.saturating_mul(1 << doublings).min(self.longest_pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let settings = Settings::default();
        let pauses: Vec<u128> =
            [1, 2, 3, 7, 8, 99].map(|n| settings.pause_after(n).as_millis()).to_vec();
        assert_eq!(pauses, [500, 1_000, 2_000, 32_000, 60_000, 60_000]);
    }
}
