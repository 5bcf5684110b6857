//! `lamp audit`: who did what, and whether the log of it is whole.

use std::io::Write;

use anyhow::Context as _;
use domain::digest::Digest;
use serde::Serialize;
use store::{AuditFault, AuditLink, Store, Verified};
use terminal::{
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    report::Hint,
};

use crate::kept::{KeptFlags, block_on};

/// Check or export the log of who did what
#[derive(Debug, clap::Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Verify(Verify),
    Export(Export),
}

/// Check that no row was changed, removed or added
///
/// Prints the number of rows and the hash of the newest. Keep that hash somewhere else, and give it to
/// `--head` next time: then even someone who rewrites the whole log is found out.
#[derive(Debug, clap::Args)]
struct Verify {
    /// The hash that an earlier check printed; the log must still contain it
    #[arg(long, value_name = "HASH")]
    head: Option<Digest>,

    #[command(flatten)]
    kept: KeptFlags,

    #[command(flatten)]
    format: FormatFlag,
}

/// Print every row as one line of JSON, oldest first
#[derive(Debug, clap::Args)]
struct Export {
    #[command(flatten)]
    kept: KeptFlags,
}

#[derive(Debug, Serialize)]
struct Outcome {
    whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl Audit {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        match &self.what {
            What::Verify(verify) => block_on(verify.run(environment, out)),
            What::Export(export) => block_on(export.run(environment, out)),
        }
    }
}

impl Verify {
    async fn run(&self, environment: &Environment, out: &mut impl Write) -> anyhow::Result<Exit> {
        let store = self.kept.find(environment)?.open().await?;
        let verified = match store.verify_audit().await {
            Err(AuditFault::Store(error)) => {
                return Err(error).context("cannot read the audit log");
            }
            verified => verified.map_err(|fault| fault.to_string()),
        };
        let verified = match (verified, self.head) {
            (Ok(verified), Some(head)) if !contains(&store, head).await? => {
                Err(format!("the log of {} rows does not contain the hash {head}", verified.rows))
            }
            (verified, _) => verified,
        };
        store.close().await;
        match self.format.format() {
            Format::People => tell(&verified, out)?,
            Format::Json => write_json(&outcome(&verified), out)?,
        }
        Ok(if verified.is_ok() { Exit::Done } else { Exit::Failed })
    }
}

fn tell(verified: &Result<Verified, String>, out: &mut impl Write) -> std::io::Result<()> {
    match verified {
        Ok(Verified { rows, head }) => {
            writeln!(out, "The audit log is whole: {rows} rows.\nhead: {head}")
        }
        Err(fault) => writeln!(
            out,
            "The audit log is damaged: {fault}.\n\
             Keep a copy of the database as it is, and compare it with a backup."
        ),
    }
}

fn outcome(verified: &Result<Verified, String>) -> Outcome {
    match verified {
        Ok(Verified { rows, head }) => {
            Outcome { whole: true, rows: Some(*rows), head: Some(head.to_string()), fault: None }
        }
        Err(fault) => Outcome { whole: false, rows: None, head: None, fault: Some(fault.clone()) },
    }
}

/// Whether a row with this hash is in the log. An empty log contains the hash before the first row.
async fn contains(store: &Store, head: Digest) -> anyhow::Result<bool> {
    let mut found = head == Digest::from_bytes([0; 32]);
    each_link(store, |link| {
        found |= link.hash == head;
        Ok(())
    })
    .await?;
    Ok(found)
}

impl Export {
    async fn run(&self, environment: &Environment, out: &mut impl Write) -> anyhow::Result<Exit> {
        let store = self.kept.find(environment)?.open().await?;
        each_link(&store, |link| write_row(link, out)).await?;
        store.close().await;
        Ok(Exit::Done)
    }
}

async fn each_link(
    store: &Store,
    mut each: impl FnMut(&AuditLink) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut position = 0;
    loop {
        let page = store.audit_log(position).await.with_context(|| {
            Hint::new("cannot read the audit log", "run `lamp doctor` to see what is wrong")
        })?;
        let Some(last) = page.last() else { return Ok(()) };
        position = last.position;
        page.iter().try_for_each(&mut each)?;
    }
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    position: i64,
    at: String,
    actor: &'a str,
    action: &'a str,
    subject: &'a str,
    detail: &'a str,
    previous: String,
    hash: String,
}

fn write_row(link: &AuditLink, out: &mut impl Write) -> anyhow::Result<()> {
    let at = jiff::Timestamp::from_millisecond(link.entry.at.as_millis())?;
    let row = Row {
        position: link.position,
        at: at.to_string(),
        actor: &link.entry.actor,
        action: &link.entry.action,
        subject: &link.entry.subject,
        detail: &link.entry.detail,
        previous: link.previous.to_string(),
        hash: link.hash.to_string(),
    };
    serde_json::to_writer(&mut *out, &row)?;
    writeln!(out)?;
    Ok(())
}
