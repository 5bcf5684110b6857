//! Models: what a request asks of one, what its answer says that it used, and how a refusal is told in its words.

pub mod body;
pub mod refused;
pub mod usage;
