//! `lamp up`: the server.

use std::{io::Write, net::SocketAddr, path::PathBuf};

use server::serve::Start;
use terminal::{environment::Environment, exit::Exit};

use crate::kept::KeptFlags;

/// Start the server
///
/// Serves the API on a unix socket, and on the loopback to those who show the token. Runs until Ctrl-C or
/// SIGTERM; SIGHUP has its files read again, as `lamp policy reload` does. Sandboxes live on without it, and are
/// found again at the next start.
#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    #[command(flatten)]
    kept: KeptFlags,

    /// The address on the loopback to serve [default: `listen.http` of `lamp.yaml`, or 127.0.0.1:7180]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// The directory for sockets [default: `$XDG_RUNTIME_DIR/lamplighter`, or `/run/lamplighter` as root]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,

    /// End every sandbox with the server, and leave nothing running or mounted
    #[arg(long)]
    temporary: bool,
}

impl Up {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let start = Start {
            kept: self.kept.find(environment)?,
            listen: self.listen,
            run: self.run.clone(),
            temporary: self.temporary,
        };
        start.serve(environment, out)?;
        Ok(Exit::Done)
    }
}
