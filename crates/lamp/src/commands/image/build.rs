//! `lamp image build`

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::{Path, PathBuf},
    pin::pin,
};

use anyhow::{anyhow, bail};
use config::text_file;
use futures::StreamExt as _;
use terminal::{
    clean::Cleaner,
    colors::Stream,
    exit::Exit,
    format::{Format, FormatFlag},
    refusal::{Explained as _, refused},
    report::Hint,
};
use wire::{
    client::Client,
    error::Code,
    image::{BuildImage, BuildNews},
    sandbox::{ComputeWish, Repository},
};

use super::{super::sandbox::SourceFlags, show};
use crate::{
    amount::{Cores, Size, Time},
    remote::whole_base,
};

const ITS_NETWORK: &str = "note: a setup reaches only what `egress: { setup: { allow: […] } }` of the server's policy.yaml \
                           allows; without it, what it installs must be in the base or in a repository.";

/// How much of a key is enough to write.
const SHORT: usize = 16;

/// Build an image, or find it built
///
/// Runs the setup script once in a sandbox on the base, with the repositories inside, and keeps what it left on the
/// disk. Without a script, one is proposed from the manifests of the first repository. What was built before is found
/// again. Progress goes to standard error.
#[derive(Debug, clap::Args)]
pub(super) struct Build {
    /// What it starts from: `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`
    #[arg(long, value_name = "IMAGE", default_value = "host")]
    base: String,

    #[command(flatten)]
    sources: SourceFlags,

    /// The setup script, for the shell; it starts in the first repository. Empty: nothing is run
    #[arg(long, value_name = "SCRIPT", conflicts_with = "setup_file")]
    setup: Option<String>,

    /// A file with the setup script
    #[arg(long, value_name = "FILE")]
    setup_file: Option<PathBuf>,

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
        let wish = BuildImage {
            base: whole_base(client, &self.base).await?,
            repositories: self.sources.repositories.clone(),
            setup: self.script()?,
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
        let mut has_spoken = false;
        while let Some(news) = news.next().await {
            match news.explained()? {
                BuildNews::Stage { text } => writeln!(err, "==> {text}")?,
                BuildNews::Output { text } => {
                    has_spoken = true;
                    err.write_all(&cleaner.clean(text.as_bytes()))?;
                }
                BuildNews::Proposed { script, because } => {
                    writeln!(err, "==> nobody wrote a setup; proposed from {}:", listed(&because))?;
                    let script = cleaner.clean(script.as_bytes());
                    for line in String::from_utf8_lossy(&script).lines() {
                        writeln!(err, "    {line}")?;
                    }
                }
                BuildNews::Built { image } => {
                    let format = self.format.format();
                    show(&image, format, out)?;
                    if format == Format::People {
                        writeln!(out, "It is built. {} uses it.", self.next_step(&image.key))?;
                    }
                    return Ok(Exit::Done);
                }
                BuildNews::Failed { mut error } => {
                    if error.code == Code::SetupFailed {
                        writeln!(err, "{ITS_NETWORK}")?;
                        // The whole log stands above already.
                        error.log = error.log.filter(|_| !has_spoken);
                    }
                    return Err(refused(error));
                }
            }
            err.flush()?;
        }
        bail!("the server left before the image was built");
    }

    /// What a person would type now. The repositories' history is not in the image, so they are named again.
    fn next_step(&self, key: &str) -> String {
        let beginning = key.get(..SHORT).unwrap_or(key);
        let mut line = format!("`lamp sandbox run --base image:{beginning}");
        for Repository { name, url, .. } in &self.sources.repositories {
            // Writing to a string cannot fail.
            let _ = write!(line, " --repository {name}={url}");
        }
        line + " -- COMMAND`"
    }

    /// What the person wrote. `None`: the server proposes one.
    fn script(&self) -> anyhow::Result<Option<String>> {
        if let Some(path) = &self.setup_file {
            let text = text_file::read(path).map_err(|error| {
                let what = format!("cannot read `{}`", path.display());
                anyhow!("{error}").context(Hint::new(what, error.help()))
            });
            return text.map(Some);
        }
        if let Some(named) = self.setup.as_deref().filter(|it| Path::new(it).is_file()) {
            let hint = format!("`--setup-file {named}` runs what is in it");
            bail!(Hint::new(format!("`{named}` is a file here, and no script"), hint));
        }
        Ok(self.setup.clone())
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let text = names.join(", ");
    String::from_utf8_lossy(&Cleaner::of(Stream::Terminal).clean(text.as_bytes())).into_owned()
}
