//! Keeps secrets sealed, hands them out by name for one use, and removes their values from anything we print.
//!
//! | module | what it is for |
//! |---|---|
//! | [`binding`] | what a secret may be used for |
//! | [`keeper`] | secrets by name, granted to sandboxes and withdrawn from them |
//! | [`placeholder`] | what stands for a secret inside a sandbox |
//! | [`redact`] | removes values from what is printed, however they are written |
//! | [`seal`] | seals bytes with keys that are themselves sealed by a master key |
//! | [`randomness`] | random bytes, as an argument |

pub use contracts::secret::binding;

mod disk;
pub mod keeper;
pub mod placeholder;
pub mod randomness;
pub mod redact;
pub mod seal;
