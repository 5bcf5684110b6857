//! `lamp image`: what sandboxes start from.

mod build;
mod get;
mod list;
mod prune;

use std::io::Write;

use terminal::{
    environment::Environment,
    exit::Exit,
    format::{Format, Versioned, write_json},
};
use wire::image as shape;

use crate::{amount, kept::block_on, remote::ServerFlag};

/// Build and look after images: what sandboxes start from
#[derive(Debug, clap::Args)]
pub(crate) struct Image {
    #[command(flatten)]
    server: ServerFlag,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Build(build::Build),
    List(list::List),
    Get(get::Get),
    Prune(prune::Prune),
}

impl Image {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        block_on(async {
            match &self.what {
                What::Build(build) => build.run(&client, out, err).await,
                What::List(list) => list.run(&client, out).await,
                What::Get(get) => get.run(&client, out).await,
                What::Prune(prune) => prune.run(&client, out).await,
            }
        })
    }
}

/// One image, as a person or a program reads it.
fn show(image: &shape::Image, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    match format {
        Format::Json => write_json(&Versioned::new(image), out),
        Format::People => {
            writeln!(out, "key      {}", image.key)?;
            writeln!(out, "base     {}", image.base)?;
            for source in &image.sources {
                writeln!(out, "source   {source}")?;
            }
            writeln!(out, "size     {}", amount::bytes(image.bytes))?;
            writeln!(out, "built    {}", amount::moment(image.built_at_millis))?;
            writeln!(out, "used     {}", amount::moment(image.used_at_millis))?;
            writeln!(out, "users    {}", image.users)?;
            if !image.setup.is_empty() {
                writeln!(out, "setup")?;
                for line in image.setup.lines() {
                    writeln!(out, "    {line}")?;
                }
            }
            Ok(())
        }
    }
}
