//! What a task is given to go by: who works on it, in which repositories, and within which limits. Frozen when it is asked for.
//!
//! Limits are the nearest word (what is wished, the agent's file, the server's defaults), and never more than the policy's ceilings.

use std::{collections::BTreeSet, time::Duration};

use config::agent::{AgentFile, Repository};
use contracts::{
    agent::Mode,
    order::{Order, OrderError, Wish, WishedRepository},
};
use domain::{
    agent::{AgentName, AgentNameError},
    approval::{Approvers, GateRules},
    code::{Access, RepositoryName},
    limits::{Limits, PhaseTimes},
    money::Money,
    people::Person,
    policy::{self, Approver, Candidate, Policy, TriggerKind},
    request::{ChannelKind, RepositoryUse, Source, Trigger, Triggerer},
};

use crate::{OWNER, agents::Member, layers::Layers, roster, server_files::ServerFiles};

/// How long a plan or a question waits for an answer where nobody says.
pub(crate) const PATIENCE: Duration = Duration::from_hours(24);

/// The task of a wish, by the files as they are. Repositories are not looked at yet.
pub fn order(said: &ServerFiles, layers: &Layers, wish: &Wish) -> Result<Order, OrderError> {
    let Wish { by, door, .. } = wish;
    let unfit = |reason: String| OrderError::Agent { reason };
    let agent = agent(said, wish)?;
    let member = roster::member(said, &agent).map_err(unfit)?;
    for mode in Mode::ALL {
        roster::place(said, &agent, mode, wish.model.as_deref()).map_err(unfit)?;
    }
    let policy = policy(layers, member.file());
    if !kind(*door).is_some_and(|kind| policy.triggers.kinds.contains(&kind)) {
        return Err(OrderError::ClosedDoor { door: *door });
    }
    let limits = limits(said, &policy, member, wish)?;
    let wished = wish.repositories.iter().enumerate();
    let wished = wished.map(|(number, wished)| repository(number, wished, member.file()));
    let mut repositories = wished.collect::<Result<Vec<RepositoryUse>, OrderError>>()?;
    repositories.extend(besides(&repositories, member.file()));
    let trigger = Trigger {
        by: Triggerer::Person(by.clone()),
        text: wish.text.clone(),
        source: Source { channel: *door, thread: String::new() },
        repositories,
        agent,
        definition: Some(member.definition()),
        model: wish.model.clone(),
        quotes: Vec::new(),
        parent: None,
    };
    Ok(Order { trigger, limits })
}

/// What the policy calls a door that people come in by themselves.
const fn kind(door: ChannelKind) -> Option<TriggerKind> {
    match door {
        ChannelKind::Cli => Some(TriggerKind::Cli),
        ChannelKind::Web => Some(TriggerKind::Web),
        ChannelKind::Api => Some(TriggerKind::Api),
        ChannelKind::Slack
        | ChannelKind::GitHub
        | ChannelKind::Linear
        | ChannelKind::Schedule
        | ChannelKind::Webhook => None,
    }
}

fn agent(said: &ServerFiles, wish: &Wish) -> Result<AgentName, OrderError> {
    if let Some(agent) = &wish.agent {
        return Ok(agent.clone());
    }
    let usual = said.staff.usual().parse();
    usual.map_err(|error: AgentNameError| OrderError::Agent { reason: error.to_string() })
}

fn policy(layers: &Layers, file: Option<&AgentFile>) -> Policy {
    let mut below = vec![layers.platform.clone()];
    below.extend(file.map(AgentFile::layer));
    policy::effective(&layers.organisation, &below).policy
}

