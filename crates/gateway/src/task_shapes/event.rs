//! What happened to a task, and what its agents said.

use domain::{
    approval::{Approvers, FourEyes, GateRules},
    code::Access,
    definition::Definition,
    digest::Digest,
    failure::Failure,
    id::PersonId,
    limits::Limits,
    phase::Phase,
    question::Question,
    request::{RepositoryUse, Request},
    task::{DoneBecause, Event, Leftovers, PauseReason, Remark, Speaker, Verdict, WakeCause},
};
use engine::record::ChecksRecord;
use store::{Blobs, Recorded, Said};
use wire::task::{checks, event as told, new, shown, transcript::TranscriptItem};

use super::{headline, money, plan, spent, time};
use crate::agent_shapes;

type Name<'a> = &'a dyn Fn(PersonId) -> shown::Person;

pub(crate) fn said(said: Said) -> TranscriptItem {
    TranscriptItem {
        number: said.number,
        run: said.run,
        attempt: said.attempt,
        at: time(said.at),
        event: agent_shapes::event(said.event),
    }
}

/// `name` says who somebody is; `documents` holds what events name.
pub(crate) fn recorded(
    recorded: &Recorded,
    name: Name<'_>,
    documents: &Blobs,
) -> told::RecordedEvent {
    told::RecordedEvent {
        number: recorded.seq,
        at: time(recorded.at),
        event: event(&recorded.event, name, documents),
    }
}

fn leftovers(left: &Leftovers) -> told::Leftovers {
    let (restored, more) = (left.restored.clone(), left.more);
    told::Leftovers { restored, left: left.left.clone(), more }
}

fn event(event: &Event, name: Name<'_>, documents: &Blobs) -> told::TaskEvent {
    use told::TaskEvent as Told;
    match event {
        Event::Requested { request, limits } => Told::Requested {
            request: Box::new(request_out(request, name)),
            limits: limits_out(limits, name),
        },
        Event::Admitted => Told::Admitted {},
        Event::Prepared { sandbox, commit, left } => Told::Prepared {
            sandbox: sandbox.to_string(),
            commit: commit.to_string(),
            left: leftovers(left),
        },
        Event::QuestionAsked { question, session } => {
            Told::QuestionAsked { question: question_out(question), session: session.clone() }
        }
        Event::Answered { question, by, text } => {
            Told::Answered { question: question.to_string(), by: name(*by), text: text.clone() }
        }
        Event::Researched { notes, session } => {
            Told::Researched { notes: notes.to_string(), session: session.clone() }
        }
        Event::PlanSubmitted { plan, session } => {
            Told::PlanSubmitted { plan: plan::plan(plan), session: session.clone() }
        }
        Event::Approved { plan, by, conditions } => Told::Approved {
            plan: plan.to_string(),
            by: name(*by),
            conditions: plan::conditions(conditions),
        },
        Event::Rejected { plan, by, comment } => {
            Told::Rejected { plan: plan.to_string(), by: name(*by), comment: comment.clone() }
        }
        Event::Implemented { base, commit, difference, record, session } => Told::Implemented {
            base: base.to_string(),
            commit: commit.to_string(),
            difference: difference.to_string(),
            record: record.to_string(),
            session: session.clone(),
        },
        Event::ChecksPassed { evidence } => checks_passed(*evidence, documents),
        Event::ChecksFailed { footprint, evidence, verdict } => Told::ChecksFailed {
            footprint: told::AttemptFootprint {
                failing: footprint.failing().to_string(),
                change: footprint.change().to_string(),
            },
            evidence: evidence.to_string(),
            stopped_by: stopped_by(verdict),
        },
        Event::ReviewPassed { evidence } => Told::ReviewPassed { evidence: evidence.to_string() },
        Event::ReviewFoundFaults { evidence, findings, verdict } => Told::ReviewFoundFaults {
            evidence: evidence.to_string(),
            findings: findings.iter().map(ToString::to_string).collect(),
            stopped_by: stopped_by(verdict),
        },
        Event::FindingDismissed { finding, by, why } => {
            Told::FindingDismissed { finding: finding.to_string(), by: name(*by), why: why.clone() }
        }
        Event::PullRequestOpened { number, receipt } => {
            Told::PullRequestOpened { number: number.0, receipt: receipt.to_string() }
        }
        Event::Woken { cause } => Told::Woken { cause: woken(cause, name) },
        Event::Messaged { by, text } => Told::Messaged { by: name(*by), text: text.clone() },
        Event::Amended { by, conditions } => {
            Told::Amended { by: name(*by), conditions: plan::conditions(conditions) }
        }
        Event::BudgetRaised { by, to } => Told::BudgetRaised { by: name(*by), to: money(*to) },
        Event::Charged { phase, cost, verdict } => Told::Charged {
            phase: phase.name().to_owned(),
            cost: spent(*cost),
            stopped_by: stopped_by(verdict),
        },
        Event::Paused { why } => Told::Paused {
            why: match why {
                PauseReason::Asked { by } => told::PauseReason::Asked { by: name(*by) },
                PauseReason::Failure(why) => told::PauseReason::Failure { failure: failure(why) },
            },
        },
        Event::Resumed { by } => Told::Resumed { by: name(*by) },
        Event::Retried { by, from } => {
            Told::Retried { by: name(*by), from: from.name().to_owned() }
        }
        Event::Done { because } => Told::Done { because: done(*because).to_owned() },
        Event::Failed { failure: why } => Told::Failed { failure: failure(why) },
        Event::Cancelled { by } => Told::Cancelled { by: name(*by) },
    }
}

