//! Conditions of an approval, as flags.

use std::time::Duration;

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
    #[arg(
        long,
        value_name = "DOLLARS",
        help_heading = "Conditions",
        allow_negative_numbers = true
    )]
    budget: Option<Dollars>,

    /// Let it work at most this long, such as `30m`
    #[arg(long, value_name = "TIME", help_heading = "Conditions", value_parser = time, allow_negative_numbers = true)]
    time: Option<Time>,
}

/// No task works longer; whoever writes more has mistaken a unit.
const LONGEST: Duration = Duration::from_hours(24 * 366);

fn time(text: &str) -> Result<Time, String> {
    match text.parse::<Time>()? {
        Time(time) if time.as_secs() == 0 => {
            Err("a time of nothing lets nothing be done: write it as `30m` or `2h`".to_owned())
        }
        Time(time) if time > LONGEST => {
            Err("no task works longer than a year: write the time as `30m` or `2h`".to_owned())
        }
        time => Ok(time),
    }
}

/// A directory is often written with its `/`, by a shell that completes it.
fn path(text: &str) -> String {
    let bare = text.trim_end_matches('/');
    if bare.is_empty() { text.to_owned() } else { bare.to_owned() }
}

impl ConditionFlags {
    pub(super) fn wish(&self) -> Conditions {
        let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        Conditions {
            paths: some(&self.paths.iter().map(|it| path(it)).collect::<Vec<_>>()),
            hosts: some(&self.hosts),
            commands: some(&self.commands),
            budget_micros: self.budget.map(|Dollars(micros)| micros),
            time_seconds: self.time.map(|time| time.0.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_nothing_and_one_of_centuries_are_mistakes() {
        assert_eq!(time("30m").unwrap(), Time(Duration::from_mins(30)));
        for wrong in ["0", "0s", "500ms", "99999999h", "-5m", "soon"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_directory_may_be_written_with_its_slash() {
        assert_eq!(["src/", "src", "a/b//", "/"].map(path), ["src", "src", "a/b", "/"]);
    }
}