/// The first may be changed unless somebody says otherwise; a file that lets a repository be read only is heard.
fn repository(
    number: usize,
    wished: &WishedRepository,
    file: Option<&AgentFile>,
) -> Result<RepositoryUse, OrderError> {
    let name = wished.name.clone();
    if wished.revision.is_some() {
        return Err(OrderError::Revision { repository: name });
    }
    let all = listed(file);
    let listed = all.iter().find(|it| it.name == name).or_else(|| all.iter().find(|it| is_any(it)));
    if number == 0 && listed.is_none() && !all.is_empty() {
        let listed = all.iter().map(|it| it.name.clone()).collect();
        return Err(OrderError::NotListed { repository: name, listed });
    }
    if let Some(branch) = listed.and_then(|it| it.branch.as_ref()) {
        return Err(OrderError::OtherBranch { repository: name, branch: branch.to_string() });
    }
    let most = listed.map_or(Access::Write, |it| it.access);
    let asked = match (wished.access, number) {
        (Some(Access::Write), _) | (None, 0) => Access::Write,
        (Some(Access::Read) | None, _) => Access::Read,
    };
    if number == 0 && asked.min(most) == Access::Read {
        return Err(OrderError::OnlyRead { repository: name });
    }
    Ok(RepositoryUse { name, access: asked.min(most) })
}

/// Stands for every repository, in a file that is for no particular one.
const ANY: &str = "any";

fn is_any(listed: &Repository) -> bool {
    listed.name.as_str() == ANY
}

fn listed(file: Option<&AgentFile>) -> &[Repository] {
    file.map_or(&[][..], |file| &file.sandbox.repositories)
}

/// The other repositories of the agent's file, to be read.
fn besides(wished: &[RepositoryUse], file: Option<&AgentFile>) -> Vec<RepositoryUse> {
    let is_wished = |name: &RepositoryName| wished.iter().any(|it| it.name == *name);
    let others = listed(file).iter().filter(|it| !is_any(it) && !is_wished(&it.name));
    others.map(|it| RepositoryUse { name: it.name.clone(), access: Access::Read }).collect()
}

fn limits(
    said: &ServerFiles,
    policy: &Policy,
    member: Member<'_>,
    wish: &Wish,
) -> Result<Limits, OrderError> {
    let (defaults, file) = (&said.server.defaults, member.file());
    let written = file.map(|file| &file.limits);
    let attempts = written.and_then(|it| it.attempts).unwrap_or(defaults.attempts).get();
    let attempts = wish.attempts.map_or(attempts, u64::from);
    let most = policy.ceilings.attempts;
    if wish.attempts.is_some() && attempts > most {
        return Err(OrderError::TooManyAttempts { most });
    }
    let attempts = u8::try_from(attempts.min(most)).unwrap_or(u8::MAX);
    Ok(Limits {
        attempts,
        budget: budget(said, policy, file, wish)?,
        time: times(file, policy.ceilings.time),
        gate: gate(policy, file, &wish.by),
        answer_patience: file.map_or(PATIENCE, |file| file.limits.answer.get()),
        ..Limits::default()
    })
}

fn budget(
    said: &ServerFiles,
    policy: &Policy,
    file: Option<&AgentFile>,
    wish: &Wish,
) -> Result<Money, OrderError> {
    let most = policy.ceilings.budget;
    let written = file.and_then(|file| file.limits.budget).unwrap_or(said.server.defaults.budget);
    match wish.budget {
        Some(wished) if wished > most => Err(OrderError::BudgetTooLarge { most }),
        Some(wished) => Ok(wished),
        None => Ok(written.get().min(most)),
    }
}

fn times(file: Option<&AgentFile>, longest: Duration) -> PhaseTimes {
    let usual = PhaseTimes::default();
    let phases = file.map(|file| &file.phases);
    let choice = |it: &Option<config::agent::PhaseChoice>| {
        it.as_ref().and_then(|choice| choice.timeout).map(config::units::RunTime::get)
    };
    let of = |written: Option<Duration>, usual: Duration| written.unwrap_or(usual).min(longest);
    let research = phases.and_then(|phases| choice(&phases.research));
    let verify = phases.and_then(|phases| phases.verify.as_ref()).map(|it| it.timeout.get());
    PhaseTimes {
        prepare: of(None, usual.prepare),
        research: of(research, usual.research),
        plan: of(research, usual.plan),
        implement: of(phases.and_then(|it| choice(&it.implement)), usual.implement),
        verify: of(verify, usual.verify),
        review: of(phases.and_then(|it| choice(&it.review)), usual.review),
        deliver: usual.deliver,
    }
}

