//! What is attested about the change, gathered from what is written down.

use std::time::Duration;

use contracts::{forge::Forges as _, outfit::Outfits as _};
use domain::{
    code::CommitId,
    failure::FailureKind,
    id::PersonId,
    task::{Event, Mandate},
};
use evidence::{
    commit::Branch,
    receipt::{
        AllowedBy, Amended, Asked, Check, Counts, Dismissed, Egress, Flag, FlagKind, HostUse,
        LIST_LIMIT, PolicyUse, Receipt, Statement, Times, TreeId, Verdict, Who,
    },
};

use super::{
    super::{
        Scene, Trouble, drift,
        open::{forge_trouble, outfit_trouble},
    },
    follow_ups,
    reviews::Reviews,
    runs,
};
use crate::{
    Hands,
    delivered::delivered_base,
    record::{
        ChangeRecord, CheckRecord, ChecksRecord, Dismissal, OutcomeRecord, SideRecord,
        WeakenedClass, WeakenedRecord,
    },
    stretches,
};

pub(super) struct Facts {
    pub(super) statement: Statement,
    pub(super) checks: ChecksRecord,
    /// What people dismissed, of what was found since the approval.
    pub(super) dismissals: Vec<Dismissal>,
    /// A sentence about each flag of the receipt, in the same order.
    pub(super) flags: Vec<String>,
}

