//! From JSON that is as its schema says to an [`Answer`].

use std::time::Duration;

use contracts::agent::{Answer, Finding, Mode};
use domain::plan::{Estimate, FileChange, Plan};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Number, Value};

use super::{
    Faults, number,
    schema::{self, Kind},
};

pub(super) fn answer(mode: Mode, value: Value) -> Result<Answer, Faults> {
    let kind = schema::kind(mode, &value)?;
    schema::check(kind, &value)?;
    match kind {
        Kind::Question => {
            let Asked { question } = read(value)?;
            Ok(Answer::Question { text: question.text, choices: question.choices })
        }
        Kind::Notes => {
            let Noted { notes } = read(value)?;
            Ok(Answer::Notes(notes.trim().to_owned()))
        }
        Kind::Change => Ok(Answer::Change),
        Kind::Plan => {
            let Planned { plan } = read(value)?;
            let plan = plan.plan()?;
            plan.fault().map_or(Ok(()), |fault| Err(Faults::one(fault.to_string())))?;
            Ok(Answer::Plan(plan))
        }
        Kind::Review => {
            let Reviewed { review } = read(value)?;
            let findings = review.findings.into_iter().map(FindingShape::finding);
            Ok(Answer::Review(findings.collect::<Result<_, _>>()?))
        }
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Faults> {
    serde_json::from_value(value).map_err(|error| Faults::one(error.to_string()))
}

#[derive(Deserialize)]
struct Asked {
    question: QuestionShape,
}

#[derive(Deserialize)]
struct QuestionShape {
    text: String,
    #[serde(default)]
    choices: Vec<String>,
}

#[derive(Deserialize)]
struct Noted {
    notes: String,
}

#[derive(Deserialize)]
struct Planned {
    plan: PlanShape,
}

#[derive(Deserialize)]
struct PlanShape {
    summary: String,
    files: Vec<FileShape>,
    tests: Vec<String>,
    expected_behaviour: String,
    commands: Vec<String>,
    hosts: Vec<String>,
    risks: Vec<String>,
    minutes: Option<Number>,
    dollars: Option<Number>,
}

#[derive(Deserialize)]
struct FileShape {
    path: String,
    why: String,
}

#[derive(Deserialize)]
struct Reviewed {
    review: ReviewShape,
}

#[derive(Deserialize)]
struct ReviewShape {
    findings: Vec<FindingShape>,
}

#[derive(Deserialize)]
struct FindingShape {
    path: String,
    line: Number,
    what: String,
    failing_input: String,
}

impl PlanShape {
    fn plan(self) -> Result<Plan, Faults> {
        let minutes = self.minutes.map(|it| number::whole("/plan/minutes", &it)).transpose()?;
        let estimate = Estimate {
            time: minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
            cost: self.dollars.map(|it| number::money("/plan/dollars", &it)).transpose()?,
        };
        let file = |it: FileShape| FileChange { path: it.path, why: it.why };
        Ok(Plan {
            summary: self.summary,
            files: self.files.into_iter().map(file).collect(),
            tests: self.tests,
            expected_behaviour: self.expected_behaviour,
            commands: self.commands,
            hosts: self.hosts,
            risks: self.risks,
            estimate,
        })
    }
}

impl FindingShape {
    fn finding(self) -> Result<Finding, Faults> {
        let place = "/review/findings";
        let line = number::whole(place, &self.line)?;
        let line = u32::try_from(line)
            .map_err(|_large| Faults::one(format!("{place}: there is no line {line}")))?;
        Ok(Finding { path: self.path, line, what: self.what, failing_input: self.failing_input })
    }
}
