//! Notices when the model goes in circles.

use std::collections::BTreeMap;

use crate::{conversation::Call, tools::Outcome};

/// After this many failures of one same call the model is told.
const TOLD: u32 = 3;
/// After this many the turn ends.
const ENDS: u32 = 5;
/// After this many calls in a row that cannot be understood the turn ends.
const MISUNDERSTOOD: u32 = 8;

/// Counts failures since something last went well.
#[derive(Debug, Default)]
pub(super) struct Watch {
    failures: BTreeMap<String, u32>,
    misunderstood: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    /// Add this to the result.
    Tell(String),
    Stuck(String),
}

impl Watch {
    /// A call that ran.
    pub(super) fn ran(&mut self, call: &Call, outcome: &Outcome) -> Verdict {
        self.misunderstood = 0;
        if !outcome.is_failing() {
            self.failures.clear();
            return Verdict::Fine;
        }
        self.failed(call)
    }

    /// A call that could not be understood.
    pub(super) fn misunderstood(&mut self, call: Option<&Call>) -> Verdict {
        self.misunderstood += 1;
        if self.misunderstood >= MISUNDERSTOOD {
            let told = format!("{MISUNDERSTOOD} calls in a row could not be understood");
            return Verdict::Stuck(told);
        }
        call.map_or(Verdict::Fine, |call| self.failed(call))
    }

    fn failed(&mut self, call: &Call) -> Verdict {
        let key = serde_json::to_string(&(&call.name, &call.arguments)).unwrap_or_default();
        let count = self.failures.entry(key).or_default();
        *count += 1;
        match *count {
            ENDS.. => {
                Verdict::Stuck(format!("the same call of `{}` failed {count} times", call.name))
            }
            TOLD.. => Verdict::Tell(format!(
                "\n[This same call has failed {count} times. Do not repeat it: find out why, try another way, or end and say what is missing.]"
            )),
            _ => Verdict::Fine,
        }
    }
}
