//! Models: what their answers say that they used, what that costs, and whether there is money for it.

pub mod budget;
pub mod prices;
pub mod refused;
pub mod usage;
