//! Everything that the engine reaches out with, as one bundle.

use contracts::{
    agent::Agents,
    channel::Channels,
    clock::Clock,
    forge::{Forges, PullRequests},
    ids::IdSource,
    order::Orders,
    outfit::Outfits,
    sandbox::Sandboxes,
    secret::SecretSource,
};

/// The world outside, as the engine sees it. The program chooses the parts; tests script them.
pub trait Hands: Send + Sync + 'static {
    type Sandboxes: Sandboxes;
    type Outfits: Outfits;
    type Orders: Orders;
    type Agents: Agents;
    type Forges: Forges;
    type Pulls: PullRequests;
    type Channels: Channels;
    type Secrets: SecretSource;
    type Clock: Clock;
    type Ids: IdSource;

    fn sandboxes(&self) -> &Self::Sandboxes;
    fn outfits(&self) -> &Self::Outfits;
    fn orders(&self) -> &Self::Orders;
    fn agents(&self) -> &Self::Agents;
    fn forges(&self) -> &Self::Forges;
    fn pulls(&self) -> &Self::Pulls;
    fn channels(&self) -> &Self::Channels;
    fn secrets(&self) -> &Self::Secrets;
    fn clock(&self) -> &Self::Clock;
    fn ids(&self) -> &Self::Ids;
}
