//! `lamp shell`: a look into the computer that a task's agent works on.

use std::io::{self, Write};

use anyhow::bail;
use contracts::sandbox::{WORKSPACE, directory_names};
use domain::code::RepositoryName;
use terminal::{colors::Stream, exit::Exit, report::Hint};
use wire::{exec::StartExec, task::shown::Task};

use super::{World, named::Named};
use crate::session::{self, Terminal};

const SHELL: &str = "if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi";

/// Open a shell in the sandbox that a task's agent works in
///
/// It begins in the repository that the agent changes. A sandbox that rests wakes for it. What runs inside draws on this terminal as it would without a sandbox: only open a shell where you trust what runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Shell {
    #[command(flatten)]
    named: Named,

    /// What to run instead of a shell
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

impl Shell {
    pub(super) async fn run(
        &self,
        world: World<'_>,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let (client, task) = self.named.find(world.environment).await?;
        let Some(sandbox) = &task.sandbox else {
            bail!(Hint::new(
                format!("task {} has no sandbox now: it is {}", task.short, task.state),
                "there is one while its agent works; `lamp log` shows what it did"
            ));
        };
        let on_terminal = Stream::of(&io::stdin()) == Stream::Terminal;
        let usual = || ["/bin/sh", "-c", SHELL].map(str::to_owned).to_vec();
        let (argv, terminal) = match (self.command.is_empty(), on_terminal) {
            (true, false) => bail!(Hint::new(
                "a shell wants a terminal, and the input is none",
                format!("name a command: `lamp shell {} -- git status`", task.short)
            )),
            (true, true) => (usual(), Terminal::Ours),
            (false, true) => (self.command.clone(), Terminal::Ours),
            (false, false) => (self.command.clone(), Terminal::None),
        };
        let term = world.environment.term.as_ref().and_then(|term| term.to_str());
        let start = StartExec {
            argv,
            directory: workplace(&task)?,
            environment: term
                .map(|term| ("TERM".to_owned(), term.to_owned()))
                .into_iter()
                .collect(),
            ..StartExec::default()
        };
        let finished = session::hold(&client, sandbox, start, terminal, out, err).await?;
        Ok(session::exit(&finished))
    }
}

/// Where the agent works: in the repository that it changes.
fn workplace(task: &Task) -> anyhow::Result<Option<String>> {
    let names = task.repositories.iter().map(|used| used.name.parse());
    let names: Vec<RepositoryName> = names.collect::<Result<_, _>>()?;
    let first = directory_names(&names.iter().collect::<Vec<_>>()).into_iter().next();
    Ok(first.map(|name| format!("{WORKSPACE}/{name}")))
}
