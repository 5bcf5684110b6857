//! `lamp image build`

use std::{
    io::{self, Write},
    path::PathBuf,
    pin::pin,
};

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use wire::{
    client::Client,
    image::{BuildImage, BuildNews},
    sandbox::ComputeWish,
};

use super::show;
use crate::{
    amount::{Cores, Size, Time},
    exit::Exit,
    format::{Format, FormatFlag},
    remote::{Explained as _, refused},
    session::clean::Cleaner,
    terminal::Stream,
    text_file,
};

/// Build an image, or find it built
///
/// Runs the setup script once in a sandbox on the base, and keeps what it left on the disk. The same base and
/// script are built once. Progress goes to standard error.
#[derive(Debug, clap::Args)]
pub(super) struct Build {
    /// What it starts from: `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`
    #[arg(long, value_name = "IMAGE", default_value = "host")]
    base: String,

    /// A file with the setup script, for the shell; without one, nothing is run
    #[arg(long, value_name = "FILE")]
    setup: Option<PathBuf>,

    /// Cores that the setup may use
    #[arg(long, value_name = "CORES")]
    cpu: Option<Cores>,

    /// Memory that the setup may use
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// Disk that the setup may use
    #[arg(long, value_name = "SIZE")]
    disk: Option<Size>,

    /// How long the setup may take
    #[arg(long, value_name = "TIME")]
    timeout: Option<Time>,

    #[command(flatten)]
    format: FormatFlag,
}

impl Build {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let setup = match &self.setup {
            None => String::new(),
            Some(path) => text_file::read(path)
                .map_err(|error| anyhow::anyhow!("{error}"))
                .with_context(|| format!("cannot read `{}`", path.display()))?,
        };
        let wish = BuildImage {
            base: self.base.clone(),
            repositories: Vec::new(),
            setup: Some(setup),
            compute: ComputeWish {
                cpu_millis: self.cpu.map(|cores| cores.0),
                memory_mib: self.memory.map(Size::mib),
                disk_mib: self.disk.map(Size::mib),
                processes: None,
                lifetime_seconds: self.timeout.map(|time| time.0.as_secs()),
            },
        };
        let mut news = pin!(client.build(&wish).await.explained()?);
        let mut cleaner = Cleaner::of(Stream::of(&io::stderr()));
        while let Some(news) = news.next().await {
            match news.explained()? {
                BuildNews::Stage { text } => writeln!(err, "==> {text}")?,
                BuildNews::Output { text } => err.write_all(&cleaner.clean(text.as_bytes()))?,
                BuildNews::Proposed { script, because } => {
                    writeln!(err, "==> proposed from {}:\n{script}", because.join(", "))?;
                }
                BuildNews::Built { image } => {
                    let format = self.format.format();
                    show(&image, format, out)?;
                    if format == Format::People {
                        writeln!(
                            out,
                            "It is built. `lamp sandbox run --base image:{} -- COMMAND` uses it.",
                            image.key
                        )?;
                    }
                    return Ok(Exit::Done);
                }
                BuildNews::Failed { error } => return Err(refused(error)),
            }
            err.flush()?;
        }
        bail!("the server left before the image was built");
    }
}
