//! What models were asked, added up: by sandbox for as long as it is a member, and by owner for good.
//!
//! The sums of an owner are a small file each, so that a request costs the same whoever asked before.

use std::{io, path::PathBuf};

use contracts::{
    agent::{Exchanges, ModelMeter},
    sandbox::Owner,
};
use domain::{cost::Cost, digest::Digest, id::SandboxId, money::Money};
use serde::{Deserialize, Serialize};

use super::{
    Broker,
    kept::write_whole,
    member::{Member, lock},
};
use crate::bundles::model::INSIDE_HOST;
use proxy::ask::{Outcome, RefusalCode, Report, Usage};

/// Where the sums are, below the broker's directory.
const DIRECTORY: &str = "used";

/// Bytes of a sentence that is kept.
const REASON: usize = 500;

/// Sums of one owner, as they are kept.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Used {
    micros: u64,
    input_tokens: u64,
    output_tokens: u64,
}

impl ModelMeter for Broker {
    fn used_by(&self, owner: &Owner) -> Cost {
        let used = match self.read_used(&file_of(owner)) {
            Ok(used) => used,
            Err(error) => {
                tracing::error!(%error, %owner, "what was used cannot be read");
                Used::default()
            }
        };
        Cost {
            money: Money::from_micros(used.micros),
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            ..Cost::ZERO
        }
    }

    fn exchanges(&self, sandbox: SandboxId) -> Exchanges {
        let Some(member) = self.member(sandbox) else { return Exchanges::default() };
        let under_way = lock(&member.open).values().filter(|it| it.is_metered).count();
        let counted = lock(&member.asked).clone();
        Exchanges { under_way: under_way as u64, ..counted }
    }
}

impl Broker {
    /// An exchange ended. `cost` is what a metered one cost.
    pub(super) fn count(&self, member: &Member, report: &Report, cost: Option<Money>) {
        let is_asked = report.request.as_ref().is_some_and(|(method, _)| method == "POST");
        let is_refused = matches!(report.outcome, Outcome::Refused(_));
        let is_model = cost.is_some() || (is_refused && is_asked && report.host == INSIDE_HOST);
        if !is_model {
            return;
        }
        let spent = spent(cost, report.usage.as_ref());
        {
            let mut asked = lock(&member.asked);
            note(&mut asked, &report.outcome, report.usage.as_ref());
            asked.used = asked.used + spent;
        }
        if spent == Cost::ZERO {
            return;
        }
        self.add_used(&file_of(&member.owner), spent);
    }

    /// Adds to the sums in a file, whoever's they are.
    pub(super) fn add_used(&self, file: &str, spent: Cost) {
        if let Err(error) = self.try_add_used(file, spent) {
            tracing::error!(%error, file, "what was used cannot be kept");
        }
    }

    fn try_add_used(&self, file: &str, spent: Cost) -> io::Result<()> {
        // Two exchanges of one owner may end at once.
        let _one_by_one = lock(&self.adding);
        let before = self.read_used(file)?;
        let after = Used {
            micros: before.micros.saturating_add(spent.money.as_micros()),
            input_tokens: before.input_tokens.saturating_add(spent.input_tokens),
            output_tokens: before.output_tokens.saturating_add(spent.output_tokens),
        };
        let path = self.used_path(file);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        write_whole(&path, &serde_json::to_vec(&after).map_err(io::Error::other)?)
    }

    fn read_used(&self, file: &str) -> io::Result<Used> {
        match std::fs::read(self.used_path(file)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Used::default()),
            Err(error) => Err(error),
        }
    }

    fn used_path(&self, file: &str) -> PathBuf {
        self.settings.directory.join(DIRECTORY).join(file)
    }
}

/// The name of the file with an owner's sums. A person's own name may be anything.
pub(super) fn file_of(owner: &Owner) -> String {
    format!("{}.json", Digest::of(format!("{owner:?}").as_bytes()))
}

fn spent(cost: Option<Money>, usage: Option<&Usage>) -> Cost {
    let money = cost.unwrap_or(Money::ZERO);
    let Some(usage) = usage else { return Cost { money, ..Cost::ZERO } };
    let input = usage.input_tokens.saturating_add(usage.cache_read_tokens);
    Cost {
        money,
        input_tokens: input.saturating_add(usage.cache_write_tokens),
        output_tokens: usage.output_tokens,
        ..Cost::ZERO
    }
}

fn note(asked: &mut Exchanges, outcome: &Outcome, usage: Option<&Usage>) {
    let failure = match outcome {
        Outcome::Done { status: Some(status) } if *status >= 400 => {
            Some((Some(*status), format!("the model answered {status}")))
        }
        Outcome::Done { .. } => None,
        Outcome::Refused(refusal) => {
            if refusal.code == RefusalCode::Budget {
                asked.over_budget += 1;
            }
            let reason: String = refusal.reason.chars().take(REASON).collect();
            Some((Some(refusal.status), reason))
        }
        // The answer was there; the program did not wait for the connection to end.
        Outcome::Broken { .. } if usage.is_some_and(|usage| usage.complete) => None,
        Outcome::Broken { reason } => Some((None, reason.chars().take(REASON).collect())),
    };
    match failure {
        None => asked.answered += 1,
        Some(_) => asked.failed += 1,
    }
    asked.last_failure = failure;
}
