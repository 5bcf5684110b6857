//! What agents and people wrote, for the text of the pull request. None of it is attested.

use contracts::forge::Forges as _;
use domain::{headline::Conclusion, plan::Plan, task::Event};
use evidence::{body::Words, receipt::Statement};
use feedback::verdict::Change;

use super::super::{Scene, Trouble, open::forge_trouble};
use crate::{
    Hands,
    record::{ChangeRecord, ChecksRecord, Dismissal, ReviewFinding, ReviewRecord},
};

#[derive(Debug, Default)]
pub(super) struct Told {
    summary: String,
    risks: Vec<String>,
    next: Vec<String>,
    tests: Vec<String>,
    tests_left_off: u64,
    findings: Vec<String>,
    dismissed: Vec<String>,
    flags: Vec<String>,
    log: String,
    reasoning: String,
    pub(super) own_template: Option<String>,
}

impl Told {
    pub(super) async fn gather<H: Hands>(
        scene: &Scene<'_, H>,
        checks: &ChecksRecord,
        statement: &Statement,
    ) -> Result<Self, Trouble> {
        let plan = scene.approved_plan();
        // What the platform saw comes first: a list is cut at its end, and an agent can say as much as it likes.
        let mut risks = Vec::new();
        let headline = checks.headline();
        if let Conclusion::Unproven(_) = headline.conclusion {
            risks.push(format!("{headline}: look at every line"));
        }
        risks.extend(headline.warning());
        risks.extend(
            checks
                .unready
                .iter()
                .map(|reason| format!("What the project needs was not installed: {reason}")),
        );
        risks.extend(plan.and_then(|plan| unplanned(plan, &changed(scene)?)));
        let refused = statement.receipt.egress.hosts.iter().filter(|host| host.refused > 0);
        risks.extend(
            refused.map(|host| {
                format!("{} was asked for {} times and refused", host.host, host.refused)
            }),
        );
        risks.extend(plan.map(|plan| plan.risks.clone()).unwrap_or_default());
        let log = checks.checks.iter().rev().find(|check| !check.log.is_empty());
        let repository = scene.repository()?;
        let base = &statement.receipt.base;
        let templates = scene.hands().forges().files(repository, base, is_template).await;
        let templates = templates.map_err(|error| forge_trouble(scene, &error))?;
        let own_template = templates.contents.into_values().next();
        let (tests, tests_left_off) = better(checks);
        Ok(Self {
            summary: plan.map(|plan| plan.summary.clone()).unwrap_or_default(),
            risks,
            next: checks.next_steps(),
            tests,
            tests_left_off,
            findings: findings(scene),
            dismissed: Vec::new(),
            flags: Vec::new(),
            log: log.map(|check| check.log.clone()).unwrap_or_default(),
            reasoning: notes(scene),
            own_template: own_template.and_then(|bytes| String::from_utf8(bytes).ok()),
        })
    }

    /// Tells what people dismissed, so that whoever merges it knows.
    pub(super) fn dismissed<H: Hands>(&mut self, scene: &Scene<'_, H>, all: &[Dismissal]) {
        let sentence = |it: &Dismissal| it.sentence(&scene.engine.settings.name_of(it.by));
        self.dismissed = all.iter().map(sentence).collect();
    }

    /// Tells what the platform says about each flag of the receipt.
    pub(super) fn flags(&mut self, about: Vec<String>) {
        self.flags = about;
    }

    pub(super) fn words<'a>(&'a self, why: &'a str) -> Words<'a> {
        Words {
            summary: &self.summary,
            why,
            risks: &self.risks,
            next: &self.next,
            tests: &self.tests,
            tests_left_off: self.tests_left_off,
            findings: &self.findings,
            dismissed: &self.dismissed,
            flags: &self.flags,
            log: &self.log,
            reasoning: &self.reasoning,
        }
    }
}