/// The gate as the layers set it. There is one person here, the owner; teams are named for the day when there are more.
fn gate(policy: &Policy, file: Option<&AgentFile>, owner: &Person) -> GateRules {
    let gate = &policy.gate;
    // The policy says the longest. How long it is, a file says, which has a word for it in any case.
    let usual = if file.is_some() { Duration::MAX } else { PATIENCE };
    let lists: Vec<&BTreeSet<Approver>> = gate.approvers.lists().collect();
    let approvers = match lists.as_slice() {
        [] => Approvers::AnyApprover,
        [first, rest @ ..] => {
            let candidate = Candidate {
                user: OWNER.to_owned(),
                teams: owner.teams.iter().map(|team| team.as_str().to_owned()).collect(),
                roles: BTreeSet::from([owner.role.name().to_owned()]),
            };
            let is_listed = gate.approvers.permit(&candidate);
            let people = is_listed.then_some(owner.id).into_iter().collect();
            // Of several lists a person must be on each, so no team alone is enough.
            let named = first.iter().filter(|_| rest.is_empty()).filter_map(|it| match it {
                Approver::Team(name) => name.parse().ok(),
                Approver::User(_) | Approver::Role(_) => None,
            });
            Approvers::Listed { people, teams: named.collect() }
        }
    };
    GateRules { four_eyes: gate.four_eyes, approvers, patience: gate.timeout.min(usual) }
}

#[cfg(test)]
mod tests {
    use domain::{approval::FourEyes, id::PersonId, people::Role};

    use super::*;
    use crate::agents::tests::said;

    const MODEL: &str = "models: [{ name: a, provider: anthropic, model: big }]\n";

    const FIX: &str = "lamp: { version: 1, name: fix }\nagent: { driver: builtin }\n\
        phases: { review: { timeout: 5m } }\nsandbox: { repositories: [{ name: web }, { name: api, access: read }] }\n\
        plan: { approvers: [team:web], four_eyes: true, timeout: 2h }\nlimits: { attempts: 3, budget: $4 }\n";

    fn ann() -> Person {
        Person { id: PersonId::from_u128(1), role: Role::Admin, teams: BTreeSet::new() }
    }

    fn wish(names: &[&str]) -> Wish {
        let repository = |name: &&str| WishedRepository {
            name: name.parse().unwrap(),
            url: "/srv/web".to_owned(),
            revision: None,
            access: None,
        };
        Wish {
            by: ann(),
            door: ChannelKind::Cli,
            text: "fix it".to_owned(),
            repositories: names.iter().map(repository).collect(),
            agent: None,
            model: None,
            attempts: None,
            budget: None,
        }
    }

    fn ordered(said: &ServerFiles, wish: &Wish) -> Result<(Trigger, Limits), String> {
        let layers = Layers::of(said).unwrap();
        let order = order(said, &layers, wish).map_err(|error| error.to_string())?;
        Ok((order.trigger, order.limits))
    }

    #[test]
    fn without_any_file_the_builtin_agent_works_within_the_usual_limits() {
        let (trigger, limits) = ordered(&said(MODEL, &[]), &wish(&["web", "api"])).unwrap();
        assert_eq!(trigger.agent.as_str(), "builtin");
        let accesses: Vec<Access> = trigger.repositories.iter().map(|it| it.access).collect();
        assert_eq!(accesses, [Access::Write, Access::Read]);
        assert_eq!((limits.attempts, limits.budget), (5, Money::from_dollars(10)));
        assert_eq!(limits.gate, GateRules::default());
    }

