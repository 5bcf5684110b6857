//! What a model's tokens cost: a table, shipped as data.
//!
//! Prices are micro-dollars per million tokens, as the providers' public lists had them on the day in `since`. The longest pattern that
//! fits a model is its price. A model that is not in the table costs as much as the dearest of its provider, so that an unknown name is
//! never a way around a budget. A provider of one's own costs nothing.

use domain::{money::Money, policy::ModelProvider};
use serde::{Deserialize, Serialize};

use proxy::ask::Usage;

/// Micro-dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// All prices.
#[derive(Debug, Clone)]
pub struct Prices(Vec<Row>);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    /// A name, or the start of one with `*` behind it.
    model: String,
    since: String,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    #[error("the table of prices cannot be read")]
    Shape(#[from] serde_json::Error),
    #[error("the table of prices names a provider `{0}` that nobody knows")]
    Provider(String),
    #[error("the price of `{0}` has no day of the form 2026-01-31")]
    Day(String),
}

impl Prices {
    /// The table that is shipped.
    pub fn shipped() -> Result<Self, PricesError> {
        Self::read(include_str!("prices.json"))
    }

    /// A table of the same form.
    pub fn read(text: &str) -> Result<Self, PricesError> {
        let rows: Vec<Row> = serde_json::from_str(text)?;
        for row in &rows {
            if !ModelProvider::ALL.iter().any(|it| it.as_str() == row.provider) {
                return Err(PricesError::Provider(row.provider.clone()));
            }
            let parts: Vec<usize> = row.since.split('-').map(str::len).collect();
            let digits = row.since.chars().all(|c| c.is_ascii_digit() || c == '-');
            if !digits || parts != [4, 2, 2] {
                return Err(PricesError::Day(row.model.clone()));
            }
        }
        Ok(Self(rows))
    }

    pub fn of(&self, provider: ModelProvider, model: Option<&str>) -> Price {
        let rows = || self.0.iter().filter(|row| row.provider == provider.as_str());
        let fitting = rows().filter(|row| model.is_some_and(|model| row.fits(model)));
        match fitting.max_by_key(|row| row.model.len()) {
            Some(row) => row.price(),
            None => rows().map(Row::price).fold(Price::default(), Price::dearest),
        }
    }
}

impl Row {
    fn fits(&self, model: &str) -> bool {
        match self.model.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => self.model == model,
        }
    }

    const fn price(&self) -> Price {
        Price {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        }
    }
}

impl Price {
    fn dearest(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }

    /// Rounded up, so that many small ones are not free.
    pub fn cost(&self, usage: &Usage) -> Money {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(usage.input_tokens, self.input)
            + part(usage.cache_read_tokens, self.cache_read)
            + part(usage.cache_write_tokens, self.cache_write.max(self.input))
            + part(usage.output_tokens, self.output);
        Money::from_micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(prices: &Prices, provider: ModelProvider, model: &str) -> u64 {
        prices.of(provider, Some(model)).output
    }

    #[test]
    fn the_longest_pattern_wins_and_an_unknown_model_is_the_dearest() {
        let prices = Prices::shipped().unwrap();
        let openai = |model: &str| output(&prices, ModelProvider::Openai, model);
        assert!(openai("gpt-4.1-mini-2025-04-14") < openai("gpt-4.1-2025-04-14"));
        let dearest =
            prices.0.iter().filter(|row| row.provider == "openai").map(|row| row.output).max();
        assert_eq!(Some(openai("a-new-one")), dearest);
        assert_eq!(Some(prices.of(ModelProvider::Openai, None).output), dearest);
        assert_eq!(output(&prices, ModelProvider::OpenaiCompatible, "llama"), 0);
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_overflows() {
        let price =
            Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 0 };
        let usage = Usage { input_tokens: 1_000, output_tokens: 100, ..Usage::default() };
        assert_eq!(price.cost(&usage), Money::from_micros(4_500));
        let one = Usage { cache_read_tokens: 1, ..Usage::default() };
        assert_eq!(price.cost(&one), Money::from_micros(1));
        let written = Usage { cache_write_tokens: 1_000, ..Usage::default() };
        assert_eq!(
            price.cost(&written),
            Money::from_micros(3_000),
            "no price of its own: as input"
        );
        let all = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(price.cost(&all), Money::from_micros(u64::MAX));
    }

    #[test]
    fn a_table_with_a_mistake_is_refused() {
        let row = |provider: &str, since: &str| {
            format!(
                r#"[{{"provider":"{provider}","model":"m","since":"{since}","input":1,"output":1,"cache_read":1,"cache_write":1}}]"#
            )
        };
        assert!(Prices::read(&row("openai", "2026-01-31")).is_ok());
        assert!(Prices::read(&row("nobody", "2026-01-31")).is_err());
        assert!(Prices::read(&row("openai", "soon")).is_err());
        assert!(Prices::read("[{}]").is_err());
    }
}
