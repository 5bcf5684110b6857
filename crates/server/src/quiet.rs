//! Gives memory back when the server has had a quiet moment: what a task needed is mostly free when the next one begins.

use std::time::Duration;

use store::{Heard, Subscription};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// For how long nothing may have happened to any task.
const QUIET: Duration = Duration::from_secs(1);

/// A server that is never quiet gives back all the same, this often.
const LONGEST: Duration = Duration::from_secs(30);

/// Comes back when it is told to stop.
pub(crate) async fn give_back(mut changes: Subscription, stop: CancellationToken) {
    let giving = async {
        loop {
            heap::give_back();
            if changes.next().await == Heard::Closed {
                return;
            }
            let _long_enough = timeout(LONGEST, until_quiet(&mut changes)).await;
        }
    };
    let _told = stop.run_until_cancelled(giving).await;
}

async fn until_quiet(changes: &mut Subscription) {
    while let Ok(heard) = timeout(QUIET, changes.next()).await {
        if heard == Heard::Closed {
            return;
        }
    }
}