    #[test]
    fn a_file_says_the_limits_and_who_approves() {
        let said = said(MODEL, &[("agents/fix.yaml", FIX)]);
        let (trigger, limits) = ordered(&said, &wish(&["web"])).unwrap();
        assert_eq!(trigger.agent.as_str(), "fix", "it is the only one");
        assert_eq!((limits.attempts, limits.budget), (3, Money::from_dollars(4)));
        assert_eq!(limits.time.review, Duration::from_mins(5));
        assert_eq!(limits.gate.four_eyes, FourEyes::Required);
        assert_eq!(limits.gate.patience, Duration::from_hours(2));
        let Approvers::Listed { people, teams } = &limits.gate.approvers else { panic!() };
        assert!(people.is_empty() && teams.len() == 1, "the owner is in no team");
    }

    #[test]
    fn plans_and_questions_wait_as_long_as_is_written() {
        let with = |plan: &str, policy: &str| {
            let file = format!(
                "lamp: {{ version: 1, name: fix }}\nagent: {{ driver: builtin }}\n\
                 sandbox: {{ repositories: [{{ name: web }}] }}\n{plan}"
            );
            let policy = format!(
                "version: 1\n{policy}egress: {{ research: {{ allow: ['model:anthropic'] }} }}\n"
            );
            let said = said(MODEL, &[("agents/fix.yaml", &file), ("policy.yaml", &policy)]);
            let (_, limits) = ordered(&said, &wish(&["web"])).unwrap();
            (limits.gate.patience.as_secs() / 3600, limits.answer_patience.as_secs() / 3600)
        };
        assert_eq!(with("", ""), (24, 24));
        assert_eq!(with("plan: { timeout: 3d }\nlimits: { answer: 2d }\n", ""), (72, 48));
        let short = "approval: { timeout: 12h }\n";
        assert_eq!(with("plan: { timeout: 3d }\n", short), (12, 24), "the policy says the longest");
        let long = "version: 1\napproval: { timeout: 7d }\negress: { research: { allow: ['model:anthropic'] } }\n";
        let said = said(MODEL, &[("policy.yaml", long)]);
        let (_, limits) = ordered(&said, &wish(&["web"])).unwrap();
        assert_eq!(limits.gate.patience, PATIENCE, "the longest is not the usual");
    }

    #[test]
    fn only_the_doors_that_the_policy_names_are_open() {
        let policy = "version: 1\ntriggers: { allow: [web, api] }\negress: { research: { allow: ['model:anthropic'] } }\n";
        let said = said(MODEL, &[("policy.yaml", policy)]);
        let layers = Layers::of(&said).unwrap();
        let by = |door| order(&said, &layers, &Wish { door, ..wish(&["web"]) });
        assert_eq!(by(ChannelKind::Api).unwrap().trigger.source.channel, ChannelKind::Api);
        assert!(by(ChannelKind::Web).is_ok());
        let refused = by(ChannelKind::Cli).unwrap_err();
        assert_eq!(refused, OrderError::ClosedDoor { door: ChannelKind::Cli });
        assert_eq!(
            refused.to_string(),
            "the server's policy lets no task be started by this door, `cli`"
        );
    }

