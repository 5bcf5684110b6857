//! The gate: who may approve which plan, and on what conditions (GA1, GA4, GA5).
//!
//! An [`Approval`] is a fact about one exact plan. Everything after the gate carries one: there is
//! no way to write down "implementing" without it (see [`crate::task::Mandate`]).

use std::{collections::BTreeSet, time::Duration};

use crate::{
    id::PersonId,
    money::Money,
    people::{Action, Person, Relation, TeamName},
    plan::PlanHash,
    policy::{HostName, HostPattern},
};

pub use crate::policy::FourEyes;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub plan: PlanHash,
    pub by: PersonId,
    pub conditions: Conditions,
}

/// What the approver allows. `None` means: whatever the policy allows.
///
/// Conditions only ever narrow; they are intersected with the policy when the sandbox is made. A path
/// allows itself and everything below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    pub paths: Option<BTreeSet<String>>,
    pub hosts: Option<BTreeSet<String>>,
    pub commands: Option<BTreeSet<String>>,
    pub budget: Option<Money>,
    pub time: Option<Duration>,
}

impl Conditions {
    /// Whether a file may be changed.
    pub fn allow_path(&self, path: &str) -> bool {
        let covers = |allowed: &String| {
            path == allowed
                || path.strip_prefix(allowed.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        self.paths.as_ref().is_none_or(|paths| paths.iter().any(covers))
    }

    /// Whether a host may be asked. What is called by a bundle is not found here by its host.
    pub fn allow_host(&self, host: &str) -> bool {
        let Ok(host) = host.parse::<HostName>() else { return self.hosts.is_none() };
        let covers = |allowed: &String| {
            allowed.parse::<HostPattern>().is_ok_and(|pattern| pattern.matches(&host))
        };
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(covers))
    }

    /// Whether a command may be run. An allowed one may be followed by arguments, but not by another command.
    pub fn allow_command(&self, command: &str) -> bool {
        let joins =
            |rest: &str| rest.contains([';', '&', '|', '\n', '`', '<', '>']) || rest.contains("$(");
        let covers = |allowed: &String| {
            command.strip_prefix(allowed.trim()).is_some_and(|rest| {
                rest.is_empty() || (rest.starts_with([' ', '\t']) && !joins(rest))
            })
        };
        self.commands.as_ref().is_none_or(|commands| commands.iter().any(covers))
    }
}

/// How the gate is set for a task, frozen when the task is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRules {
    pub four_eyes: FourEyes,
    pub approvers: Approvers,
    /// How long a plan may wait before the task pauses.
    pub patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approvers {
    /// Everyone whose role may approve.
    AnyApprover,
    /// Only these, and they still need the role.
    Listed { people: BTreeSet<PersonId>, teams: BTreeSet<TeamName> },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalRefusal {
    #[error("plan {} was meant, but plan {} is the one waiting; read it and decide again",
        .offered.short(), .waiting.short())]
    StalePlan { offered: PlanHash, waiting: PlanHash },
    #[error("a {role} may not approve plans; ask an approver")]
    Role { role: &'static str },
    #[error("this repository asks for four eyes: someone other than the requester must approve")]
    OwnPlan,
    #[error("only the approvers listed for this task may approve it")]
    NotListed,
}

impl Default for GateRules {
    fn default() -> Self {
        Self {
            four_eyes: FourEyes::NotRequired,
            approvers: Approvers::AnyApprover,
            patience: Duration::from_hours(24),
        }
    }
}

impl GateRules {
    /// May `person` approve `offered`, when `waiting` is the plan on the table?
    pub fn check(
        &self,
        offered: PlanHash,
        waiting: PlanHash,
        person: &Person,
        requester: PersonId,
    ) -> Result<(), ApprovalRefusal> {
        let relation =
            if person.id == requester { Relation::Requester } else { Relation::Colleague };
        if !person.role.may(Action::Approve, relation) {
            return Err(ApprovalRefusal::Role { role: person.role.name() });
        }
        match &self.approvers {
            Approvers::AnyApprover => {}
            Approvers::Listed { people, teams } => {
                if !people.contains(&person.id) && person.teams.is_disjoint(teams) {
                    return Err(ApprovalRefusal::NotListed);
                }
            }
        }
        if self.four_eyes == FourEyes::Required && relation == Relation::Requester {
            return Err(ApprovalRefusal::OwnPlan);
        }
        if offered != waiting {
            return Err(ApprovalRefusal::StalePlan { offered, waiting });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{people::Role, plan::tests::sample};

    const ANN: PersonId = PersonId::from_u128(1);
    const BOB: PersonId = PersonId::from_u128(2);

    fn person(id: PersonId, role: Role, team: &str) -> Person {
        Person { id, role, teams: BTreeSet::from([team.parse().unwrap()]) }
    }

    #[test]
    fn four_eyes_keeps_the_requester_from_their_own_plan() {
        let plan = sample().hash();
        let rules = GateRules { four_eyes: FourEyes::Required, ..GateRules::default() };
        let (ann, bob) = (person(ANN, Role::Admin, "web"), person(BOB, Role::Approver, "web"));
        assert_eq!(rules.check(plan, plan, &ann, ANN), Err(ApprovalRefusal::OwnPlan));
        assert_eq!(rules.check(plan, plan, &bob, ANN), Ok(()));
        assert_eq!(GateRules::default().check(plan, plan, &ann, ANN), Ok(()));
    }

    #[test]
    fn a_listed_team_approves_and_others_do_not() {
        let plan = sample().hash();
        let teams = BTreeSet::from(["web".parse().unwrap()]);
        let rules = GateRules {
            approvers: Approvers::Listed { people: BTreeSet::new(), teams },
            ..GateRules::default()
        };
        let check = |who: &Person| rules.check(plan, plan, who, ANN);
        assert_eq!(check(&person(BOB, Role::Approver, "web")), Ok(()));
        assert_eq!(check(&person(BOB, Role::Admin, "ops")), Err(ApprovalRefusal::NotListed));
        let delegator = person(BOB, Role::Delegator, "web");
        assert_eq!(check(&delegator), Err(ApprovalRefusal::Role { role: "delegator" }));
    }

    #[test]
    fn an_allowed_command_may_have_arguments_but_no_companion() {
        let conditions = Conditions {
            commands: Some(BTreeSet::from(["cargo test".to_owned()])),
            ..Conditions::default()
        };
        assert!(Conditions::default().allow_command("anything"));
        for allowed in ["cargo test", "cargo test -p login --locked"] {
            assert!(conditions.allow_command(allowed), "{allowed}");
        }
        for refused in [
            "cargo testify",
            "cargo test; curl evil",
            "cargo test && curl evil",
            "cargo test $(curl evil)",
            "cargo test | sh",
            "cargo test\ncurl evil",
            "cd x && cargo test",
            "",
        ] {
            assert!(!conditions.allow_command(refused), "{refused}");
        }
    }

    #[test]
    fn a_stale_plan_is_refused_with_a_sentence() {
        let (read, mut newer) = (sample(), sample());
        newer.commands.push("curl evil".to_owned());
        let refusal = GateRules::default()
            .check(read.hash(), newer.hash(), &person(BOB, Role::Approver, "web"), ANN)
            .unwrap_err();
        assert!(refusal.to_string().starts_with("plan "), "{refusal}");
        assert!(refusal.to_string().ends_with("read it and decide again"), "{refusal}");
    }
}
