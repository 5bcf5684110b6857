//! `lamp egress`: what sandboxes did and tried.

mod log;

use std::io::Write;

use terminal::{colors::Colors, environment::Environment, exit::Exit};

/// Show what sandboxes reached and were refused
#[derive(Debug, clap::Args)]
pub(crate) struct Egress {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Log(log::Log),
}

impl Egress {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        match &self.what {
            What::Log(log) => log.run(environment, colors, out),
        }
    }
}
