//! Models: what they cost, and whether there is money for it.

pub mod budget;
pub mod prices;
