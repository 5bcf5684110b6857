//! `lamp config check`: every problem of every file, before a server meets them.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::bail;
use config::text_file;
use serde::Serialize;
use terminal::{
    colors::Colors,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    report::Hint,
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
/// obeyed yet. Without FILE it checks what is here: the files of a server, or the agents that a
/// repository defines itself, with what these need a server to grant.
#[derive(Debug, clap::Args)]
struct Check {
    /// The files to check [default: `lamp.yaml`, `policy.yaml` and `agents/*.yaml` of this directory]
    #[arg(value_name = "FILE")]
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
        let files: Vec<CheckedFile> = if self.files.is_empty() {
            let here = here()?;
            here.iter().map(|(path, whose)| check(path, *whose)).collect()
        } else {
            self.files.iter().map(|path| check(path, Whose::Unsaid)).collect()
        };
        let ok = files.iter().all(|file| file.problems.is_empty());
        match self.format.format() {
            Format::People => print_text(&files, colors, out)?,
            Format::Json => write_json(&Printed { version: 1, ok, files: &files }, out)?,
        }
        Ok(if ok { Exit::Done } else { Exit::Failed })
    }
}

/// Whose file it is, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Unsaid,
    Repository,
}

/// The files of this directory. Without a `lamp.yaml` its agents are a repository's own.
fn here() -> anyhow::Result<Vec<(PathBuf, Whose)>> {
    let is_server = Path::new("lamp.yaml").exists();
    let whose = if is_server { Whose::Unsaid } else { Whose::Repository };
    let usual = ["lamp.yaml", "policy.yaml"].map(PathBuf::from).into_iter();
    let mut files: Vec<(PathBuf, Whose)> =
        usual.filter(|_| is_server).filter(|it| it.exists()).map(|it| (it, whose)).collect();
    let listed = fs_err::read_dir("agents").into_iter().flatten().flatten();
    let mut agents: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    agents.retain(|path| {
        let is_ours = || text_file::read(path).map_or(true, |text| config::owned::is_ours(&text));
        path.extension().is_some_and(|it| it == "yaml") && (is_server || is_ours())
    });
    agents.sort();
    files.extend(agents.into_iter().map(|path| (path, whose)));
    if files.is_empty() {
        bail!(Hint::new(
            "there is no `lamp.yaml` and no agent in `agents/` here",
            "name the files, as `lamp config check agents/fix.yaml`, or go to where they are"
        ));
    }
    Ok(files)
}

fn check(path: &Path, whose: Whose) -> CheckedFile {
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
            let mut notes = config::unheard(&file, &text);
            if whose == Whose::Repository {
                match config::owned::check_anywhere(&file, &text) {
                    Ok(needs) => notes.extend(needs),
                    Err(invalid) => {
                        let problems = invalid.problems.into_iter().map(Problem::from).collect();
                        return CheckedFile { problems, file, kind: None, notes: Vec::new() };
                    }
                }
            }
            let notes = notes.into_iter().map(Problem::from).collect();
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
