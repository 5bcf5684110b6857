//! `lamp policy`: what may leave a sandbox, checked, explained, tested and learned.

mod check;
pub(crate) mod explain;
mod files;
mod learn;
mod test;

use std::io::Write;

use crate::{environment::Environment, exit::Exit, terminal::Colors};

/// Check, explain, test and learn what sandboxes may reach
#[derive(Debug, clap::Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Check(check::Check),
    Explain(explain::Explain),
    Test(test::Test),
    Learn(learn::Learn),
}

impl Policy {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        colors: Colors,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        match &self.what {
            What::Check(check) => check.run(colors, out),
            What::Explain(explain) => explain.run(environment, colors, out),
            What::Test(test) => test.run(environment, colors, out),
            What::Learn(learn) => learn.run(environment, out),
        }
    }
}
