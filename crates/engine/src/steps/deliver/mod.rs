//! Pushes the branch and opens the pull request, or updates the one that is open, with the evidence (RV2, RV4).
//!
//! ```text
//!  history, records, transcript, account ──▶ receipt ── signed ──▶ envelope, kept
//!                                               └──▶ text of the pull request ──▶ forge: branch, pull request, checks, note
//! ```
//!
//! All of it is made from what is written down, so a repeat makes the same bytes and finds what the first call made. Only the branch that it goes
//! into is asked for, once: the first receipt keeps it. The branch of the work is named after the task.

mod follow_ups;
mod receipt;
mod reviews;
mod runs;
mod words;

use std::sync::Arc;

use contracts::forge::{
    Author, Check, CheckState, Delivery, ForgeError, Forges as _, Opinion, Outcome as CheckEnded,
    PullError, PullRequests as _, PullState, Review,
};
use domain::{
    code::{CommitId, PullRequestNumber},
    failure::FailureKind,
    task::{Report, Work},
};
use evidence::{
    body::{BodyTemplate, Coverage, Links, PullRequest},
    commit::{Note, title},
    envelope::Envelope,
    keys::SigningKey,
    link::Link,
    receipt::Statement,
};

use self::words::Told;
use super::{Done, Outcome, Scene, Trouble, open::forge_trouble};
use crate::{
    Hands,
    delivered::{delivered_base, own_commits},
    record::{ChecksRecord, OutcomeRecord},
    watch::OWN_CHECKS,
};

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let Some(Work::Deliver { mandate, commit }) = scene.task.stage.work() else {
        return Err(scene.failed(FailureKind::Internal, "there is no commit to deliver"));
    };
    let signer = signer(scene)?;
    let facts = receipt::gather(scene, mandate, commit).await?;
    let internal = |error: &dyn std::fmt::Display| {
        scene.failed(FailureKind::Internal, format!("the evidence cannot be written: {error}"))
    };
    let statement = facts.statement;
    let envelope = Envelope::sign(&statement, &[&signer]).map_err(|error| internal(&error))?;
    let digest = envelope.digest().map_err(|error| internal(&error))?;
    let bytes = envelope.to_bytes().map_err(|error| internal(&error))?;
    let mut told = Told::gather(scene, &facts.checks, &statement).await?;
    told.dismissed(scene, &facts.dismissals);
    told.flags(facts.flags);
    let (task, sandbox) = places(scene);
    let links = Links { task: task.as_ref(), sandbox: sandbox.as_ref(), ..Links::default() };
    let coverage = facts.checks.coverage.as_ref();
    let request = PullRequest {
        statement: &statement,
        receipt: digest,
        words: told.words(&scene.request.text),
        coverage: coverage.map(|it| Coverage { covered: it.covered, missed: it.missed }),
        links,
        own_template: told.own_template.as_deref(),
    };
    let text = match &scene.engine.settings.body {
        Some(template) => template.text(&request),
        None => BodyTemplate::builtin().and_then(|template| template.text(&request)),
    };
    let delivery = Delivery {
        repository: scene.repository()?.clone(),
        branch: scene.branch()?,
        commit: commit.clone(),
        base: statement.receipt.into.clone().unwrap_or_default(),
        earlier: scene.task.pull_request,
        ours: own_commits(&scene.history),
        title: title(&scene.request.text),
        body: text.map_err(|error| internal(&error))?,
    };
    let delivered = scene.hands().forges().deliver(scene.key("pull request"), &delivery).await;
    let pull_request = match delivered {
        // A person pushed to the branch of our own pull request: it is theirs.
        Err(ForgeError::TakenOver { .. }) if scene.task.pull_request.is_some() => {
            return Ok(Done::Reports(vec![Report::TakenOver]));
        }
        Err(error) => match ended(scene).await {
            Some(report) => return Ok(Done::Reports(vec![report])),
            None => return Err(forge_trouble(scene, &error)),
        },
        Ok(delivered) => delivered,
    };
    tell_checks(scene, pull_request.number, commit, &facts.checks, &statement).await?;
    let note = Note::of(&statement.receipt, digest).to_bytes();
    let note = note.map_err(|error| internal(&error))?;
    let noted = scene.hands().forges().note(&delivery.repository, commit, &note).await;
    noted.map_err(|error| forge_trouble(scene, &error))?;
    let kept = scene.hands().forges().keep_receipt(&delivery.repository, commit, &bytes).await;
    kept.map_err(|error| forge_trouble(scene, &error))?;
    let receipt = scene.keep_bytes(&bytes)?;
    Ok(Done::Reports(vec![Report::Delivered { number: pull_request.number, receipt }]))
}

