//! Builds the rooms by a server's files, and serves until it is told to stop.

mod authorities;
pub mod belongings;
mod desk;
mod discretion;
mod egress_log;
pub mod explain;
mod gatekeeper;
mod household;
pub mod kept;
mod networks;
mod outward;
mod provider;
mod reload;
pub mod serve;
mod trail;
mod vault;
