//! The promises of a clock.

use std::time::Duration;

use super::{Kept, keep};
use crate::clock::Clock;

pub async fn kept(clock: &impl Clock) -> Kept {
    let before = clock.now();
    clock.sleep_until(before).await;
    keep("sleeping until now returns", true)?;
    let soon = before + Duration::from_millis(5);
    clock.sleep_until(soon).await;
    keep("after sleeping until a time, it is that time", clock.now() >= soon)
}
