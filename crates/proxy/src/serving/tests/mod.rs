//! The whole gateway, with real sockets on both sides and a scripted broker.

mod connections;
mod credentials;
mod git;
mod limits;
mod models;
mod names;
mod requests;
mod stage;
mod tls;
mod upstreams;
