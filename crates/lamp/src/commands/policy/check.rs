//! `lamp policy check`: is a policy right, and what does it open?

use std::{io::Write, path::PathBuf};

use config::{Checked, FileKind, policy::PolicyFile, text_file};
use domain::policy::EgressPhase;
use serde::Serialize;
use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
};

/// Check a policy, name every problem with its line, and say what it opens
///
/// Changes nothing. Ends with 1 when the file is wrong or cannot be read.
#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// The policy
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Printed {
    version: u32,
    ok: bool,
    file: String,
    problems: Vec<Problem>,
    phases: Vec<Opened>,
}

#[derive(Debug, Serialize)]
struct Problem {
    line: Option<usize>,
    column: Option<usize>,
    what: String,
    help: String,
}

#[derive(Debug, Serialize)]
struct Opened {
    phase: &'static str,
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Check {
    pub(super) fn run(&self, colors: Colors, out: &mut impl Write) -> anyhow::Result<Exit> {
        let file = self.file.display().to_string();
        let checked = match text_file::read(&self.file) {
            Ok(text) => check(&file, &text),
            Err(why) => {
                let (what, help) = (why.to_string(), why.help().to_owned());
                Err(vec![Problem { line: None, column: None, what, help }])
            }
        };
        let ok = checked.is_ok();
        let (phases, problems) = match checked {
            Ok(policy) => {
                (EgressPhase::ALL.iter().map(|it| opened(&policy, *it)).collect(), vec![])
            }
            Err(problems) => (Vec::new(), problems),
        };
        let printed = Printed { version: 1, ok, file, problems, phases };
        match self.format.format() {
            Format::People => print(&printed, colors, out)?,
            Format::Json => write_json(&printed, out)?,
        }
        Ok(if ok { Exit::Done } else { Exit::Failed })
    }
}

fn check(file: &str, text: &str) -> Result<PolicyFile, Vec<Problem>> {
    match config::check_as(FileKind::Policy, file, text) {
        Ok(Checked::Policy(policy)) => Ok(*policy),
        // Asked for as a policy, it is read as one.
        Ok(Checked::Server(_) | Checked::Agent(_)) => Err(Vec::new()),
        Err(invalid) => Err(invalid
            .problems
            .into_iter()
            .map(|problem| {
                let config::Problem { line, column, what, help, .. } = problem;
                Problem { line: Some(line), column: Some(column), what, help }
            })
            .collect()),
    }
}

/// As the layer has it, which is what decides.
fn opened(policy: &PolicyFile, phase: EgressPhase) -> Opened {
    let layer = policy.layer();
    let told = |rules: &std::collections::BTreeSet<domain::policy::Rule>| {
        rules.iter().map(ToString::to_string).collect()
    };
    match layer.egress.get(&phase) {
        Some(rules) => {
            Opened { phase: phase.as_str(), allow: told(&rules.allow), deny: told(&rules.deny) }
        }
        None => Opened { phase: phase.as_str(), allow: Vec::new(), deny: Vec::new() },
    }
}

fn print(printed: &Printed, colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    let file = &printed.file;
    for Problem { line, column, what, help } in &printed.problems {
        let place = match (line, column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}:"),
            (Some(_) | None, _) => format!("{file}:"),
        };
        writeln!(out, "{} {what}\n  {} {help}", colors.strong(place), colors.weak("help:"))?;
    }
    if !printed.ok {
        writeln!(out, "\nThe policy is wrong; a server would keep the one that it has.")?;
        return Ok(());
    }
    for Opened { phase, allow, deny } in &printed.phases {
        match allow.as_slice() {
            [] => writeln!(out, "{phase}: closed")?,
            allow => writeln!(out, "{phase}: {} allowed, {} denied", allow.len(), deny.len())?,
        }
        allow.iter().try_for_each(|rule| writeln!(out, "  + {rule}"))?;
        deny.iter().try_for_each(|rule| writeln!(out, "  - {rule}"))?;
    }
    writeln!(out, "\n{file}: {}", colors.good("right"))?;
    Ok(())
}
