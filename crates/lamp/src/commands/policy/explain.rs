//! `lamp policy explain`: which rule decides about one request, and why.

use std::{io::Write, path::PathBuf};

use domain::policy::EgressPhase;
use server::explain;
use terminal::{
    colors::Colors,
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::egress::{EgressVerdict, ExplainEgress, ExplainedEgress};

use super::files::{Files, Paths};
use crate::{kept::block_on, remote::ServerFlag};

/// Say which rule decides about a request, and why
///
/// With `--sandbox` the running server is asked; otherwise the files are read, and no server is needed. Nothing is sent to
/// the address. Ends with 0 whatever the answer is.
#[derive(Debug, clap::Args)]
pub(super) struct Explain {
    /// The address: `https://api.example.com/v1/things`
    #[arg(value_name = "URL")]
    url: String,

    /// The HTTP method
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    method: String,

    /// The sandbox that would ask
    #[arg(long, value_name = "SANDBOX", conflicts_with_all = ["file", "lamp", "agent", "phase"])]
    sandbox: Option<String>,

    /// A policy file; without one, what holds where nobody has written a policy
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// A `lamp.yaml` that narrows it, and names models and registries
    #[arg(long, value_name = "FILE")]
    lamp: Option<PathBuf>,

    /// An agent's file that narrows it
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,

    /// The phase: `setup`, `research`, `implement` or `review`
    #[arg(long, value_name = "PHASE", value_parser = phase, default_value = "implement")]
    phase: EgressPhase,

    #[command(flatten)]
    server: ServerFlag,

    #[command(flatten)]
    format: FormatFlag,
}

fn phase(word: &str) -> Result<EgressPhase, String> {
    EgressPhase::ALL
        .into_iter()
        .find(|phase| phase.as_str() == word)
        .ok_or_else(|| "phases are `setup`, `research`, `implement` and `review`".to_owned())
}

impl Explain {
    pub(super) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let explained = if let Some(sandbox) = &self.sandbox {
            let client = self.server.client(environment)?;
            let wish = ExplainEgress { url: self.url.clone(), method: self.method.clone() };
            block_on(async { client.explain_egress(sandbox, &wish).await.explained() })?
        } else {
            let paths = Paths {
                policy: self.file.clone(),
                server: self.lamp.clone(),
                agent: self.agent.clone(),
            };
            let ruling = Files::read(&paths)?.ruling(self.phase, environment.home.as_deref())?;
            explain::shape(&ruling.explain(&self.method, &self.url)?)
        };
        match self.format.format() {
            Format::People => print(&explained, colors, out)?,
            Format::Json => write_json(&explained, out)?,
        }
        Ok(Exit::Done)
    }
}

fn print(it: &ExplainedEgress, colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    let word = match it.verdict {
        EgressVerdict::Allow => colors.good("allowed").to_string(),
        EgressVerdict::Deny => colors.bad("denied").to_string(),
        EgressVerdict::DependsOnBody => colors.strong("depends on the body").to_string(),
    };
    writeln!(out, "{} {} while `{}`: {word}", it.method, it.url, it.phase)?;
    writeln!(out, "  {}", it.reason)?;
    for layer in &it.layers {
        let rule = layer.rule.as_ref().map(|rule| format!(" `{rule}`")).unwrap_or_default();
        writeln!(out, "  {}: {}{rule}", layer.layer, layer.says)?;
    }
    if !it.bundles.is_empty() {
        writeln!(out, "  it belongs to {}", it.bundles.join(", "))?;
    }
    writeln!(out, "  the connection is {}", it.connection)?;
    for note in &it.notes {
        writeln!(out, "  {} {note}", colors.weak("note:"))?;
    }
    if let Some(remedy) = &it.remedy {
        writeln!(out, "{} {remedy}", colors.weak("help:"))?;
    }
    Ok(())
}
