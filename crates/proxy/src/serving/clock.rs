//! What time it is, for certificates. Nothing else here asks.

use domain::time::Timestamp;

#[expect(clippy::disallowed_methods, reason = "this process has no other clock")]
pub(super) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
