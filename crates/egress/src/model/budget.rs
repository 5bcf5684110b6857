//! Money: reserved before a request leaves, settled when its answer has come.
//!
//! ```text
//!  request ── upper estimate ──▶ reserve ──▶ (refused: over budget)
//!                                   └──▶ leaves ──▶ usage ──▶ settle: the reservation goes, the cost stays
//! ```
//!
//! An account is one limit: so much for one task, or for one person in a day. A request passes if every one of its accounts has room
//! for what is spent, reserved and asked for. Raising a limit is enough to go on.
//!
//! **Invariant:** what is spent and reserved on an account never exceeds its limit at the moment of a reservation; a request whose
//! cost is not told costs what was reserved for what went over the wire.

use std::{collections::BTreeMap, fmt};

use domain::{
    money::Money,
    policy::{BudgetPeriod, BudgetScope, ModelProvider},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::prices::{Price, Prices};
use crate::bundles::model::Wanted;
use proxy::ask::Usage;

/// One limit that a request counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub scope: BudgetScope,
    /// Which task, person, …
    pub whose: String,
    /// None: for as long as the task lives.
    pub period: Option<BudgetPeriod>,
    pub limit: Money,
}

/// What was spent, by account and period.
#[derive(Debug, Default)]
pub struct Purses {
    purses: BTreeMap<Key, Purse>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Key {
    scope: String,
    whose: String,
    /// `2026-01-31`, `2026-w05`, `2026-01`; empty without a period.
    period: String,
}

#[derive(Debug, Default)]
struct Purse {
    spent: Money,
    reserved: Money,
}

/// What was set aside for one request. It must be settled, or it stays set aside.
#[derive(Debug)]
#[must_use]
pub struct Reservation {
    keys: Vec<Key>,
    pub amount: Money,
    price: Price,
    body_bytes: u64,
}

/// A [`Reservation`], for keeping: whoever comes after us settles it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAside {
    keys: Vec<Key>,
    micros: u64,
    price: Price,
    body_bytes: u64,
}

/// A limit that has no room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct OverBudget {
    pub account: Account,
    pub spent: Money,
    pub reserved: Money,
    pub asked: Money,
}

/// A row of [`Purses`], for keeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    scope: String,
    whose: String,
    period: String,
    micros: u64,
}

/// Tokens of an answer that has no limit of its own.
const USUAL_OUTPUT_TOKENS: u64 = 32_000;
/// No text has more tokens than this has bytes: the estimate is an upper one.
const BYTES_PER_TOKEN: u64 = 2;

/// As many as models say in a second, or more.
const TOKENS_PER_SECOND: u64 = 200;

/// As much as a model may have said after so long. One that nobody waits for any more has thought all the same, and is paid.
pub const fn thought_bytes(millis: u64) -> u64 {
    millis.saturating_mul(TOKENS_PER_SECOND * BYTES_PER_TOKEN) / 1000
}

/// The most that a request can cost: every byte of it is input, and its answer is as long as it may be.
pub fn estimate(prices: &Prices, provider: ModelProvider, wanted: &Wanted) -> (Money, Price) {
    let price = prices.of(provider, wanted.model.as_deref());
    let usage = Usage {
        input_tokens: wanted.body_bytes.div_ceil(BYTES_PER_TOKEN),
        output_tokens: wanted.most_output_tokens.unwrap_or(USUAL_OUTPUT_TOKENS),
        ..Usage::default()
    };
    (price.cost(&usage), price)
}

impl Purses {
    pub fn reserve(
        &mut self,
        accounts: &[Account],
        (amount, price): (Money, Price),
        body_bytes: u64,
        now: Timestamp,
    ) -> Result<Reservation, Box<OverBudget>> {
        for account in accounts {
            let (spent, reserved) = self.state(&Key::new(account, now));
            // A budget that has room for anything lets one request through that may cost more than is left,
            // or the last dollar could never be spent; but only one at a time.
            let left = account.limit.minus(spent).minus(reserved);
            let fits = amount <= left
                || (reserved == Money::ZERO && left > Money::ZERO && amount <= account.limit);
            if !fits {
                let over = OverBudget { account: account.clone(), spent, reserved, asked: amount };
                return Err(Box::new(over));
            }
        }
        let keys: Vec<Key> = accounts.iter().map(|account| Key::new(account, now)).collect();
        for key in &keys {
            let purse = self.purses.entry(key.clone()).or_default();
            purse.reserved = purse.reserved + amount;
        }
        Ok(Reservation { keys, amount, price, body_bytes })
    }

