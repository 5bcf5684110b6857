//! The promises of an id source.

use super::{Kept, keep};
use crate::ids::IdSource;

pub fn kept(ids: &impl IdSource) -> Kept {
    let made: Vec<u128> = (0..1_000).map(|_| ids.next()).collect();
    let ordered = made.windows(2).all(|pair| matches!(pair, [one, next] if one < next));
    keep("ids are new, and in the order of their making", ordered)
}
