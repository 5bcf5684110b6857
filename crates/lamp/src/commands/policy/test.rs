//! `lamp policy test`: a table of expectations, held against the policy.

use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use config::{
    expectations::{Expectation, ExpectationsFile, Expected},
    text_file,
};
use domain::policy::EgressPhase;
use egress::broker::{explain::Verdict, ruling::Ruling};
use serde::Serialize;
use terminal::{
    colors::Colors,
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    report::Hint,
};

use super::files::{Files, Paths};

/// Hold a table of expectations against a policy
///
/// The table names the policy and lists requests with what should become of them; `examples/policy-test.yaml` is one. Nothing is sent
/// anywhere. Ends with 1 when an expectation is not met.
#[derive(Debug, clap::Args)]
pub(super) struct Test {
    /// Tables of expectations
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Printed {
    version: u32,
    ok: bool,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    file: String,
    method: String,
    url: String,
    phase: &'static str,
    expected: &'static str,
    /// The rule or layer that should decide, if the table says one.
    by: Option<String>,
    became: &'static str,
    rule: Option<String>,
    reason: String,
    ok: bool,
}

impl Test {
    pub(super) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let mut rows = Vec::new();
        for file in &self.files {
            rows.extend(test(file, environment.home.as_deref())?);
        }
        let ok = rows.iter().all(|row| row.ok);
        match self.format.format() {
            Format::People => print(&rows, colors, out)?,
            Format::Json => write_json(&Printed { version: 1, ok, rows }, out)?,
        }
        Ok(if ok { Exit::Done } else { Exit::Failed })
    }
}

fn test(path: &Path, home: Option<&Path>) -> anyhow::Result<Vec<Row>> {
    let name = path.display().to_string();
    let hint = || Hint::new(format!("cannot use `{name}`"), "correct it, and try again");
    let text = text_file::read(path).map_err(|error| anyhow!("{error}")).with_context(hint)?;
    let table = ExpectationsFile::check(&name, &text).with_context(hint)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let place = |file: &config::names::FilePath| beside.join(file.as_str());
    let files = Files::read(&Paths {
        policy: table.policy.as_ref().map(place),
        server: table.server.as_ref().map(place),
        agent: table.agent.as_ref().map(place),
    })?;
    let mut rulings: BTreeMap<EgressPhase, Ruling> = BTreeMap::new();
    let mut rows = Vec::new();
    for expectation in &table.expect {
        let ruling = match rulings.entry(expectation.phase) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(files.ruling(expectation.phase, home)?)
            }
        };
        rows.push(row(&name, expectation, ruling)?);
    }
    Ok(rows)
}

fn row(file: &str, expectation: &Expectation, ruling: &Ruling) -> anyhow::Result<Row> {
    let method = expectation.method.as_ref().map_or("GET", |method| method.as_str());
    let explained = ruling.explain(method, expectation.url.as_str())?;
    let (became, rule, reason) = match explained.verdict {
        Verdict::Allowed { rule } => {
            (Expected::Allow, Some(rule), "every layer allows it".to_owned())
        }
        // The rules let it pass; what its body may be is another matter.
        Verdict::DependsOnBody => {
            let first = explained.bundles.first().cloned();
            (Expected::Allow, first, "if its body is what it should be".to_owned())
        }
        Verdict::Denied(refusal) => (Expected::Deny, refusal.rule, refusal.reason),
    };
    let is_by = |by: &config::names::Text| rule.as_deref().is_some_and(|rule| rule == by.as_str());
    let ok = became == expectation.expect && expectation.by.as_ref().is_none_or(is_by);
    Ok(Row {
        file: file.to_owned(),
        method: method.to_owned(),
        url: expectation.url.to_string(),
        phase: expectation.phase.as_str(),
        expected: word(expectation.expect),
        by: expectation.by.as_ref().map(ToString::to_string),
        became: word(became),
        rule,
        reason,
        ok,
    })
}

const fn word(expected: Expected) -> &'static str {
    match expected {
        Expected::Allow => "allow",
        Expected::Deny => "deny",
    }
}

fn print(rows: &[Row], colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    for row in rows {
        let mark =
            if row.ok { colors.good("ok").to_string() } else { colors.bad("wrong").to_string() };
        let Row { method, url, phase, became, .. } = row;
        let by = row.rule.as_ref().map(|rule| format!(" by `{rule}`")).unwrap_or_default();
        writeln!(out, "{mark}: {method} {url} while `{phase}`: {became}{by}")?;
        if !row.ok {
            let by = row.by.as_ref().map(|by| format!(" by `{by}`")).unwrap_or_default();
            writeln!(out, "  expected {}{by}; {}", row.expected, row.reason)?;
        }
    }
    let wrong = rows.iter().filter(|row| !row.ok).count();
    let all = rows.len();
    match wrong {
        0 => writeln!(out, "\n{all} expectations are met.")?,
        wrong => writeln!(out, "\n{wrong} of {all} expectations are not met.")?,
    }
    Ok(())
}
