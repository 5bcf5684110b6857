//! `lamp version`: which program this is.

use std::{env::consts, io::Write};

use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
};

/// Print the version
#[derive(Debug, clap::Args)]
pub(crate) struct Version {
    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Printed {
    name: &'static str,
    version: &'static str,
    system: &'static str,
    architecture: &'static str,
}

const THIS: Printed = Printed {
    name: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    system: consts::OS,
    architecture: consts::ARCH,
};

impl Version {
    pub(crate) fn run(&self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.format.format() {
            Format::People => writeln!(out, "{} {}", THIS.name, THIS.version)?,
            Format::Json => write_json(&THIS, out)?,
        }
        Ok(Exit::Done)
    }
}
