//! `lamp egress log`: one line for each exchange of a sandbox.

use std::io::Write;

use anyhow::anyhow;
use terminal::{
    clean::Cleaner,
    colors::{Colors, Stream},
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
    report::Hint,
};
use wire::{
    client::Client,
    egress::{EgressLogQuery, EgressRecord},
    task::{event::TaskEvent, transcript::PageQuery},
};

use crate::{commands::task::find, kept::block_on, remote::ServerFlag};

/// Show what a sandbox reached, and what it was refused
///
/// The newest stand at the end. What was refused says by which rule, and which command inside wanted it, where that could be seen; a command
/// is what a program says of itself. A sandbox that is gone is known by its id. Refusals, credentials and alarms are in `lamp audit export`
/// as well, where nobody can change them.
#[derive(Debug, clap::Args)]
pub(super) struct Log {
    /// The sandbox
    #[arg(long, value_name = "SANDBOX", required_unless_present = "task", conflicts_with = "task")]
    sandbox: Option<String>,

    /// The task, of whose newest sandbox it is shown
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// Only what was refused
    #[arg(long)]
    refused: bool,

    /// The most lines, the newest
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    most: u32,

    #[command(flatten)]
    server: ServerFlag,

    #[command(flatten)]
    format: FormatFlag,
}

impl Log {
    pub(super) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        let query = EgressLogQuery { refused: self.refused, most: Some(self.most) };
        let (sandbox, log) = block_on(async {
            let sandbox = self.sandbox(&client).await?;
            let log = client.egress_log(&sandbox, &query).await.explained()?;
            anyhow::Ok((sandbox, log))
        })?;
        match self.format.format() {
            Format::Json => write_json(&log, out)?,
            Format::People => {
                for record in &log.records {
                    print(record, colors, out)?;
                }
                if log.records.is_empty() {
                    writeln!(out, "Nothing was seen of `{sandbox}`.")?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

impl Log {
    /// The one that was named, or that of the task. A task's may be gone, and is known by its id all the same.
    async fn sandbox(&self, client: &Client) -> anyhow::Result<String> {
        if let Some(sandbox) = &self.sandbox {
            return Ok(sandbox.clone());
        }
        let task = find(client, self.task.as_deref().unwrap_or_default()).await?;
        if let Some(sandbox) = task.sandbox {
            return Ok(sandbox);
        }
        let query = PageQuery { after: None, limit: Some(500) };
        let events = client.task_events(&task.id, query).await.explained()?.events;
        let prepared = events.into_iter().rev().find_map(|it| {
            let TaskEvent::Prepared { sandbox, .. } = it.event else { return None };
            Some(sandbox)
        });
        prepared.ok_or_else(|| {
            anyhow!(Hint::new(
                format!("task {} has had no sandbox yet: it is {}", task.short, task.state),
                format!("`lamp log -f {}` follows it", task.short)
            ))
        })
    }
}

fn print(record: &EgressRecord, colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    let at = jiff::Timestamp::from_millisecond(record.at_millis)?;
    let place = match record.port {
        0 => format!("the name {}", record.host),
        port => format!("{}:{port}", record.host),
    };
    let request = match (&record.method, &record.path) {
        (Some(method), Some(path)) => format!("{method} {place}{path}"),
        (Some(_) | None, _) => place,
    };
    let request = harmless(&request);
    let reason = harmless(record.reason.as_deref().unwrap_or_default());
    match record.outcome.as_str() {
        "refused" => {
            let word = colors.bad("refused");
            writeln!(out, "{at:.0} {word} {request}: {reason}")?;
            let cause = harmless(record.cause.as_deref().unwrap_or("unknown"));
            writeln!(out, "    {} {cause}", colors.weak("command:"))?;
        }
        "broken" => writeln!(out, "{at:.0} broken {request}: {reason}")?,
        _ => {
            let status = record.status.map(|status| format!(" {status}")).unwrap_or_default();
            let rule = record.rule.as_deref().unwrap_or_default();
            writeln!(
                out,
                "{at:.0} {}{status} {request} by `{rule}`, {} up, {} down",
                colors.good("done"),
                record.bytes_up,
                record.bytes_down
            )?;
        }
    }
    Ok(())
}

/// Hosts, paths and commands are words of those inside.
fn harmless(text: &str) -> String {
    let cleaned = Cleaner::of(Stream::Terminal).clean(text.as_bytes()).into_owned();
    String::from_utf8(cleaned).unwrap_or_default()
}
