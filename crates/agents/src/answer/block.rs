//! Writes an answer as agents are asked to write it: for scripted models, and to show an approved plan.

use contracts::agent::{Answer, Finding};
use domain::plan::Plan;
use serde::Serialize;
use serde_json::{Value, json};

use super::MARK;

/// `answer` in its block. [`read`](super::read) understands it.
pub fn block(answer: &Answer) -> String {
    let value = match answer {
        Answer::Question { text, choices } => {
            json!({ "question": { "text": text, "choices": choices } })
        }
        Answer::Notes(notes) => json!({ "notes": notes }),
        Answer::Plan(plan) => json!({ "plan": PlanShape::of(plan) }),
        Answer::Change => json!({ "change": { "summary": "done" } }),
        Answer::Review(findings) => {
            let findings: Vec<Value> = findings.iter().map(finding).collect();
            json!({ "review": { "findings": findings } })
        }
    };
    // A line of JSON never begins with a fence.
    format!("```{MARK}\n{value:#}\n```\n")
}

fn finding(it: &Finding) -> Value {
    json!({ "path": it.path, "line": it.line, "what": it.what, "failing_input": it.failing_input })
}

/// What is below the key `plan`, always in this order.
#[derive(Serialize)]
pub(crate) struct PlanShape<'a> {
    summary: &'a str,
    files: Vec<FileShape<'a>>,
    tests: &'a [String],
    expected_behaviour: &'a str,
    commands: &'a [String],
    hosts: &'a [String],
    risks: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars: Option<f64>,
}

#[derive(Serialize)]
struct FileShape<'a> {
    path: &'a str,
    why: &'a str,
}

impl<'a> PlanShape<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let files = plan.files.iter().map(|it| FileShape { path: &it.path, why: &it.why });
        Self {
            summary: &plan.summary,
            files: files.collect(),
            tests: &plan.tests,
            expected_behaviour: &plan.expected_behaviour,
            commands: &plan.commands,
            hosts: &plan.hosts,
            risks: &plan.risks,
            minutes: plan.estimate.time.map(|time| time.as_secs() / 60),
            dollars: plan.estimate.cost.and_then(|cost| dollars(cost.as_micros())),
        }
    }
}

/// Exact up to more money than a plan may name.
fn dollars(micros: u64) -> Option<f64> {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000).parse().ok()
}
