//! What an approver allows.
//!
//! `null` and `[]` are opposites here: nothing narrower than the policy, and nothing at all.

use crate::stored::shape::{Micros, Millis, Set};

record! {
    Conditions of domain::approval::Conditions {
        paths: Option<Set<String>>,
        hosts: Option<Set<String>>,
        commands: Option<Set<String>>,
        budget as "budget_micros": Option<Micros>,
        time as "time_millis": Option<Millis>,
    }
}
