//! Any event at all: odd texts, the largest numbers, empty lists.

use std::{collections::BTreeSet, fmt, str::FromStr, time::Duration};

use domain::{
    approval::{Approvers, Conditions, FourEyes, GateRules},
    code::{Access, PullRequestNumber},
    cost::Cost,
    digest::Digest,
    failure::{Failure, FailureKind},
    finding::FindingId,
    id::{PersonId, QuestionId, SandboxId, TaskId},
    limits::{Limits, PhaseTimes},
    money::Money,
    people::TeamName,
    phase::Phase,
    plan::{Estimate, FileChange, Plan, PlanHash},
    progress::Footprint,
    question::Question,
    request::{ChannelKind, Quote, RepositoryUse, Request, Source},
    task::{
        DoneBecause, Event, Leftovers, PauseReason, Remark, RemarkKind, Speaker, Verdict, WakeCause,
    },
};
use proptest::{
    collection::{btree_set, vec},
    option,
    prelude::*,
    sample::select,
};

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (request(), limits()).prop_map(|(request, limits)| Event::Requested { request, limits }),
        Just(Event::Admitted),
        (any::<u128>(), commit(), leftovers()).prop_map(|(id, commit, left)| Event::Prepared {
            sandbox: SandboxId::from_u128(id),
            commit,
            left,
        }),
        (question(), session())
            .prop_map(|(question, session)| Event::QuestionAsked { question, session }),
        (any::<u128>(), person(), text()).prop_map(|(id, by, text)| Event::Answered {
            question: QuestionId::from_u128(id),
            by,
            text
        }),
        (digest(), session()).prop_map(|(notes, session)| Event::Researched { notes, session }),
        (plan(), session()).prop_map(|(plan, session)| Event::PlanSubmitted { plan, session }),
        (plan_hash(), person(), conditions()).prop_map(|(plan, by, conditions)| Event::Approved {
            plan,
            by,
            conditions
        }),
        (plan_hash(), person(), text()).prop_map(|(plan, by, comment)| Event::Rejected {
            plan,
            by,
            comment
        }),
        (commit(), commit(), digest(), digest(), session()).prop_map(
            |(base, commit, difference, record, session)| Event::Implemented {
                base,
                commit,
                difference,
                record,
                session
            }
        ),
        digest().prop_map(|evidence| Event::ChecksPassed { evidence }),
        (digest(), digest(), digest(), verdict()).prop_map(
            |(failing, change, evidence, verdict)| {
                let footprint = Footprint::from_parts(failing, change);
                Event::ChecksFailed { footprint, evidence, verdict }
            }
        ),
        digest().prop_map(|evidence| Event::ReviewPassed { evidence }),
        (digest(), btree_set(finding(), 0..4), verdict()).prop_map(
            |(evidence, findings, verdict)| Event::ReviewFoundFaults {
                evidence,
                findings,
                verdict
            }
        ),
        (finding(), person(), option::of(text()))
            .prop_map(|(finding, by, why)| Event::FindingDismissed { finding, by, why }),
        (number(), digest()).prop_map(|(number, receipt)| Event::PullRequestOpened {
            number: PullRequestNumber(number),
            receipt
        }),
        wake_cause().prop_map(|cause| Event::Woken { cause }),
        (person(), text()).prop_map(|(by, text)| Event::Messaged { by, text }),
        (person(), conditions()).prop_map(|(by, conditions)| Event::Amended { by, conditions }),
        (person(), money()).prop_map(|(by, to)| Event::BudgetRaised { by, to }),
        (phase(), cost(), verdict()).prop_map(|(phase, cost, verdict)| Event::Charged {
            phase,
            cost,
            verdict
        }),
        pause_reason().prop_map(|why| Event::Paused { why }),
        person().prop_map(|by| Event::Resumed { by }),
        (person(), phase()).prop_map(|(by, from)| Event::Retried { by, from }),
        done_because().prop_map(|because| Event::Done { because }),
        failure().prop_map(|failure| Event::Failed { failure }),
        person().prop_map(|by| Event::Cancelled { by }),
    ]
}

