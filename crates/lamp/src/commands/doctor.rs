//! `lamp doctor`: what this computer can do, what is missing, and what follows.

use std::{io::Write, path::PathBuf};

use doctor::{self, Host, Verdict};
use terminal::{
    colors::Colors,
    data_directory::{Account, DataFlag},
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag},
};

/// Say what this computer can do, what is missing, and what follows
///
/// Tries namespaces, mounts and Landlock for real, in short-lived processes that leave nothing
/// behind. Ends with 0 when lamp can run here, and with 1 when something essential is missing.
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    data: DataFlag,

    /// A `lamp.yaml`, whose data directory and database are looked at too
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    format: FormatFlag,
}

impl Doctor {
    pub(crate) fn measure(
        &self,
        environment: &Environment,
        account: Account,
    ) -> anyhow::Result<Host> {
        let host = doctor::measure(&self.data, self.config.as_deref(), environment, account)?;
        Ok(host.with_toolchains(server::toolchains::named(environment.home.as_deref())))
    }

    pub(crate) fn run(
        &self,
        host: &Host,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let examination = doctor::examine(host);
        match self.format.format() {
            Format::People => doctor::print_text(&examination, colors, out)?,
            Format::Json => doctor::print_json(&examination, out)?,
        }
        Ok(match examination.verdict() {
            Verdict::CanRun => Exit::Done,
            Verdict::CannotRun => Exit::Failed,
        })
    }
}
