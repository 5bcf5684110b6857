//! How layers fold into one policy.

use super::{Layer, Policy, Widening, narrow, widening::widenings as widenings_of};

/// The policy of a run, and the wishes that it does not grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub policy: Policy,
    pub widenings: Vec<Widening>,
}

/// Folds layers, from the organisation down, into the policy that holds.
///
/// The organisation is the root: it is held only to what the product offers at
/// most. Every later layer is held to all before it.
pub fn effective(organisation: &Layer, below: &[Layer]) -> Effective {
    let root = organisation.as_root();
    let start = Effective { policy: root, widenings: Vec::new() };
    below.iter().fold(start, |Effective { policy, mut widenings }, layer| {
        widenings.extend(widenings_of(&policy, layer));
        Effective { policy: narrow(&policy, &layer.over(&policy)), widenings }
    })
}