fn woken(cause: &WakeCause, name: Name<'_>) -> told::WakeCause {
    match cause {
        WakeCause::Comment { by, text } => {
            told::WakeCause::Comment { by: name(*by), text: text.clone() }
        }
        WakeCause::FailedCheck { check } => told::WakeCause::FailedCheck { check: check.clone() },
        WakeCause::Remarks(remarks) => {
            let told = |remark: &Remark| told::WakeRemark {
                by: remark.by.clone(),
                known: remark.speaker == Speaker::Known,
                text: remark.text.clone(),
            };
            told::WakeCause::Remarks { remarks: remarks.iter().map(told).collect() }
        }
    }
}

/// The store keeps one event for all that lets a change go on; what it is called is what its document says. A document that cannot be read keeps
/// nobody from hearing that there was one.
fn checks_passed(evidence: Digest, documents: &Blobs) -> told::TaskEvent {
    let record = documents.get(evidence).ok().and_then(|it| ChecksRecord::read(&it).ok());
    let headline = record.as_ref().map(headline::headline);
    let evidence = evidence.to_string();
    match headline {
        Some(headline) => match headline.conclusion {
            checks::Conclusion::NothingWorse => {
                told::TaskEvent::ChecksNotWorse { evidence, headline }
            }
            checks::Conclusion::Unproven => told::TaskEvent::ChecksUnproven { evidence, headline },
            checks::Conclusion::Passes | checks::Conclusion::Fails => {
                told::TaskEvent::ChecksPassed { evidence, headline: Some(headline) }
            }
        },
        None => told::TaskEvent::ChecksPassed { evidence, headline: None },
    }
}

pub(super) const fn done(because: DoneBecause) -> &'static str {
    match because {
        DoneBecause::Merged => "merged",
        DoneBecause::PullRequestClosed => "pull_request_closed",
        DoneBecause::TakenOver => "taken_over",
    }
}

pub(super) fn question_out(question: &Question) -> shown::Question {
    shown::Question {
        id: question.id.to_string(),
        text: question.text.clone(),
        choices: question.choices.clone(),
    }
}

pub(super) fn failure(failure: &Failure) -> shown::Failure {
    shown::Failure {
        kind: failure.kind.name().to_owned(),
        phase: failure.phase.name().to_owned(),
        message: failure.message.clone(),
        last_lines: failure.last_lines.clone(),
        remedy: failure.kind.remedy().to_owned(),
    }
}

fn stopped_by(verdict: &Verdict) -> Option<shown::Failure> {
    match verdict {
        Verdict::GoesOn => None,
        Verdict::Stops(why) => Some(failure(why)),
    }
}

pub(super) fn repositories(repositories: &[RepositoryUse]) -> Vec<told::RepositoryUse> {
    let access = |access| match access {
        Access::Read => new::Access::Read,
        Access::Write => new::Access::Write,
    };
    repositories
        .iter()
        .map(|it| told::RepositoryUse { name: it.name.to_string(), access: access(it.access) })
        .collect()
}

fn request_out(request: &Request, name: Name<'_>) -> told::TaskRequest {
    told::TaskRequest {
        text: request.text.clone(),
        author: name(request.author),
        role: request.role.name().to_owned(),
        channel: request.source.channel.name().to_owned(),
        thread: request.source.thread.clone(),
        repositories: repositories(&request.repositories),
        agent: request.agent.to_string(),
        definition: request.definition.as_ref().map(definition_out),
        model: request.model.clone(),
        quotes: request
            .quotes
            .iter()
            .map(|quote| told::Quote { author: quote.author.clone(), text: quote.text.clone() })
            .collect(),
        parent: request.parent.map(|parent| parent.to_string()),
    }
}

pub(crate) fn definition_out(definition: &Definition) -> told::AgentDefinition {
    match definition {
        Definition::BuiltIn => told::AgentDefinition::BuiltIn {},
        Definition::Server { file, digest } => {
            told::AgentDefinition::Server { file: file.clone(), digest: digest.to_string() }
        }
        Definition::Repository { repository, commit, file, digest } => {
            told::AgentDefinition::Repository {
                repository: repository.to_string(),
                commit: commit.to_string(),
                file: file.clone(),
                digest: digest.to_string(),
            }
        }
    }
}

fn limits_out(limits: &Limits, name: Name<'_>) -> told::TaskLimits {
    let phase = |phase: Phase| told::PhaseLimit {
        phase: phase.name().to_owned(),
        seconds: limits.time.of(phase).as_secs(),
    };
    told::TaskLimits {
        attempts: limits.attempts,
        review_rounds: limits.review_rounds,
        follow_ups: limits.follow_ups,
        budget: money(limits.budget),
        phases: Phase::ALL.into_iter().map(phase).collect(),
        answer_patience_seconds: limits.answer_patience.as_secs(),
        gate: gate(&limits.gate, name),
    }
}

fn gate(rules: &GateRules, name: Name<'_>) -> told::GateRules {
    told::GateRules {
        four_eyes: rules.four_eyes == FourEyes::Required,
        approvers: match &rules.approvers {
            Approvers::AnyApprover => None,
            Approvers::Listed { people, teams } => Some(told::ListedApprovers {
                people: people.iter().map(|person| name(*person)).collect(),
                teams: teams.iter().map(|team| team.as_str().to_owned()).collect(),
            }),
        },
        patience_seconds: rules.patience.as_secs(),
    }
}
