//! `lamp completions`: lets a shell complete what a person types.

use std::io::Write;

use clap_complete::Shell;
use terminal::exit::Exit;

/// Print a completion script for a shell
///
/// For bash: `lamp completions bash > ~/.local/share/bash-completion/completions/lamp`
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell to complete in
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(
        &self,
        mut command: clap::Command,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        // The generator panics when it cannot write, and writing to memory always works.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "lamp", &mut script);
        out.write_all(&script)?;
        Ok(Exit::Done)
    }
}
