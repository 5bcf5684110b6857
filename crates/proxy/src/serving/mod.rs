//! What the process does: it reads what sandboxes say, asks the broker, and carries what is allowed.
//!
//! It has no rules, and no secret that outlives the request that it is for. Everything that comes through a door is hostile, and the door
//! says whose it is.
//!
//! ```text
//!            proxy   ┐                    ┌ opaque ── tunnel ───────────▶ dial
//!  doors ──▶ socks   ├──▶ one question ──▶┤
//!            transparent ┘                └ inspect ── requests ── carry ─▶ relay ──▶ dial
//!            names ──▶ an address that means the name
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `doors` | descriptors that are listened on, and who comes through them |
//! | `proxy`, `socks`, `transparent` | the three ways in which a program comes |
//! | `name_server`, `names` | names, and addresses of our making |
//! | `opaque`, `greeting`, `tunnel`, `ended` | bytes that nobody looks into |
//! | `inspect`, `carry`, `errand` | requests, one by one |
//! | `saying` | what a body says, read for the broker |
//! | `placeholders` | what looks like one, wherever it stands |
//! | `dress`, `relay`, `attempt`, `sending`, `receiving` | a granted request and its answer |
//! | `passage` | what a body must be to go out: git |
//! | `scrub` | values that must not come back |
//! | `reach`, `dial`, `upstream`, `pool`, `tls` | connections to hosts |
//! | `exchange` | one thing that wants to leave, with its one report |
//! | `refusal` | how a program is told |
//! | `sandbox`, `limits` | what one sandbox has and may use |
//! | `clock` | what time it is |
//! | `settings`, `shut_in` | what is read before, and given up |

mod attempt;
mod body;
mod carry;
mod clock;
mod dial;
mod doors;
mod dress;
mod ended;
mod errand;
mod exchange;
mod greeting;
mod inspect;
mod intake;
mod limits;
mod name_server;
mod names;
mod opaque;
mod passage;
mod placeholders;
mod pool;
mod proxy;
mod reach;
mod receiving;
mod refusal;
mod relay;
mod sandbox;
mod saying;
mod scrub;
mod sending;
mod settings;
mod shut_in;
mod socks;
mod talk;
#[cfg(test)]
mod tests;
mod tls;
mod transparent;
mod tunnel;
mod upstream;

use std::{collections::HashMap, os::unix::net::UnixStream, sync::Arc};

use tokio_util::task::TaskTracker;

use self::{reach::Reach, sandbox::Sandbox};
pub use self::{
    saying::read as read_body,
    settings::{Settings, SettingsError},
    shut_in::{NOBODY, ShutIn, ShutInError, shut_in},
};
use crate::{
    ask::Whose,
    link::{BrokerLink, LinkError, Order, Orders},
};

/// Serves until the broker is gone. Then everything is refused, what is open ends, and this comes back.
pub async fn serve(link: UnixStream, settings: Settings) -> Result<(), LinkError> {
    let tasks = TaskTracker::new();
    let (broker, mut orders) = BrokerLink::open(link, &tasks)?;
    let reach = Arc::new(settings.reach);
    broker.ready()?;
    let mut sandboxes = HashMap::new();
    let ended = obey(&mut orders, &broker, &reach, &tasks, &mut sandboxes).await;
    for sandbox in sandboxes.values() {
        sandbox.leave();
    }
    drop(orders);
    tasks.close();
    // Who does not end in time ends with the process.
    let _ = tokio::time::timeout(limits::END, tasks.wait()).await;
    ended
}

async fn obey(
    orders: &mut Orders,
    broker: &BrokerLink,
    reach: &Arc<Reach>,
    tasks: &TaskTracker,
    sandboxes: &mut HashMap<Whose, Arc<Sandbox>>,
) -> Result<(), LinkError> {
    while let Some(order) = orders.next().await? {
        match order {
            Order::Join { whose, doors, authority } => {
                // One that is here already gets the doors besides those that it has.
                let sandbox = match sandboxes.get(&whose) {
                    Some(sandbox) => Ok(Arc::clone(sandbox)),
                    None => Sandbox::new(
                        whose,
                        broker.clone(),
                        Arc::clone(reach),
                        &authority,
                        tasks.clone(),
                    ),
                };
                match sandbox {
                    Ok(sandbox) => match doors::open(&sandbox, doors) {
                        Ok(()) => {
                            sandboxes.insert(whose, sandbox);
                        }
                        Err(error) => tracing::error!(%error, "a sandbox reaches nothing"),
                    },
                    Err(error) => tracing::error!(%error, "a sandbox reaches nothing"),
                }
            }
            Order::Leave { whose } => {
                if let Some(sandbox) = sandboxes.remove(&whose) {
                    sandbox.leave();
                }
            }
            Order::Changed { whose, generation } => {
                if let Some(sandbox) = sandboxes.get(&whose) {
                    sandbox.change(generation);
                }
            }
        }
    }
    Ok(())
}
