//! `lamp policy`: what may leave a sandbox, checked, explained, tested, learned and read again.

mod check;
pub(crate) mod explain;
mod files;
mod learn;
mod reload;
mod test;

use std::io::Write;

use terminal::{colors::Colors, environment::Environment, exit::Exit};

/// Check, explain, test, learn and reload what sandboxes may reach
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
    Reload(reload::Reload),
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
            What::Reload(reload) => reload.run(environment, colors, out),
        }
    }
}