pub(super) async fn gather<H: Hands>(
    scene: &Scene<'_, H>,
    mandate: &Mandate,
    commit: &CommitId,
) -> Result<Facts, Trouble> {
    let internal = |what: String| scene.failed(FailureKind::Internal, what);
    let missing = |what: &str| internal(format!("the history has no {what}"));
    let (base, ..) = scene.newest_change().ok_or_else(|| missing("change"))?;
    let repository = scene.repository()?;
    let compared = scene.hands().forges().compare(repository, base, commit).await;
    let compared = compared.map_err(|error| forge_trouble(scene, &error))?;
    let tree: TreeId = compared.tree.parse().map_err(|error| internal(format!("{error}")))?;
    let account = scene.hands().outfits().account(scene.lease.task).await;
    let account = account.map_err(|error| outfit_trouble(scene, &error))?;
    let change: ChangeRecord = scene.newest_record(|event| {
        let Event::Implemented { record, .. } = event else { return None };
        Some(*record)
    })?;
    // The receipt says that these conditions held.
    drift::change(scene, &change)?;
    let checks: ChecksRecord = scene.newest_record(|event| {
        let (Event::ChecksPassed { evidence } | Event::ChecksFailed { evidence, .. }) = event
        else {
            return None;
        };
        Some(*evidence)
    })?;
    let said = runs::read(scene).await?;
    let branch = scene.branch()?;
    let branch: Branch = branch.as_str().parse().map_err(|error| internal(format!("{error}")))?;
    let name = |person: PersonId| scene.engine.settings.name_of(person);
    let first = scene.history.events.first().ok_or_else(|| missing("beginning"))?;
    let delivered = scene.asked_at();
    let uses = account.reached.iter().map(|it| HostUse {
        host: it.host.clone(),
        requests: it.requests,
        refused: it.refused,
        bytes: it.bytes,
    });
    let reviews = Reviews::since_approval(&scene.history, scene.engine.store.blobs());
    let mut dismissals = Dismissal::all(&scene.history, scene.engine.store.blobs());
    dismissals.retain(|it| reviews.have_found(it.finding));
    let known = delivered_base(&scene.history, scene.engine.store.blobs());
    let into = if let Some(known) = known {
        known
    } else {
        let asked = scene.hands().forges().base(repository).await;
        asked.map_err(|error| forge_trouble(scene, &error))?
    };
    let (flags, about_flags) = flags(&change, &checks).into_iter().unzip();
    let receipt = Receipt {
        task: scene.lease.task,
        repository: repository.clone(),
        branch,
        into: Some(into),
        base: base.clone(),
        request: Asked::of(&scene.request, &name(scene.request.author)),
        plan: mandate.approval().plan,
        approval: approval(scene, mandate).ok_or_else(|| missing("approval"))?,
        follow_ups: follow_ups::since_approval(&scene.history, mandate.approval().plan, &name),
        agent: said.worker(scene.agent(), &account.models),
        reviewer: said.reviewer(scene.agent(), &account.models),
        image: account.image,
        policy: PolicyUse { digest: account.policy, allowed: account.allowed },
        egress: Egress::of(uses, account.log),
        checks: checks.checks.iter().map(check).collect(),
        headline: Some(checks.headline().into()),
        review: reviews.told(&Dismissal::ids(&dismissals)),
        dismissed: dismissals.iter().take(LIST_LIMIT).map(|it| dismissed(scene, it)).collect(),
        flags,
        cost: scene.task.spent.into(),
        time: Times { requested: first.at, delivered, worked_millis: millis(worked(scene)) },
        transcript: said.digest,
        lamplighter: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let statement = Statement { commit: commit.clone(), tree, receipt };
    Ok(Facts { statement, checks, dismissals, flags: about_flags })
}

/// The approval of the plan that was worked by, and what was allowed beyond it.
fn approval<H: Hands>(scene: &Scene<'_, H>, mandate: &Mandate) -> Option<AllowedBy> {
    let who = |person: PersonId| Who::new(person, &scene.engine.settings.name_of(person));
    let mut found = None;
    for recorded in &scene.history.events {
        if let Event::Approved { plan, by, conditions } = &recorded.event
            && *plan == mandate.approval().plan
        {
            found = Some(AllowedBy {
                by: who(*by),
                at: recorded.at,
                plan: *plan,
                conditions: conditions.clone(),
                amendments: Vec::new(),
            });
        }
        if let (Event::Amended { by, conditions }, Some(found)) = (&recorded.event, &mut found) {
            let conditions = conditions.clone();
            found.amendments.push(Amended { by: who(*by), at: recorded.at, conditions });
        }
    }
    found
}

fn check(check: &CheckRecord) -> Check {
    let counts = |side: &SideRecord| Counts {
        passed: side.passed,
        failed: side.failed,
        skipped: side.skipped,
        millis: side.millis,
    };
    let verdict = match check.outcome {
        OutcomeRecord::Passed => Verdict::Passed,
        OutcomeRecord::Fixed => Verdict::Fixed,
        OutcomeRecord::Gone => Verdict::Gone,
        OutcomeRecord::Flaky => Verdict::Flaky,
        OutcomeRecord::KnownFailure => Verdict::KnownFailure,
        OutcomeRecord::Regressed => Verdict::Regression,
        OutcomeRecord::NotRun => Verdict::NotRun,
        OutcomeRecord::Unjudged => Verdict::Failed,
    };
    let none = Counts { passed: 0, failed: 0, skipped: 0, millis: 0 };
    let head = check.head.as_ref().map_or(none, counts);
    // One that never began has no figures.
    let base = check.base.as_ref().filter(|side| !side.not_run).map(counts);
    Check::new(&check.name, &check.command, base, head, verdict)
}

fn dismissed<H: Hands>(scene: &Scene<'_, H>, dismissal: &Dismissal) -> Dismissed {
    let by = Who::new(dismissal.by, &scene.engine.settings.name_of(dismissal.by));
    Dismissed {
        finding: dismissal.finding.digest(),
        by,
        at: dismissal.at,
        why: dismissal.why.clone(),
    }
}

/// Each with a sentence about it. What matters most comes first: a list is cut at its end, and an agent can make as many odd files as it likes.
fn flags(change: &ChangeRecord, checks: &ChecksRecord) -> Vec<(Flag, String)> {
    let mut of_files: Vec<(u8, (Flag, String))> = change
        .flags
        .iter()
        .map(|flag| {
            let (place, kind) = match flag.kind.as_str() {
                "workflow" => (0, FlagKind::WorkflowFile),
                "submodule" => (1, FlagKind::Submodule),
                "runs_when_opened" => (2, FlagKind::RunsWhenOpened),
                _odd => (3, FlagKind::Odd),
            };
            (place, (Flag::new(kind, &flag.path), flag.text.clone()))
        })
        .collect();
    of_files.sort_by_key(|(place, _)| *place);
    let of_tests = checks.weakened.iter().map(|weakened| {
        let kind = match weakened.class {
            WeakenedClass::Deleted => FlagKind::TestDeleted,
            WeakenedClass::Skipped => FlagKind::TestSkipped,
            WeakenedClass::Weakened => FlagKind::TestWeakened,
        };
        // Only a run told of it, and named no file: then it is known by its name.
        let path = if weakened.file.is_empty() { &weakened.what } else { &weakened.file };
        let flag = Flag::new(kind, path);
        let about = about(weakened, kind.name());
        (flag, about)
    });
    of_tests.chain(of_files.into_iter().map(|(_, flag)| flag)).take(LIST_LIMIT).collect()
}

/// What was done to a test, and where. What the flag says by itself is not repeated.
fn about(weakened: &WeakenedRecord, flag: &str) -> String {
    let place = match (weakened.file.as_str(), weakened.line) {
        ("", _) => String::new(),
        (file, Some(line)) => format!("{file}:{line}: "),
        (file, None) => format!("{file}: "),
    };
    let kind = if weakened.kind == flag { String::new() } else { format!("{}: ", weakened.kind) };
    format!("{place}{kind}{}", weakened.what)
}

/// The time in which something was done, until this step was asked for.
fn worked<H: Hands>(scene: &Scene<'_, H>) -> Duration {
    let until = scene.lease.seq;
    let stretches = stretches::of(&scene.history).into_iter();
    stretches.filter(|it| it.recorded.seq <= until && it.is_work()).map(|it| it.lasted).sum()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ConclusionRecord, FlagRecord};

    #[test]
    fn a_crowd_of_odd_files_hides_no_weakened_test_and_no_workflow() {
        let flag = |kind: &str, path: String| FlagRecord {
            kind: kind.to_owned(),
            path,
            text: String::new(),
        };
        let odd = (0..2 * LIST_LIMIT).map(|number| flag("odd", format!("a/{number}")));
        let late = [
            flag("runs_when_opened", "z/.vscode/tasks.json".to_owned()),
            flag("workflow", "z.yml".to_owned()),
        ];
        let change = ChangeRecord { paths: Vec::new(), flags: odd.chain(late).collect() };
        let checks = ChecksRecord {
            base: String::new(),
            commit: String::new(),
            conclusion: ConclusionRecord::Passes,
            image: None,
            checks: Vec::new(),
            weakened: vec![WeakenedRecord {
                class: WeakenedClass::Deleted,
                kind: "test deleted".to_owned(),
                file: "tests/login.rs".to_owned(),
                line: None,
                what: String::new(),
            }],
            weakened_left_off: 0,
            unready: None,
            left_out: Vec::new(),
            coverage: None,
            advice: String::new(),
        };
        let told = flags(&change, &checks);
        let first: Vec<&str> = told.iter().take(4).map(|(flag, _)| flag.path.as_str()).collect();
        assert_eq!(first, ["tests/login.rs", "z.yml", "z/.vscode/tasks.json", "a/0"]);
        assert_eq!(told.len(), LIST_LIMIT);
        let kinds: Vec<FlagKind> = told.iter().skip(1).take(3).map(|(flag, _)| flag.kind).collect();
        let expected = [FlagKind::WorkflowFile, FlagKind::RunsWhenOpened, FlagKind::Odd];
        assert_eq!(kinds, expected, "what may be a secret does not run when it is opened");
    }
}
