//! `lamp egress-gateway`: the process that reads what sandboxes say. The server starts it; nobody types it.

use std::os::unix::net::UnixStream;

use anyhow::Context as _;
use egress::gateway::{self, NOBODY, Settings, ShutIn, shut_in};
use terminal::exit::Exit;

/// Carry what sandboxes send; started by the server
#[derive(Debug, clap::Args)]
pub(crate) struct EgressGateway {}

impl EgressGateway {
    pub(crate) fn run() -> anyhow::Result<Exit> {
        let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false);
        drop(log.with_max_level(tracing::Level::WARN).try_init());
        // Its standard input is the socket that the server made for it.
        let link = rustix::io::dup(rustix::stdio::stdin()).context("there is no server")?;
        // Before it is shut in, and while it has one thread.
        let settings = Settings::of_this_machine()?;
        if shut_in(NOBODY)? == ShutIn::WithoutLandlock {
            tracing::warn!(
                "this kernel has no Landlock: the gateway can open files that everybody may read"
            );
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(gateway::serve(UnixStream::from(link), settings));
        runtime.shutdown_background();
        served.context("the connection to the server broke")?;
        Ok(Exit::Done)
    }
}
