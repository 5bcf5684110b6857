//! What starts a task by itself.

use crate::{
    names::{Label, Schedule, Text},
    shape::{choice, record},
};

choice! {
    /// What starts a task.
    pub enum Trigger by on {
        /// Someone mentions `@lamp` in Slack.
        SlackMention(SlackMention) = "slack.mention",
        /// Someone uses `/lamp` in Slack.
        SlackCommand(Anything) = "slack.command",
        /// Someone mentions `@lamp` in an issue or pull request.
        GithubMention(Anything) = "github.mention",
        /// An issue or pull request gets a label.
        GithubLabel(Labelled) = "github.label",
        /// An issue is assigned to Lamplighter.
        GithubAssign(Anything) = "github.assign",
        /// Someone mentions `@lamp` in Linear.
        LinearMention(Anything) = "linear.mention",
        /// A Linear issue gets a label.
        LinearLabel(Labelled) = "linear.label",
        /// A Linear issue is assigned to Lamplighter.
        LinearAssign(Anything) = "linear.assign",
        /// A check fails on a branch.
        CheckFailed(CheckFailed) = "check.failed",
        /// A time comes.
        Cron(CronTrigger) = "cron",
        /// A signed request arrives.
        Webhook(WebhookTrigger) = "webhook",
    }
}

record! {
    /// Without conditions.
    pub struct Anything {}
}

record! {
    /// Only in some channels.
    pub struct SlackMention {
        /// The channels to listen in. Left out: every channel that Lamplighter is in.
        channels: Option<Vec<Label>> = None,
    }
}

record! {
    /// Only with a label.
    pub struct Labelled {
        /// The label.
        label: Label,
    }
}

record! {
    /// Only on a branch.
    pub struct CheckFailed {
        /// The branch. Left out: the default branch.
        branch: Option<Label> = None,
    }
}

record! {
    /// At certain times.
    pub struct CronTrigger {
        /// Minute, hour, day, month, weekday; in UTC.
        schedule: Schedule,
        /// What to do, as you would ask for it.
        task: Text,
    }
}

record! {
    /// For a sender.
    pub struct WebhookTrigger {
        /// The sender's name, which is part of the address and of the secret's name.
        name: Label,
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::TriggerKind;

    use super::*;
    use crate::shape::{Kind, Shape};

    /// The command line, the web page and the API are always there.
    #[test]
    fn every_kind_of_trigger_that_a_policy_names_can_be_written() {
        let Kind::Choice { options, .. } = Trigger::kind() else { panic!("a choice") };
        let written: Vec<&str> = options.iter().map(|(word, _)| *word).collect();
        let known: Vec<&str> = TriggerKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!([vec!["cli", "web", "api"], written].concat(), known);
    }
}
