//! Where a line is from, in the shapes of the API.

use domain::id::PersonId;
use engine::{Approved, Line, Origin, PlanOfLine};
use wire::{
    task::shown::Person,
    why::{Why, WhyApproval, WhyOrigin, WhyPlan},
};

use super::time;

pub(crate) fn why(told: engine::Why, line: Line, person: &dyn Fn(PersonId) -> Person) -> Why {
    let origin = |it: Origin| WhyOrigin {
        task: it.task.to_string(),
        title: it.title,
        requester: person(it.requester),
        pull_request: it.pull_request.map(|number| number.0),
        plan: it.plan.map(plan),
        approval: it
            .approved
            .map(|Approved { by, at }| WhyApproval { by: person(by), at: time(at) }),
        reasoning: it.reasoning,
    };
    Why {
        repository: line.repository.to_string(),
        path: line.path,
        line: line.number,
        commit: told.commit.to_string(),
        text: Some(told.text),
        subject: Some(told.subject),
        origin: told.origin.map(origin),
    }
}

fn plan(plan: PlanOfLine) -> WhyPlan {
    let PlanOfLine { hash, summary, of_file } = plan;
    WhyPlan { hash: hash.to_string(), summary, of_file }
}