    #[test]
    fn a_file_brings_the_other_repositories_that_it_lists() {
        let said = said(MODEL, &[("agents/fix.yaml", FIX)]);
        let names = |wished: &[&str]| {
            let (trigger, _) = ordered(&said, &wish(wished)).unwrap();
            let told = trigger.repositories.iter().map(|it| format!("{} {:?}", it.name, it.access));
            told.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(names(&["web"]), "web Write, api Read");
        assert_eq!(names(&["web", "api"]), "web Write, api Read");
        assert_eq!(
            ordered(&said, &wish(&["shop"])).unwrap_err(),
            "the agent's file is for `web`, `api`, and not for `shop`"
        );
        let any = FIX.replace("{ name: web }", "{ name: any }");
        let any = crate::agents::tests::said(MODEL, &[("agents/fix.yaml", &any)]);
        let (trigger, _) = ordered(&any, &wish(&["shop"])).unwrap();
        assert_eq!(trigger.repositories.len(), 2, "`shop`, and `api` to be read");
        let builtin = Wish { agent: "builtin".parse().ok(), ..wish(&["shop"]) };
        assert!(ordered(&said, &builtin).is_ok(), "another agent works anywhere");
    }

    #[test]
    fn nobody_gets_more_than_the_policy_allows() {
        let policy = "version: 1\nlimits: { attempts: 2, budget: $3, timeout: 10m }\n\
            egress: { research: { allow: ['model:anthropic'] } }\n";
        let said = said(MODEL, &[("policy.yaml", policy)]);
        let (_, limits) = ordered(&said, &wish(&["web"])).unwrap();
        assert_eq!((limits.attempts, limits.budget), (2, Money::from_dollars(3)));
        assert_eq!(limits.time.implement, Duration::from_mins(10));
        let more = Wish { budget: Some(Money::from_micros(4_000_000)), ..wish(&["web"]) };
        assert_eq!(ordered(&said, &more).unwrap_err(), "a task may spend $3.00 at most here");
        let more = Wish { attempts: Some(3), ..wish(&["web"]) };
        assert_eq!(ordered(&said, &more).unwrap_err(), "a task may have 2 attempts at most");
        let budget = Some(Money::from_micros(1_000_000));
        let less = Wish { budget, attempts: Some(1), ..wish(&["web"]) };
        let (_, limits) = ordered(&said, &less).unwrap();
        assert_eq!((limits.attempts, limits.budget), (1, Money::from_dollars(1)));
    }

    #[test]
    fn the_usual_budget_is_no_ceiling() {
        let server = format!("{MODEL}defaults: {{ budget: $2 }}\nlimits: {{ budget: $50 }}\n");
        let said = said(&server, &[]);
        let with = |micros: Option<u64>| {
            let budget = micros.map(Money::from_micros);
            ordered(&said, &Wish { budget, ..wish(&["web"]) })
        };
        assert_eq!(with(None).unwrap().1.budget, Money::from_dollars(2));
        assert_eq!(with(Some(40_000_000)).unwrap().1.budget, Money::from_dollars(40));
        assert_eq!(with(Some(51_000_000)).unwrap_err(), "a task may spend $50.00 at most here");
    }

    #[test]
    fn what_cannot_be_done_is_told_before_a_task_begins() {
        let said = said(MODEL, &[("agents/fix.yaml", FIX)]);
        let odd = |change: fn(&mut Wish)| {
            let mut wish = wish(&["web"]);
            change(&mut wish);
            ordered(&said, &wish).unwrap_err()
        };
        let branch = FIX.replace("{ name: web }", "{ name: web, branch: next }");
        let branched = crate::agents::tests::said(MODEL, &[("agents/fix.yaml", &branch)]);
        let refused = ordered(&branched, &wish(&["web"])).unwrap_err();
        assert_eq!(
            refused,
            "the agent's file wants `web` from the branch `next`, and tasks begin from the default branch"
        );
        let told = [
            odd(|wish| wish.agent = "nobody".parse().ok()),
            odd(|wish| wish.agent = "codex".parse().ok()),
            odd(|wish| wish.repositories[0].revision = Some("v1".to_owned())),
            odd(|wish| wish.repositories[0].name = "api".parse().unwrap()),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        this server has no agent `nobody`; it has fix, claude-code, codex, opencode, gemini, pi, qwen, builtin; a file `agents/nobody.yaml` beside `lamp.yaml` makes another
        `lamp.yaml` sets up no model that `codex` can speak with; add one below `models` of `lamp.yaml`, such as `{ name: anthropic, provider: anthropic, secret: ANTHROPIC_API_KEY }`
        tasks begin from the default branch of `web`
        a change could not be delivered to `api`, which may only be read
        ");
    }
}
