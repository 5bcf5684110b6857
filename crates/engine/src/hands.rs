//! Everything that the engine reaches out with, as one bundle.

use contracts::{
    agent::Agents, channel::Channels, clock::Clock, forge::Forges, ids::IdSource,
    sandbox::Sandboxes, secret::SecretSource,
};

/// The world outside, as the engine sees it. The program chooses the parts; tests script them.
pub trait Hands: Send + Sync + 'static {
    type Sandboxes: Sandboxes;
    type Agents: Agents;
    type Forges: Forges;
    type Channels: Channels;
    type Secrets: SecretSource;
    type Clock: Clock;
    type Ids: IdSource;

    fn sandboxes(&self) -> &Self::Sandboxes;
    fn agents(&self) -> &Self::Agents;
    fn forges(&self) -> &Self::Forges;
    fn channels(&self) -> &Self::Channels;
    fn secrets(&self) -> &Self::Secrets;
    fn clock(&self) -> &Self::Clock;
    fn ids(&self) -> &Self::Ids;
}
