//! The scripted outside: every contract, answered from a [`Script`](crate::script::Script), with
//! effects in a [`Ledger`].

mod agents;
mod channels;
mod forges;
mod orders;
mod outfits;
mod pulls;
mod sandboxes;
mod secrets;

pub use agents::{COMMAND, HOST, PRICE, ScriptedAgents};
pub use channels::ScriptedChannels;
pub use forges::ScriptedForges;
pub use orders::ScriptedOrders;
pub use outfits::{ScriptedOutfits, refuse};
pub use pulls::ScriptedPulls;
pub use sandboxes::ScriptedSandboxes;
pub use secrets::ScriptedSecrets;

use std::sync::Arc;

use contracts::forge::PullRequests;
use engine::{Hands, Settings};
use evidence::keys::SigningKey;

use crate::{clock::AnyClock, ids::SystemIds, ledger::Ledger};

/// `P` keeps its pull requests.
#[derive(Debug, Clone)]
pub struct World<P = ScriptedPulls> {
    pub ledger: Ledger,
    pub clock: AnyClock,
    sandboxes: ScriptedSandboxes,
    agents: ScriptedAgents,
    outfits: ScriptedOutfits,
    orders: ScriptedOrders,
    forges: ScriptedForges,
    pulls: Arc<P>,
    channels: ScriptedChannels,
    secrets: ScriptedSecrets,
    ids: SystemIds,
}

impl World {
    pub fn new(ledger: Ledger, clock: AnyClock) -> Self {
        Self {
            sandboxes: ScriptedSandboxes::new(ledger.clone()),
            agents: ScriptedAgents::new(ledger.clone(), clock.clone()),
            outfits: ScriptedOutfits::new(ledger.clone()),
            orders: ScriptedOrders::new(ledger.clone()),
            forges: ScriptedForges::new(ledger.clone()),
            pulls: Arc::new(ScriptedPulls::new(ledger.clone())),
            channels: ScriptedChannels::new(ledger.clone()),
            secrets: ScriptedSecrets::new(ledger.clone()),
            ids: SystemIds,
            ledger,
            clock,
        }
    }

    /// The same, with pull requests that are kept elsewhere.
    pub fn with_pulls<P>(self, pulls: Arc<P>) -> World<P> {
        World {
            pulls,
            ledger: self.ledger,
            clock: self.clock,
            sandboxes: self.sandboxes,
            agents: self.agents,
            outfits: self.outfits,
            orders: self.orders,
            forges: self.forges,
            channels: self.channels,
            secrets: self.secrets,
            ids: self.ids,
        }
    }

    /// Settings that suit a test: quick to notice, quick to try again.
    pub fn settings(name: &str) -> Settings {
        use std::time::Duration;
        Settings {
            name: name.to_owned(),
            lease: Duration::from_millis(1_500),
            first_pause: Duration::from_millis(10),
            longest_pause: Duration::from_millis(200),
            look_every: Duration::from_millis(50),
            sweep_every: Duration::from_millis(500),
            watch_every: Duration::from_millis(200),
            signer: SigningKey::from_seed((*b"not a secret: a key for a script").into())
                .ok()
                .map(Arc::new),
            ..Settings::default()
        }
    }
}

impl<P: PullRequests> Hands for World<P> {
    type Sandboxes = ScriptedSandboxes;
    type Agents = ScriptedAgents;
    type Outfits = ScriptedOutfits;
    type Orders = ScriptedOrders;
    type Forges = ScriptedForges;
    type Pulls = P;
    type Channels = ScriptedChannels;
    type Secrets = ScriptedSecrets;
    type Clock = AnyClock;
    type Ids = SystemIds;

    fn sandboxes(&self) -> &ScriptedSandboxes {
        &self.sandboxes
    }

    fn outfits(&self) -> &ScriptedOutfits {
        &self.outfits
    }

    fn orders(&self) -> &ScriptedOrders {
        &self.orders
    }

    fn pulls(&self) -> &P {
        &self.pulls
    }

    fn agents(&self) -> &ScriptedAgents {
        &self.agents
    }

    fn forges(&self) -> &ScriptedForges {
        &self.forges
    }

    fn channels(&self) -> &ScriptedChannels {
        &self.channels
    }

    fn secrets(&self) -> &ScriptedSecrets {
        &self.secrets
    }

    fn clock(&self) -> &AnyClock {
        &self.clock
    }

    fn ids(&self) -> &SystemIds {
        &self.ids
    }
}
