//! `lamp secret`: values that agents may use and never see.

mod delete;
mod list;
mod rotate_key;
mod set;
mod value;

use std::io::Write;

use terminal::{environment::Environment, exit::Exit};

use crate::{kept::block_on, remote::ServerFlag};

/// Keep secrets: values that agents may use and never see
///
/// Talks to a running `lamp up`. A value goes in, and nothing gives it back: inside a sandbox there is a placeholder,
/// which is swapped for the value on the way to the hosts that the secret is bound to.
#[derive(Debug, clap::Args)]
pub(crate) struct Secret {
    #[command(flatten)]
    server: ServerFlag,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Set(set::Set),
    List(list::List),
    Delete(delete::Delete),
    RotateKey(rotate_key::RotateKey),
}

impl Secret {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        // Before anything else, so that a value in the wrong place is told of even where no server runs.
        if let What::Set(set) = &self.what
            && let Some(refused) = set.refused()
        {
            writeln!(err, "error: {refused}")?;
            return Ok(Exit::WrongUsage);
        }
        let client = self.server.client(environment)?;
        match &self.what {
            What::Set(set) => {
                let value = value::read(set.file(), err)?;
                block_on(set.run(&client, value, out))
            }
            What::List(list) => block_on(list.run(&client, out)),
            What::Delete(delete) => block_on(delete.run(&client, out)),
            What::RotateKey(rotate) => block_on(rotate.run(&client, out)),
        }
    }
}
