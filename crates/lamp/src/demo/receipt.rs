//! Checks the receipt as anybody can: with the public key, the repository and what was said, and nothing else of the server.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use domain::{
    code::{CommitId, RepositoryName},
    money::Money,
    plan::{Estimate, FileChange, Plan},
};
use evidence::{
    keys::{PublicKey, TrustedKeys},
    receipt::TreeId,
    verify::{Finding, Known, Row, Subject, verify},
};

use wire::{agent::PlannedFile, task::plan as told};

use super::{ground::Ground, sample, voice::shortened};
use crate::terminal::Colors;

/// What is known of the delivered change without the server's word.
#[derive(Debug)]
pub(crate) struct Delivered<'a> {
    /// The commit that the pull request's branch is at.
    pub(crate) commit: &'a str,
    /// The plan that the person has read and said yes to.
    pub(crate) plan: &'a told::Plan,
}

/// Tells each row, and fails when one does not hold.
pub(crate) fn check(
    envelope: &[u8],
    delivered: &Delivered<'_>,
    ground: &Ground,
    colors: Colors,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let trusted = keys(&ground.data().join("keys/public"))?;
    let repository: RepositoryName = sample::NAME.parse()?;
    let commit: CommitId = delivered.commit.parse()?;
    let tree: TreeId = tree(&ground.sample(), &commit)?.parse()?;
    let plan = plan(delivered.plan);
    let known = Known {
        repository: Some(&repository),
        commit: Some(&commit),
        tree: Some(&tree),
        plan: Some(&plan),
        request: Some(sample::REQUEST),
        ..Known::default()
    };
    let verified =
        verify(envelope, &trusted, &known).context("the receipt is not to be trusted")?;
    for row in verified.checklist.rows() {
        let finding = match row.finding {
            Finding::Holds => colors.good("holds"),
            Finding::DoesNotHold => colors.bad("does not hold"),
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

/// The public keys that the server has made so far, as an operator would hand them out.
fn keys(directory: &Path) -> anyhow::Result<TrustedKeys> {
    let mut keys = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "pem") {
            keys.push(fs_err::read_to_string(path)?.parse::<PublicKey>()?);
        }
    }
    Ok(keys.into_iter().collect())
}

/// The tree of a commit, as git says.
fn tree(repository: &Path, commit: &CommitId) -> anyhow::Result<String> {
    let word = format!("{commit}^{{tree}}");
    let mut git = Command::new("git");
    git.current_dir(repository).args(["rev-parse", "--verify", "--end-of-options", &word]);
    let said = git.stdin(Stdio::null()).output().context("git does not start")?;
    if !said.status.success() {
        bail!("the commit `{commit}` is not in the repository");
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The plan as it was shown, so that its hash can be made here.
fn plan(told: &told::Plan) -> Plan {
    let file = |file: &PlannedFile| FileChange { path: file.path.clone(), why: file.why.clone() };
    let told::Estimate { seconds, cost } = &told.estimate;
    Plan {
        summary: told.summary.clone(),
        files: told.files.iter().map(file).collect(),
        tests: told.tests.clone(),
        expected_behaviour: told.expected_behaviour.clone(),
        commands: told.commands.clone(),
        hosts: told.hosts.clone(),
        risks: told.risks.clone(),
        estimate: Estimate {
            time: seconds.map(Duration::from_secs),
            cost: cost.as_ref().map(|cost| Money::from_micros(cost.micros)),
        },
    }
}
