//! Conditions of an approval, as flags.

use wire::task::plan::Conditions;

use super::dollars::Dollars;
use crate::amount::Time;

// No doc comment: it would become the help of every command that takes them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ConditionFlags {
    /// Let it change only this file or directory; may be repeated
    #[arg(long = "path", value_name = "PATH", help_heading = "Conditions")]
    paths: Vec<String>,

    /// Let it reach only this host beside its model; may be repeated
    #[arg(long = "host", value_name = "HOST", help_heading = "Conditions")]
    hosts: Vec<String>,

    /// Let it run only this command; may be repeated
    #[arg(long = "command", value_name = "COMMAND", help_heading = "Conditions")]
    commands: Vec<String>,

    /// Let it spend at most this much, such as `5`
    #[arg(long, value_name = "DOLLARS", help_heading = "Conditions")]
    budget: Option<Dollars>,

    /// Let it work at most this long, such as `30m`
    #[arg(long, value_name = "TIME", help_heading = "Conditions")]
    time: Option<Time>,
}

impl ConditionFlags {
    pub(super) fn wish(&self) -> Conditions {
        let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        Conditions {
            paths: some(&self.paths),
            hosts: some(&self.hosts),
            commands: some(&self.commands),
            budget_micros: self.budget.map(|Dollars(micros)| micros),
            time_seconds: self.time.map(|time| time.0.as_secs()),
        }
    }
}
