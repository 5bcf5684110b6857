//! Numbers of an answer, exactly: JSON has one kind of them, and money must not be rounded.

use domain::money::Money;
use serde_json::Number;

use super::Faults;

/// A whole number that is not negative. `30.0` is one, as schemas have it.
pub(super) fn whole(place: &str, number: &Number) -> Result<u64, Faults> {
    let exact = || {
        let value = number.as_f64().filter(|value| *value >= 0.0 && value.fract() == 0.0)?;
        value.abs().to_string().parse().ok()
    };
    let fault = || Faults::one(format!("{place}: {number} is not a whole number from 0"));
    number.as_u64().or_else(exact).ok_or_else(fault)
}

/// Dollars, with at most six digits after the point.
pub(super) fn money(place: &str, number: &Number) -> Result<Money, Faults> {
    let fault = |what: &str| Faults::one(format!("{place}: {number} {what}"));
    // A float is written with the fewest digits that mean it, and without an exponent.
    let value = number.as_f64().filter(|value| *value >= 0.0 && value.is_finite());
    let text = value.ok_or_else(|| fault("is not an amount"))?.abs().to_string();
    let (dollars, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > 6 {
        return Err(fault("has more than 6 digits after the point"));
    }
    let micros = format!("{dollars}{fraction:0<6}").parse();
    micros.map(Money::from_micros).map_err(|_large| fault("is too much"))
}