fn leftovers() -> impl Strategy<Value = Leftovers> {
    (vec(text(), 0..3), vec(text(), 0..3), 0..3_u64).prop_map(|(restored, left, more)| Leftovers {
        restored,
        left,
        more,
    })
}

fn finding() -> impl Strategy<Value = FindingId> {
    text().prop_map(|what| FindingId::of("a", &what, "b"))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>(),
        2 => "[\u{0}-\u{1f}\"\\\\/\u{7f}\u{2028}\u{feff}\u{fffd}\u{10ffff}]{0,12}",
        1 => Just(String::new()),
        1 => Just("{\"by\":null}".to_owned()),
        1 => Just("å🕯".repeat(5_000)),
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..4)
}

fn text_set() -> impl Strategy<Value = Option<BTreeSet<String>>> {
    option::of(btree_set(text(), 0..4))
}

fn session() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

fn parsed<T: FromStr<Err: fmt::Debug> + fmt::Debug>(
    spelling: &'static str,
) -> impl Strategy<Value = T> {
    spelling.prop_map(|text: String| text.parse().unwrap())
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), Just((1 << 53) + 1)]
}

fn money() -> impl Strategy<Value = Money> {
    number().prop_map(Money::from_micros)
}

fn duration() -> impl Strategy<Value = Duration> {
    number().prop_map(Duration::from_millis)
}

fn person() -> impl Strategy<Value = PersonId> {
    any::<u128>().prop_map(PersonId::from_u128)
}

fn phase() -> impl Strategy<Value = Phase> {
    select(Phase::ALL.to_vec())
}

fn commit() -> impl Strategy<Value = domain::code::CommitId> {
    parsed("[0-9a-f]{40}|[0-9a-f]{64}")
}

fn digest() -> impl Strategy<Value = Digest> {
    parsed("[0-9a-f]{64}")
}

fn plan_hash() -> impl Strategy<Value = PlanHash> {
    parsed("[0-9a-f]{64}")
}

fn request() -> impl Strategy<Value = Request> {
    let quote = (text(), text()).prop_map(|(author, text)| Quote { author, text });
    let parent = any::<u128>().prop_map(TaskId::from_u128);
    let agent = parsed("[a-z][a-z0-9-]{0,63}");
    let parts = (text(), person(), source(), vec(repository(), 0..3), agent, option::of(text()));
    (parts, vec(quote, 0..3), option::of(parent)).prop_map(
        |((text, author, source, repositories, agent, model), quotes, parent)| Request {
            text,
            author,
            role: domain::people::Role::Maintainer,
            source,
            repositories,
            agent,
            definition: None,
            model,
            quotes,
            parent,
        },
    )
}

fn source() -> impl Strategy<Value = Source> {
    let channel = select(vec![
        ChannelKind::Cli,
        ChannelKind::Web,
        ChannelKind::Api,
        ChannelKind::Slack,
        ChannelKind::GitHub,
        ChannelKind::Linear,
        ChannelKind::Schedule,
        ChannelKind::Webhook,
    ]);
    (channel, text()).prop_map(|(channel, thread)| Source { channel, thread })
}

fn repository() -> impl Strategy<Value = RepositoryUse> {
    let name = parsed("[A-Za-z0-9_][A-Za-z0-9._-]{0,20}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,20})?");
    let access = select(vec![Access::Read, Access::Write]);
    (name, access).prop_map(|(name, access)| RepositoryUse { name, access })
}

fn limits() -> impl Strategy<Value = Limits> {
    (any::<[u8; 3]>(), money(), phase_times(), gate_rules(), duration()).prop_map(
        |([attempts, review_rounds, follow_ups], budget, time, gate, answer_patience)| Limits {
            attempts,
            review_rounds,
            follow_ups,
            budget,
            time,
            gate,
            answer_patience,
        },
    )
}

