//! The built program, as a person or a script meets it.
#![cfg(test)]

mod bringing_back;
mod completions;
mod config;
mod demo;
mod dismissing;
mod doctor;
mod egress;
mod fixture;
mod handing;
mod household;
mod image;
mod kept;
mod money;
mod owners;
mod policy;
mod proving;
mod pulls;
mod remedies;
mod reverting;
mod sandbox;
mod secret;
mod server;
mod shell;
mod steering;
mod stopping;
mod streams;
mod tasks;
mod usage;
mod watching;
mod world;
