//! What agents do and say, in the shapes of the API.

use contracts::agent::{AgentError, AgentEvent, Answer, Outcome};
use domain::{
    cost::Cost,
    money::Money,
    plan::Plan,
    transcript::{Ending, TodoState, ToolCall, ToolKind, ToolStatus, Verdict},
};
use wire::{
    agent::{
        self, AgentAnswer, AgentEnding, AgentFinding, AgentOutcome, AgentPlan, AgentUsage,
        PlannedFile,
    },
    error::{Code, Problem},
};

pub(crate) fn event(event: AgentEvent) -> agent::AgentEvent {
    use agent::AgentEvent as Told;
    match event {
        AgentEvent::Briefed { part, text } => Told::Briefed { part, text },
        AgentEvent::Started { program, version, model, session } => {
            Told::Started { program, version, model, session }
        }
        AgentEvent::Message { number, text } => Told::Message { number, text },
        AgentEvent::Thought { number, text } => Told::Thought { number, text },
        AgentEvent::ToolCall(call) => tool_call(call),
        AgentEvent::FileChanged { path } => Told::FileChanged { path },
        AgentEvent::Todo { items } => {
            let item = |it: domain::transcript::TodoItem| agent::TodoItem {
                text: it.text,
                state: match it.state {
                    TodoState::Waiting => agent::TodoState::Waiting,
                    TodoState::Doing => agent::TodoState::Doing,
                    TodoState::Done => agent::TodoState::Done,
                },
            };
            Told::Todo { items: items.into_iter().map(item).collect() }
        }
        AgentEvent::Permission { title, verdict } => {
            Told::Permission { title, allowed: verdict == Verdict::Allowed }
        }
        AgentEvent::Question { text, choices } => Told::Question { text, choices },
        AgentEvent::Heard { text } => Told::Heard { text },
        AgentEvent::Usage(cost) => Told::Usage(usage(cost)),
        AgentEvent::Trouble { text } => Told::Trouble { text },
        AgentEvent::Finished { ending } => {
            let (ending, reason) = match ending {
                Ending::Answered => (AgentEnding::Answered, None),
                Ending::Asked => (AgentEnding::Asked, None),
                Ending::Stopped { reason } => (AgentEnding::Stopped, Some(reason)),
            };
            Told::Finished { ending, reason }
        }
    }
}

fn tool_call(call: ToolCall) -> agent::AgentEvent {
    agent::AgentEvent::ToolCall {
        id: call.id,
        title: call.title,
        tool: match call.kind {
            ToolKind::Read => agent::ToolKind::Read,
            ToolKind::Edit => agent::ToolKind::Edit,
            ToolKind::Search => agent::ToolKind::Search,
            ToolKind::Execute => agent::ToolKind::Execute,
            ToolKind::Fetch => agent::ToolKind::Fetch,
            ToolKind::Think => agent::ToolKind::Think,
            ToolKind::Other => agent::ToolKind::Other,
        },
        status: match call.status {
            ToolStatus::Running => agent::ToolStatus::Running,
            ToolStatus::Done => agent::ToolStatus::Done,
            ToolStatus::Failed => agent::ToolStatus::Failed,
        },
        input: call.input,
        result: call.result,
        paths: call.paths,
    }
}

const fn usage(cost: Cost) -> AgentUsage {
    AgentUsage {
        cost_micros: cost.money.as_micros(),
        input_tokens: cost.input_tokens,
        output_tokens: cost.output_tokens,
    }
}

pub(crate) fn outcome(outcome: Outcome) -> AgentOutcome {
    let answer = match outcome.answer {
        Answer::Question { text, choices } => AgentAnswer::Question { text, choices },
        Answer::Notes(text) => AgentAnswer::Notes { text },
        Answer::Plan(plan) => AgentAnswer::Plan(planned(plan)),
        Answer::Change => AgentAnswer::Change {},
        Answer::Review(findings) => {
            let finding = |it: contracts::agent::Finding| AgentFinding {
                path: it.path,
                line: it.line,
                what: it.what,
                failing_input: it.failing_input,
            };
            AgentAnswer::Review { findings: findings.into_iter().map(finding).collect() }
        }
    };
    AgentOutcome { answer, session: outcome.session }
}

fn planned(plan: Plan) -> AgentPlan {
    let file = |it: domain::plan::FileChange| PlannedFile { path: it.path, why: it.why };
    AgentPlan {
        summary: plan.summary,
        files: plan.files.into_iter().map(file).collect(),
        tests: plan.tests,
        expected_behaviour: plan.expected_behaviour,
        commands: plan.commands,
        hosts: plan.hosts,
        risks: plan.risks,
        minutes: plan.estimate.time.map(|time| time.as_secs().div_ceil(60)),
        cost_micros: plan.estimate.cost.map(Money::as_micros),
    }
}

/// Why a run gave no answer, with what to do about it.
pub(crate) fn trouble(error: AgentError) -> Problem {
    let message = error.to_string();
    let (code, help, log) = match error {
        AgentError::Busy { .. } => (Code::ModelBusy, "try again in a moment", String::new()),
        AgentError::ModelRefused { last_lines, .. } => (
            Code::ModelRefused,
            "look at `--model`, and at the provider's `url` and `secret` in `lamp.yaml`; `lamp egress log --sandbox NAME` shows each request",
            last_lines,
        ),
        AgentError::Stopped { last_lines, .. } => {
            (Code::AgentStopped, "the last lines may say why", last_lines)
        }
        AgentError::Unusable { last_lines, .. } => (
            Code::AgentUnusable,
            "a model was told once what is wrong, and another may do better; a program writes the answer of its mode to `$LAMP_ANSWER`",
            last_lines,
        ),
        AgentError::TimeLimit { last_lines, .. } => {
            (Code::TimeLimit, "give it more time, or less to do", last_lines)
        }
        AgentError::Silent { last_lines, .. } => {
            (Code::AgentSilent, "it is taken for hung; try again", last_lines)
        }
        AgentError::ProgramMissing { .. } => {
            (Code::ProgramMissing, "`lamp agent doctor` shows what an image has", String::new())
        }
        AgentError::OverBudget { last_lines, .. } => (
            Code::OverBudget,
            "raise the budget in `lamp.yaml` or `policy.yaml`, or name a model that costs less",
            last_lines,
        ),
        AgentError::OutOfMemory { last_lines, .. } => {
            (Code::OutOfMemory, "give the sandbox more with `--memory`", last_lines)
        }
        AgentError::SandboxLost { .. } => {
            (Code::Lost, "make a new sandbox; the server's log says more", String::new())
        }
    };
    let log = Some(log).filter(|log| !log.is_empty());
    Problem { log, ..Problem::new(code, message).with_help(help) }
}