    /// What it cost. Without a final usage: all that went up as input, and all that came down as output, as far as was reserved.
    pub fn settle(
        &mut self,
        reservation: Reservation,
        usage: Option<&Usage>,
        bytes_down: u64,
    ) -> Money {
        let Reservation { keys, amount, price, body_bytes } = reservation;
        let cost = match usage {
            Some(usage) if usage.complete => price.cost(usage),
            Some(_) | None => {
                let by_size = Usage {
                    input_tokens: body_bytes.div_ceil(BYTES_PER_TOKEN),
                    output_tokens: bytes_down.div_ceil(BYTES_PER_TOKEN),
                    ..Usage::default()
                };
                let told = usage.map_or(Money::ZERO, |usage| price.cost(usage));
                price.cost(&by_size).min(amount).max(told)
            }
        };
        for key in keys {
            let purse = self.purses.entry(key).or_default();
            purse.reserved = purse.reserved.minus(amount);
            purse.spent = purse.spent + cost;
        }
        cost
    }

    /// The same for one that an earlier server set aside, and that nobody will tell the end of.
    pub fn settle_kept(&mut self, kept: SetAside, bytes_down: u64) -> Money {
        let SetAside { keys, micros, price, body_bytes } = kept;
        let amount = Money::from_micros(micros);
        for key in &keys {
            let purse = self.purses.entry(key.clone()).or_default();
            purse.reserved = purse.reserved + amount;
        }
        self.settle(Reservation { keys, amount, price, body_bytes }, None, bytes_down)
    }

    /// Nothing was sent.
    pub fn release(&mut self, reservation: Reservation) {
        for key in reservation.keys {
            let purse = self.purses.entry(key).or_default();
            purse.reserved = purse.reserved.minus(reservation.amount);
        }
    }

    /// Whoever it was for is gone for good.
    pub fn forget(&mut self, scope: BudgetScope, whose: &str) {
        self.purses.retain(|key, _| key.scope != scope.as_str() || key.whose != whose);
    }

    /// Periods that are over count for nobody any more. Yesterday's is kept, for a clock that is set back.
    pub fn forget_before(&mut self, now: Timestamp) {
        let yesterday = Timestamp::from_millis(now.as_millis() - DAY);
        let current: Vec<String> = [now, yesterday]
            .into_iter()
            .flat_map(|at| BudgetPeriod::ALL.map(|period| name(period, at)))
            .collect();
        self.purses.retain(|key, purse| {
            key.period.is_empty() || purse.reserved > Money::ZERO || current.contains(&key.period)
        });
    }

    pub fn spent(&self, account: &Account, now: Timestamp) -> Money {
        self.state(&Key::new(account, now)).0
    }

    /// What is to be kept over a restart.
    pub fn kept(&self) -> Vec<Spent> {
        let row = |(key, purse): (&Key, &Purse)| Spent {
            scope: key.scope.clone(),
            whose: key.whose.clone(),
            period: key.period.clone(),
            micros: purse.spent.as_micros(),
        };
        self.purses.iter().filter(|(_, purse)| purse.spent > Money::ZERO).map(row).collect()
    }

    pub fn from_kept(rows: Vec<Spent>) -> Self {
        let entry = |row: Spent| {
            let Spent { scope, whose, period, micros } = row;
            let purse = Purse { spent: Money::from_micros(micros), reserved: Money::ZERO };
            (Key { scope, whose, period }, purse)
        };
        Self { purses: rows.into_iter().map(entry).collect() }
    }

    fn state(&self, key: &Key) -> (Money, Money) {
        self.purses.get(key).map_or((Money::ZERO, Money::ZERO), |it| (it.spent, it.reserved))
    }
}

impl Reservation {
    pub fn kept(&self) -> SetAside {
        SetAside {
            keys: self.keys.clone(),
            micros: self.amount.as_micros(),
            price: self.price,
            body_bytes: self.body_bytes,
        }
    }
}

impl Key {
    fn new(account: &Account, now: Timestamp) -> Self {
        Self {
            scope: account.scope.as_str().to_owned(),
            whose: account.whose.clone(),
            period: account.period.map(|period| name(period, now)).unwrap_or_default(),
        }
    }
}

const DAY: i64 = 24 * 60 * 60 * 1000;

/// The name of the period that `now` is in, in UTC.
fn name(period: BudgetPeriod, now: Timestamp) -> String {
    let days = now.as_millis().div_euclid(DAY);
    let (year, month, day) = civil(days);
    match period {
        BudgetPeriod::Day => format!("{year:04}-{month:02}-{day:02}"),
        // The first of January 1970 was a Thursday; weeks are named by their Monday.
        BudgetPeriod::Week => {
            let (year, month, day) = civil(days - (days + 3).rem_euclid(7));
            format!("{year:04}-{month:02}-{day:02} (week)")
        }
        BudgetPeriod::Month => format!("{year:04}-{month:02}"),
    }
}

/// Year, month and day of a number of days since 1970, by the calendar of 400 years.
const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Account { scope, whose, period, limit } = &self.account;
        let period = period.map(|period| format!(" per {}", period.as_str())).unwrap_or_default();
        write!(
            f,
            "the budget of the {} `{whose}` is {limit}{period}; {} is spent, {} is set aside for requests under way, and this one may cost {}",
            scope.as_str(),
            self.spent,
            self.reserved,
            self.asked
        )
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