/// The tests that the change brings or mends, by name, and how many more there are. Mended ones come first.
fn better(checks: &ChecksRecord) -> (Vec<String>, u64) {
    const NAMED: usize = 20;
    let mut named = Vec::new();
    let mut all = 0_u64;
    for (change, word) in [(Change::Fixed, "mended"), (Change::NewPassing, "new")] {
        for check in &checks.checks {
            all = all.saturating_add(check.count(change));
            let tests = check.tests.iter().filter(|test| test.change == change.word());
            let left = NAMED.saturating_sub(named.len());
            named.extend(tests.take(left).map(|test| format!("{word}: {}", test.name)));
        }
    }
    let told = u64::try_from(named.len()).unwrap_or(u64::MAX);
    (named, all.saturating_sub(told))
}

/// The paths of the newest change.
fn changed<H: Hands>(scene: &Scene<'_, H>) -> Option<Vec<String>> {
    let record = scene.history.events.iter().rev().find_map(|recorded| {
        let Event::Implemented { record, .. } = &recorded.event else { return None };
        Some(*record)
    });
    Some(scene.record::<ChangeRecord>(record?)?.paths)
}

/// What was changed and is not in the plan that a person said yes to. Without a condition nothing forbids it, but it must not go unseen.
fn unplanned(plan: &Plan, changed: &[String]) -> Option<String> {
    const NAMED: usize = 5;
    let is_planned = |path: &String| {
        plan.files.iter().any(|file| {
            path.strip_prefix(&file.path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let beside: Vec<&str> =
        changed.iter().filter(|path| !is_planned(path)).map(String::as_str).collect();
    let named: Vec<&str> = beside.iter().take(NAMED).copied().collect();
    let more = match beside.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty())
        .then(|| format!("changed, but not in the approved plan: {}{more}", named.join(", ")))
}

/// Where repositories keep the text that a pull request should begin with.
fn is_template(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.strip_prefix(".github/").or_else(|| path.strip_prefix("docs/"));
    name.unwrap_or(&path) == "pull_request_template.md"
}

/// What the last review found, and nobody mended or dismissed.
fn findings<H: Hands>(scene: &Scene<'_, H>) -> Vec<String> {
    let is_review = |event: &&Event| {
        matches!(event, Event::ReviewPassed { .. } | Event::ReviewFoundFaults { .. })
    };
    let mut events = scene.history.events.iter().rev().map(|recorded| &recorded.event);
    let Some(Event::ReviewFoundFaults { evidence, .. }) = events.find(is_review) else {
        return Vec::new();
    };
    let record = scene.record::<ReviewRecord>(*evidence);
    let open = |record: ReviewRecord| {
        record.open(&scene.task.dismissed).map(ReviewFinding::sentence).collect()
    };
    record.map(open).unwrap_or_default()
}

/// What the agent found out before it planned.
fn notes<H: Hands>(scene: &Scene<'_, H>) -> String {
    let notes = scene.history.events.iter().rev().find_map(|recorded| {
        let Event::Researched { notes, .. } = &recorded.event else { return None };
        Some(*notes)
    });
    let bytes = notes.and_then(|notes| scene.engine.store.blobs().get(notes).ok());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use domain::plan::{Estimate, FileChange};

    use super::*;

    #[test]
    fn what_the_plan_does_not_name_is_told() {
        let file = |path: &str| FileChange { path: path.to_owned(), why: "because".to_owned() };
        let plan = Plan {
            summary: "s".to_owned(),
            files: vec![file("calc.py"), file("docs")],
            tests: Vec::new(),
            expected_behaviour: "e".to_owned(),
            commands: Vec::new(),
            hosts: Vec::new(),
            risks: Vec::new(),
            estimate: Estimate::default(),
        };
        let told = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
            unplanned(&plan, &paths).unwrap_or_default()
        };
        assert_eq!(told(&["calc.py", "docs/a.md"]), "");
        let beside = "changed, but not in the approved plan: ";
        assert_eq!(told(&["calc.py", "calc.pyc", "docs2"]), format!("{beside}calc.pyc, docs2"));
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(told(&many), format!("{beside}a, b, c, d, e and 2 more"));
    }
}
