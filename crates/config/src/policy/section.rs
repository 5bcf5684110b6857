//! The sections of a policy. `lamp.yaml` uses some of them too.

use domain::{
    approval::FourEyes,
    policy::{
        Approver, BudgetPeriod, BudgetScope, EgressPhase, NewPackages, PlanGate, Rule, TriggerKind,
    },
};

use crate::{
    agent::report_open_gate,
    names::BotName,
    problem::Problems,
    shape::{Count, known_words, record},
    units::{Cpu, Disk, Memory, Price, RunTime, Wait},
    yaml::Node,
};

record! {
    defaulted
    /// What may be reached over the network, per phase.
    pub struct EgressPolicy {
        /// While an image is built.
        setup: Option<PhaseRules> = None,
        /// While an agent reads and plans.
        research: Option<PhaseRules> = None,
        /// While an agent works, and while checks run.
        implement: Option<PhaseRules> = None,
        /// While the second agent reviews.
        review: Option<PhaseRules> = None,
    }
}

impl EgressPolicy {
    pub const fn of(&self, phase: EgressPhase) -> Option<&PhaseRules> {
        match phase {
            EgressPhase::Setup => self.setup.as_ref(),
            EgressPhase::Research => self.research.as_ref(),
            EgressPhase::Implement => self.implement.as_ref(),
            EgressPhase::Review => self.review.as_ref(),
        }
    }
}

record! {
    /// What one phase may reach. What no rule allows is denied; a deny wins.
    pub struct PhaseRules {
        /// What is allowed.
        allow: Vec<Rule>,
        /// What is denied, whoever allows it.
        deny: Vec<Rule> = vec![],
    }
}

record! {
    defaulted
    /// The most that one run may use. What is left out is limited by what the product offers.
    pub struct CeilingsSection {
        /// Processors.
        cpu: Option<Cpu> = None,
        /// Memory.
        memory: Option<Memory> = None,
        /// Writable disk.
        disk: Option<Disk> = None,
        /// Processes.
        processes: Option<Count<16, 65_536>> = None,
        /// Time.
        timeout: Option<RunTime> = None,
        /// How often the checks may fail before a task asks for help.
        attempts: Option<Count<1, 20>> = None,
        /// Money for one task.
        budget: Option<Price> = None,
    }
}

known_words! { BudgetScope;
    Task = "task": ["One task."],
    Agent = "agent": ["All tasks of one agent."],
    Person = "person": ["All tasks that one person asked for."],
    Team = "team": ["All tasks of one team."],
    Repository = "repository": ["All tasks in one repository."],
    Organisation = "organisation": ["All tasks."],
}

known_words! { BudgetPeriod;
    Day = "day": ["A day in UTC."],
    Week = "week": ["From Monday."],
    Month = "month": ["A calendar month."],
}

record! {
    /// Money for a scope, per period.
    pub struct BudgetSection {
        /// Whose spending is added up.
        scope: BudgetScope,
        /// Over which time.
        period: BudgetPeriod,
        /// How much.
        limit: Price,
    }
}

record! {
    defaulted
    /// The gate. What is left out is up to the repositories.
    pub struct ApprovalSection {
        /// That every task needs an approved plan. It always does, and `false` is refused.
        required: Option<PlanGate> = None,
        /// Whether someone other than the requester must approve.
        four_eyes: Option<FourEyes> = None,
        /// Who may approve, among those whose role allows it.
        approvers: Option<Vec<Approver>> = None,
        /// The longest that a plan may wait before its task pauses.
        timeout: Option<Wait> = None,
    }
    look = look_at_approval;
}

fn look_at_approval(node: &Node, problems: &mut Problems) {
    report_open_gate(node, "approval.required", problems);
    if let Some(empty) = node.get("approvers").filter(|it| it.is_empty_list()) {
        let what = "`approval.approvers` is an empty list, so nobody could approve";
        problems.report(empty.place, what, "name someone, or leave `approvers` out");
    }
}

known_words! { TriggerKind;
    Cli = "cli": ["The command line."],
    Web = "web": ["The web page."],
    Api = "api": ["The API."],
    SlackMention = "slack.mention": ["A mention in Slack."],
    SlackCommand = "slack.command": ["A command in Slack."],
    GithubMention = "github.mention": ["A mention in an issue or pull request."],
    GithubLabel = "github.label": ["A label."],
    GithubAssign = "github.assign": ["An assignment."],
    LinearMention = "linear.mention": ["A mention in Linear."],
    LinearLabel = "linear.label": ["A label in Linear."],
    LinearAssign = "linear.assign": ["An assignment in Linear."],
    CheckFailed = "check.failed": ["A failed check."],
    Cron = "cron": ["A time."],
    Webhook = "webhook": ["A signed request."],
}

record! {
    /// What may start a task.
    pub struct TriggersSection {
        /// The triggers that are listened to. Left out: all of them.
        allow: Vec<TriggerKind> = TriggerKind::ALL.to_vec(),
        /// Bots that may start tasks. Every other bot is refused.
        bots: Vec<BotName> = vec![],
    }
}

known_words! { NewPackages;
    Allowed = "allow": ["They are listed in the pull request."],
    NeedApproval = "approve": ["A person approves them first."],
    Refused = "deny": ["Only packages of the lockfile are answered."],
}

record! {
    defaulted
    /// Package registries.
    pub struct RegistriesSection {
        /// What happens when a change brings in a package that was not there before.
        new_packages: Option<NewPackages> = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Kind, Shape};

    fn words_of<T: Shape>() -> Vec<&'static str> {
        let Kind::Words(words) = T::kind() else { panic!("words") };
        words.iter().map(|word| word.word).collect()
    }

    /// Messages print the domain's words; they must be the ones that files use.
    #[test]
    fn the_domain_calls_everything_as_the_files_do() {
        assert_eq!(words_of::<TriggerKind>(), TriggerKind::ALL.map(TriggerKind::as_str));
        assert_eq!(words_of::<BudgetScope>(), BudgetScope::ALL.map(BudgetScope::as_str));
        assert_eq!(words_of::<BudgetPeriod>(), BudgetPeriod::ALL.map(BudgetPeriod::as_str));
        assert_eq!(words_of::<NewPackages>(), NewPackages::ALL.map(NewPackages::as_str));
        let keys = EgressPhase::ALL.map(EgressPhase::as_str);
        let Kind::Record(record) = EgressPolicy::kind() else { panic!("a record") };
        assert_eq!(record.fields.iter().map(|field| field.key).collect::<Vec<_>>(), keys);
    }
}
