//! Keeps secrets sealed, hands them out by name for one use, and removes their values from anything we print.
//!
//! | module | what it is for |
//! |---|---|
//! | [`seal`] | seals bytes with keys that are themselves sealed by a master key |
//! | [`randomness`] | random bytes, as an argument |

mod disk;
pub mod randomness;
pub mod seal;
