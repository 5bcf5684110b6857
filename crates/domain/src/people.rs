//! Who may do what: roles and actions, as one exhaustive function.
//!
//! A role is a promise to a colleague ("you may approve"), not a level; still, each one includes what
//! the roles before it may do to tasks. `security` stands apart: it owns policy, secrets and the
//! audit log, and may stop any task, but it does not approve plans.

use std::{collections::BTreeSet, fmt, str::FromStr};

use crate::id::PersonId;

/// A human being whom a door has recognised, with the role that counts here.
///
/// Only doors make one, from `access`. Nothing that an agent says becomes a `Person`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: PersonId,
    pub role: Role,
    pub teams: BTreeSet<TeamName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    Viewer,
    Delegator,
    Approver,
    Maintainer,
    Security,
    Admin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    View,
    Submit,
    /// Message, answer, pause, resume, cancel, retry.
    Steer,
    Approve,
    /// Let a plan leave its conditions or spend more, or a change be delivered against a finding of its reviewer.
    Widen,
    OpenShell,
    Merge,
    ConfigureRepository,
    ChangePolicy,
    ManageSecrets,
    ReadAudit,
    ManagePeople,
}

/// What the person has to do with the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Requester,
    Colleague,
}

impl Role {
    pub const ALL: [Self; 6] = [
        Self::Viewer,
        Self::Delegator,
        Self::Approver,
        Self::Maintainer,
        Self::Security,
        Self::Admin,
    ];

    /// May someone in this role do `action` to a task that is theirs, or a colleague's?
    pub const fn may(self, action: Action, relation: Relation) -> bool {
        match action {
            Action::View => true,
            Action::Submit => match self {
                Self::Viewer | Self::Security => false,
                Self::Delegator | Self::Approver | Self::Maintainer | Self::Admin => true,
            },
            Action::Steer => match (self, relation) {
                (Self::Viewer, Relation::Requester | Relation::Colleague)
                | (Self::Delegator, Relation::Colleague) => false,
                (Self::Delegator, Relation::Requester)
                | (
                    Self::Approver | Self::Maintainer | Self::Security | Self::Admin,
                    Relation::Requester | Relation::Colleague,
                ) => true,
            },
            Action::OpenShell => match (self, relation) {
                (Self::Viewer, Relation::Requester | Relation::Colleague)
                | (Self::Delegator | Self::Approver, Relation::Colleague) => false,
                (Self::Delegator | Self::Approver, Relation::Requester)
                | (
                    Self::Maintainer | Self::Security | Self::Admin,
                    Relation::Requester | Relation::Colleague,
                ) => true,
            },
            Action::Approve | Action::Widen => match self {
                Self::Viewer | Self::Delegator | Self::Security => false,
                Self::Approver | Self::Maintainer | Self::Admin => true,
            },
            Action::Merge | Action::ConfigureRepository => match self {
                Self::Viewer | Self::Delegator | Self::Approver | Self::Security => false,
                Self::Maintainer | Self::Admin => true,
            },
            Action::ChangePolicy | Action::ManageSecrets | Action::ReadAudit => match self {
                Self::Viewer | Self::Delegator | Self::Approver | Self::Maintainer => false,
                Self::Security | Self::Admin => true,
            },
            Action::ManagePeople => match self {
                Self::Viewer
                | Self::Delegator
                | Self::Approver
                | Self::Maintainer
                | Self::Security => false,
                Self::Admin => true,
            },
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Delegator => "delegator",
            Self::Approver => "approver",
            Self::Maintainer => "maintainer",
            Self::Security => "security",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no role `{0}`; the roles are viewer, delegator, approver, maintainer, security, admin"
)]
pub struct UnknownRole(pub String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| UnknownRole(name.to_owned()))
    }
}

/// A team, as a policy or an agent file names it: `team:web` is `TeamName("web")`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TeamName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a team's name: 1 to 64 letters, digits, `-` or `_`, beginning with a letter or digit"
)]
pub struct TeamNameError(pub String);

impl TeamName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TeamName {
    type Err = TeamNameError;

    fn from_str(name: &str) -> Result<Self, TeamNameError> {
        let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
        let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if starts_well && letters && name.len() <= 64 {
            return Ok(Self(name.to_owned()));
        }
        Err(TeamNameError(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, so that a change of right shows as a line in the difference.
    #[test]
    fn the_table_of_rights() {
        let actions = [
            Action::View,
            Action::Submit,
            Action::Steer,
            Action::Approve,
            Action::Widen,
            Action::OpenShell,
            Action::Merge,
            Action::ConfigureRepository,
            Action::ChangePolicy,
            Action::ManageSecrets,
            Action::ReadAudit,
            Action::ManagePeople,
        ];
        let cell = |role: Role, action| match (
            role.may(action, Relation::Requester),
            role.may(action, Relation::Colleague),
        ) {
            (true, true) => "yes",
            (true, false) => "own",
            (false, true) => "others",
            (false, false) => "-",
        };
        let line = |first: &str, cell: &dyn Fn(Role) -> &'static str| {
            let cells = Role::ALL.map(|role| format!("{:<11}", cell(role))).concat();
            format!("{first:<20}{cells}").trim_end().to_owned()
        };
        let mut table = vec![line("", &Role::name)];
        table
            .extend(actions.map(|action| line(&format!("{action:?}"), &|role| cell(role, action))));
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn security_owns_policy_and_approves_nothing() {
        assert!(Role::Security.may(Action::ChangePolicy, Relation::Colleague));
        assert!(!Role::Security.may(Action::Approve, Relation::Colleague));
    }

    #[test]
    fn a_team_name_has_no_surprises() {
        assert!("web".parse::<TeamName>().is_ok());
        for wrong in ["", "-web", "a/b", "a b", "wéb"] {
            assert!(wrong.parse::<TeamName>().is_err(), "{wrong}");
        }
    }
}