/// Where the task and its sandbox can be looked at, on a server that people reach (RV2).
fn places<H: Hands>(scene: &Scene<'_, H>) -> (Option<Link>, Option<Link>) {
    let below = |what: String| {
        let pages = scene.engine.settings.pages.as_ref()?.as_str().trim_end_matches('/');
        format!("{pages}/v1/{what}").parse().ok()
    };
    let sandbox = scene.task.workspace.as_ref().map(|workspace| workspace.sandbox);
    let sandbox = sandbox.and_then(|sandbox| below(format!("sandboxes/{sandbox}")));
    (below(format!("tasks/{}", scene.lease.task)), sandbox)
}

/// How the pull request ended while a follow-up was under way. Whoever should have told us may have been killed. That it was merged is believed
/// of the branch, and not of what is written about it.
async fn ended<H: Hands>(scene: &Scene<'_, H>) -> Option<Report> {
    let (number, repository) = (scene.task.pull_request?, scene.repository().ok()?);
    let pull = scene.hands().pulls().pull(repository, number).await.ok()?;
    match &pull.state {
        PullState::Merged { .. } => {
            let (_, head, _) = scene.delivered_change()?;
            let known = delivered_base(&scene.history, scene.engine.store.blobs());
            let base = known.as_ref().unwrap_or(&pull.base);
            let is_in = scene.hands().pulls().is_in(repository, base, head).await;
            is_in.is_ok_and(|is_in| is_in).then_some(Report::Merged)
        }
        PullState::Closed { .. } => Some(Report::PullRequestClosed),
        PullState::Draft | PullState::Open => None,
    }
}

fn signer<H: Hands>(scene: &Scene<'_, H>) -> Result<Arc<SigningKey>, Trouble> {
    let none = || scene.failed(FailureKind::Internal, "this server has no key to sign receipts");
    scene.engine.settings.signer.clone().ok_or_else(none)
}

/// Puts how the checks and the review ended beside the pull request, where people look.
async fn tell_checks<H: Hands>(
    scene: &Scene<'_, H>,
    number: PullRequestNumber,
    commit: &CommitId,
    checks: &ChecksRecord,
    statement: &Statement,
) -> Result<(), Trouble> {
    let (pulls, repository) = (scene.hands().pulls(), scene.repository()?);
    for check in &checks.checks {
        let ended = match check.outcome {
            OutcomeRecord::Passed | OutcomeRecord::Fixed | OutcomeRecord::Flaky => {
                CheckEnded::Passed
            }
            // As on base: known, and not this change's fault. What is gone has not been mended.
            OutcomeRecord::KnownFailure | OutcomeRecord::NotRun | OutcomeRecord::Gone => {
                CheckEnded::Skipped
            }
            OutcomeRecord::Regressed | OutcomeRecord::Unjudged => CheckEnded::Failed,
        };
        let told = Check {
            name: format!("{OWN_CHECKS}{}", check.name),
            commit: commit.clone(),
            state: CheckState::Ended(ended),
            summary: check.sentence.clone(),
        };
        let put = pulls.check(repository, number, &told).await;
        put.map_err(|error| pull_trouble(scene, error))?;
    }
    let review = Review {
        name: scene.key("review").to_string(),
        author: Author::Platform,
        at: statement.receipt.time.delivered,
        commit: commit.clone(),
        opinion: Opinion::Remarks,
        text: opinion(&statement.receipt.review),
    };
    let put = pulls.review(repository, number, &review).await;
    put.map_err(|error| pull_trouble(scene, error))
}

fn opinion(review: &evidence::receipt::Review) -> String {
    let outcome = review.outcome.name();
    match review.dismissed {
        0 => format!("Review by a second agent: {outcome}."),
        1 => format!("Review by a second agent: {outcome}; a person dismissed a finding."),
        many => format!("Review by a second agent: {outcome}; people dismissed {many} findings."),
    }
}

fn pull_trouble<H: Hands>(scene: &Scene<'_, H>, error: PullError) -> Trouble {
    forge_trouble(scene, &error.into())
}