fn phase_times() -> impl Strategy<Value = PhaseTimes> {
    prop::array::uniform7(duration()).prop_map(
        |[prepare, research, plan, implement, verify, review, deliver]| PhaseTimes {
            prepare,
            research,
            plan,
            implement,
            verify,
            review,
            deliver,
        },
    )
}

fn gate_rules() -> impl Strategy<Value = GateRules> {
    let four_eyes = select(vec![FourEyes::Required, FourEyes::NotRequired]);
    let team = parsed::<TeamName>("[A-Za-z0-9][A-Za-z0-9_-]{0,63}");
    let listed = (btree_set(person(), 0..4), btree_set(team, 0..4))
        .prop_map(|(people, teams)| Approvers::Listed { people, teams });
    let approvers = prop_oneof![Just(Approvers::AnyApprover), listed];
    (four_eyes, approvers, duration()).prop_map(|(four_eyes, approvers, patience)| GateRules {
        four_eyes,
        approvers,
        patience,
    })
}

fn question() -> impl Strategy<Value = Question> {
    (any::<u128>(), text(), texts()).prop_map(|(id, text, choices)| Question {
        id: QuestionId::from_u128(id),
        text,
        choices,
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let file = (text(), text()).prop_map(|(path, why)| FileChange { path, why });
    let estimate = (option::of(duration()), option::of(money()))
        .prop_map(|(time, cost)| Estimate { time, cost });
    let lists = (texts(), texts(), texts(), texts());
    (text(), vec(file, 0..4), text(), lists, estimate).prop_map(
        |(summary, files, expected_behaviour, (tests, commands, hosts, risks), estimate)| Plan {
            summary,
            files,
            tests,
            expected_behaviour,
            commands,
            hosts,
            risks,
            estimate,
        },
    )
}

fn conditions() -> impl Strategy<Value = Conditions> {
    (text_set(), text_set(), text_set(), option::of(money()), option::of(duration())).prop_map(
        |(paths, hosts, commands, budget, time)| Conditions {
            paths,
            hosts,
            commands,
            budget,
            time,
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    (select(FailureKind::ALL.to_vec()), phase(), text(), texts())
        .prop_map(|(kind, phase, message, last_lines)| Failure { kind, phase, message, last_lines })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![Just(Verdict::GoesOn), failure().prop_map(Verdict::Stops)]
}

fn pause_reason() -> impl Strategy<Value = PauseReason> {
    prop_oneof![
        person().prop_map(|by| PauseReason::Asked { by }),
        failure().prop_map(PauseReason::Failure),
    ]
}

fn remark() -> impl Strategy<Value = Remark> {
    let kind = prop_oneof![Just(RemarkKind::Comment), Just(RemarkKind::Review)];
    let speaker = select(vec![Speaker::Known, Speaker::Unproven]);
    (kind, text(), text(), speaker, text()).prop_map(|(kind, name, by, speaker, text)| Remark {
        kind,
        name,
        by,
        speaker,
        text,
    })
}

fn wake_cause() -> impl Strategy<Value = WakeCause> {
    prop_oneof![
        (person(), text()).prop_map(|(by, text)| WakeCause::Comment { by, text }),
        text().prop_map(|check| WakeCause::FailedCheck { check }),
        vec(remark(), 1..3).prop_map(WakeCause::Remarks),
    ]
}

fn done_because() -> impl Strategy<Value = DoneBecause> {
    select(vec![DoneBecause::Merged, DoneBecause::PullRequestClosed, DoneBecause::TakenOver])
}

fn cost() -> impl Strategy<Value = Cost> {
    (money(), prop::array::uniform5(number())).prop_map(
        |(money, [input_tokens, output_tokens, cpu_millis, memory_mib_seconds, network_bytes])| {
            Cost {
                money,
                input_tokens,
                output_tokens,
                cpu_millis,
                memory_mib_seconds,
                network_bytes,
            }
        },
    )
}
