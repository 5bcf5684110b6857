//! Checks the receipt as anybody can: with the public key, the repository and what was said, and nothing else of the server.

use std::io::Write;

use anyhow::{Context as _, bail};
use domain::code::{CommitId, RepositoryName};
use evidence::verify::{Finding, Known, Row, Subject, verify};
use terminal::colors::Colors;
use wire::task::plan as told;

use super::{Checks, ground::Ground, sample, voice::shortened};

/// What is known of the delivered change without the server's word.
#[derive(Debug)]
pub(crate) struct Delivered<'a> {
    /// The commit that the pull request's branch is at.
    pub(crate) commit: &'a str,
    /// The plan that the person has read and said yes to.
    pub(crate) plan: &'a told::Plan,
    pub(crate) checks: Checks,
}

/// Tells each row, and fails when one does not hold.
pub(crate) fn check(
    envelope: &[u8],
    delivered: &Delivered<'_>,
    ground: &Ground,
    colors: Colors,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let trusted = (delivered.checks.keys)(&ground.data().join("keys/public"))?;
    let repository: RepositoryName = sample::NAME.parse()?;
    let commit: CommitId = delivered.commit.parse()?;
    let tree = (delivered.checks.tree)(&ground.sample(), &commit)?;
    let plan = (delivered.checks.plan)(delivered.plan);
    let known = Known {
        repository: Some(&repository),
        commit: Some(&commit),
        tree: Some(&tree),
        plan: plan.as_ref(),
        request: Some(sample::REQUEST),
        ..Known::default()
    };
    let verified =
        verify(envelope, &trusted, &known).context("the receipt is not to be trusted")?;
    for row in verified.checklist.rows() {
        let finding = match row.finding {
            Finding::Holds => colors.good("holds"),
            Finding::DoesNotHold => colors.bad("does not hold"),
            Finding::Unproven => colors.warning("unproven"),
            Finding::Unknown => colors.weak("not looked at"),
        };
        writeln!(out, "    {:<10} {finding}: {}", row.subject.name(), shortened(&row.detail))?;
    }
    // All but the transcript is known here, so all but the transcript has to hold.
    let open = |row: &&Row| row.finding != Finding::Holds && row.subject != Subject::Transcript;
    match verified.checklist.rows().iter().find(open) {
        None => Ok(()),
        Some(row) => bail!("the receipt does not hold: {}", row.subject.name()),
    }
}
