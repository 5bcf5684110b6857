//! `lamp config check`: every problem of every file, before a server meets them.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use config::text_file;
use serde::Serialize;
use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
};

/// Check the files that configure lamp
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    Check(Check),
}

/// Check files, and name every problem with its line
///
/// Knows `lamp.yaml`, `policy.yaml` and `agents/*.yaml`. Changes nothing. Ends with 0 when all
/// files are right, and with 1 when one is wrong or cannot be read. Also names what is right and not
/// obeyed yet.
#[derive(Debug, clap::Args)]
struct Check {
    /// The files to check
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatFlag,
}

/// What became of one file.
#[derive(Debug, Serialize)]
struct CheckedFile {
    file: String,
    /// Only where the file is right: a wrong one may be of no kind.
    kind: Option<&'static str>,
    problems: Vec<Problem>,
    /// Keys of a right file that nothing obeys yet.
    notes: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    /// Nothing where the whole file could not be read.
    line: Option<usize>,
    column: Option<usize>,
    what: String,
    help: String,
}

#[derive(Debug, Serialize)]
struct Printed<'a> {
    /// Rises when a key changes its meaning or goes away.
    version: u32,
    ok: bool,
    files: &'a [CheckedFile],
}

impl Config {
    pub(crate) fn run(&self, colors: Colors, out: &mut impl Write) -> anyhow::Result<Exit> {
        match &self.command {
            ConfigCommand::Check(check) => check.run(colors, out),
        }
    }
}

impl Check {
    fn run(&self, colors: Colors, out: &mut impl Write) -> anyhow::Result<Exit> {
        let files: Vec<CheckedFile> = self.files.iter().map(|path| check(path)).collect();
        let ok = files.iter().all(|file| file.problems.is_empty());
        match self.format.format() {
            Format::People => print_text(&files, colors, out)?,
            Format::Json => write_json(&Printed { version: 1, ok, files: &files }, out)?,
        }
        Ok(if ok { Exit::Done } else { Exit::Failed })
    }
}

fn check(path: &Path) -> CheckedFile {
    let file = path.display().to_string();
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(why) => {
            let (what, help) = (why.to_string(), why.help().to_owned());
            let problems = vec![Problem { line: None, column: None, what, help }];
            return CheckedFile { file, kind: None, problems, notes: Vec::new() };
        }
    };
    match config::check(&file, &text) {
        Ok(checked) => {
            let notes = config::unheard(&file, &text).into_iter().map(Problem::from).collect();
            let kind = Some(checked.kind().as_str());
            CheckedFile { file, kind, problems: Vec::new(), notes }
        }
        Err(invalid) => {
            let problems = invalid.problems.into_iter().map(Problem::from).collect();
            CheckedFile { problems, file, kind: None, notes: Vec::new() }
        }
    }
}

impl From<config::Problem> for Problem {
    fn from(problem: config::Problem) -> Self {
        let config::Problem { line, column, what, help, .. } = problem;
        Self { line: Some(line), column: Some(column), what, help }
    }
}

fn print_text(files: &[CheckedFile], colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    for CheckedFile { file, kind, problems, notes } in files {
        if let Some(kind) = kind {
            writeln!(out, "{file}: {} ({kind} file)", colors.good("right"))?;
        }
        for Problem { line, column, what, help } in problems.iter().chain(notes) {
            let place = match (line, column) {
                (Some(line), Some(column)) => format!("{file}:{line}:{column}:"),
                (Some(_) | None, _) => format!("{file}:"),
            };
            writeln!(out, "{} {what}\n  {} {help}", colors.strong(place), colors.weak("help:"))?;
        }
    }
    writeln!(out, "\n{}", summary(files))?;
    Ok(())
}

fn summary(files: &[CheckedFile]) -> String {
    let count = |number: usize, noun: &str| match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    };
    let all = count(files.len(), "file");
    let problems: usize = files.iter().map(|file| file.problems.len()).sum();
    let wrong = files.iter().filter(|file| !file.problems.is_empty()).count();
    let notes: usize = files.iter().map(|file| file.notes.len()).sum();
    if wrong == 0 && notes > 0 {
        let them = if notes == 1 { "value is" } else { "values are" };
        return format!("{all} checked, nothing is wrong; {notes} {them} not obeyed yet.");
    }
    if wrong == 0 {
        return format!("{all} checked, nothing is wrong.");
    }
    format!("{all} checked, {} in {}.", count(problems, "problem"), count(wrong, "file"))
}
