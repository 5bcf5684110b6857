//! The built program, as a person or a script meets it.
#![cfg(test)]

mod completions;
mod config;
mod doctor;
mod egress;
mod household;
mod image;
mod kept;
mod policy;
mod sandbox;
mod secret;
mod server;
mod stopping;
mod streams;
mod usage;
mod world;
