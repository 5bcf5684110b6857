//! How one engine works: how many steps at a time, how long a lease, how often again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{id::PersonId, queue::Places};
use evidence::{
    body::BodyTemplate,
    commit::{BranchTemplate, Identity},
    keys::SigningKey,
    link::Link,
};

use crate::{
    Baselines,
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
    /// How often to look at open pull requests.
    pub watch_every: Duration,
    /// Bots that may start tasks, as the policy names them.
    pub bots: Vec<String>,
    /// Signs receipts. Without it nothing is delivered.
    pub signer: Option<Arc<SigningKey>>,
    /// What people are called.
    pub names: BTreeMap<PersonId, String>,
    /// What checks did on base commits.
    pub baselines: Baselines,
    /// How branches of tasks are named.
    pub branches: BranchTemplate,
    /// Who is named in every commit beside its author.
    pub co_authors: Vec<Identity>,
    /// An operator's text of pull requests. Without it, the built-in one.
    pub body: Option<Arc<BodyTemplate>>,
    /// Where people reach this server. Without it, pull requests name commands.
    pub pages: Option<Link>,
    pub witness: Arc<dyn Witness>,
    /// Takes values of secrets out of what agents say.
    pub redactor: Arc<dyn Redactor>,
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
            watch_every: Duration::from_secs(10),
            bots: Vec::new(),
            signer: None,
            names: BTreeMap::new(),
            baselines: Baselines::none(),
            branches: BranchTemplate::default(),
            co_authors: Vec::new(),
            body: None,
            pages: None,
            witness: Arc::new(Unwatched),
            redactor: Arc::new(NoSecrets),
        }
    }
}

impl Settings {
    /// What a person is called; their id, where nobody knows.
    pub(crate) fn name_of(&self, person: PersonId) -> String {
        self.names.get(&person).cloned().unwrap_or_else(|| person.to_string())
    }

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
