//! `lamp agent run`: an agent at work in a sandbox, watched.

use std::{io::Write, path::PathBuf};

use anyhow::{anyhow, bail};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use wire::{
    agent::{AgentAnswer, AgentMode, AgentSays, StartAgent},
    client::Client,
    sandbox::{Repository, Tier},
};

use super::{find, place, show::Show};
use crate::{
    amount::{Size, Time},
    commands::sandbox::{SourceFlags, read_tier},
    exit::Exit,
    format::{Format, FormatFlag},
    remote::{Explained as _, refused},
    report::Hint,
    terminal::Stream,
    text_file,
};

/// Have an agent work on a request in a sandbox, and watch it
///
/// The image with the agent is built the first time. In the modes `research`, `plan` and `review` the repositories are mounted read-only.
/// Ctrl-C ends the agent with all that it started. The sandbox is deleted at the end, unless it is kept or was there before.
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// The agent, as `lamp agent list` names it
    #[arg(value_name = "AGENT")]
    agent: String,

    /// What it is to do; `-` reads it from standard input
    #[arg(value_name = "REQUEST")]
    request: Option<String>,

    /// A file with the request
    #[arg(long, value_name = "FILE", conflicts_with = "request")]
    request_file: Option<PathBuf>,

    /// What to deliver: `research`, `plan`, `implement` or `review`
    #[arg(long, value_name = "MODE", default_value = "implement", value_parser = mode)]
    mode: AgentMode,

    /// The model to ask [default: the agent's own choice]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// The provider of `lamp.yaml` to ask [default: the first that the agent can speak with]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// What to start, for the agents `acp` and `command`
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// An answer to a question, or something else that was said since; may be repeated
    #[arg(long = "say", value_name = "TEXT")]
    guidance: Vec<String>,

    /// Continue what it remembers under this name
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,

    /// Read lines from standard input, and say each to the agent while it works
    #[arg(long)]
    talk: bool,

    /// End it after this time, such as `30m`
    #[arg(long, value_name = "TIME")]
    timeout: Option<Time>,

    /// Work in a sandbox that exists
    #[arg(long, value_name = "SANDBOX", conflicts_with_all = ["base", "tier", "repositories", "allow", "memory", "keep"])]
    sandbox: Option<String>,

    /// Keep the sandbox under this name
    #[arg(long, value_name = "NAME")]
    keep: Option<String>,

    /// What the image starts from: `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`
    #[arg(long, value_name = "IMAGE", default_value = "host")]
    base: String,

    /// How strongly it is isolated: `verified`, `standard` or `untrusted`
    #[arg(long, value_name = "TIER", default_value = "standard", value_parser = read_tier)]
    tier: Tier,

    #[command(flatten)]
    sources: SourceFlags,

    /// Something that it may reach beside its model, if the server's policy allows it; may be repeated
    #[arg(long = "allow", value_name = "RULE")]
    allow: Vec<String>,

    /// Memory, such as `8GiB`
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    #[command(flatten)]
    format: FormatFlag,
}

fn mode(text: &str) -> Result<AgentMode, String> {
    match text {
        "research" => Ok(AgentMode::Research),
        "plan" => Ok(AgentMode::Plan),
        "implement" => Ok(AgentMode::Implement),
        "review" => Ok(AgentMode::Review),
        other => Err(format!(
            "`{other}` is not a mode: write `research`, `plan`, `implement` or `review`"
        )),
    }
}

impl Run {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let start = self.start()?;
        if let Some(sandbox) = &self.sandbox {
            return self.work(client, sandbox, &start, out).await;
        }
        let (agent, all) = find(client, &self.agent).await?;
        let wish = place::Wish {
            agent: &agent,
            image: place::image(client, &agent, &self.base, err).await?,
            tier: self.tier,
            name: self.keep.clone(),
            repositories: self.repositories(),
            allow: self.allow.clone(),
            mode: self.mode,
            memory_mib: self.memory.map(Size::mib),
        };
        let sandbox = place::sandbox(client, &all, self.provider.as_deref(), wish).await?;
        let worked = self.work(client, &sandbox, &start, out).await;
        if let Some(name) = &self.keep {
            writeln!(err, "The sandbox is kept: `lamp sandbox shell {name}` looks into it.")?;
            return worked;
        }
        let deleted = client.delete(&sandbox).await.explained();
        let exit = worked?;
        deleted?;
        Ok(exit)
    }

    fn repositories(&self) -> Vec<Repository> {
        self.sources.repositories.clone()
    }

    fn start(&self) -> anyhow::Result<StartAgent> {
        let limit = |time: Time| u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX);
        Ok(StartAgent {
            agent: self.agent.clone(),
            mode: self.mode,
            request: self.request()?,
            guidance: self.guidance.clone(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            command: self.command.clone(),
            session: self.session.clone(),
            directories: Vec::new(),
            limit_millis: self.timeout.map(limit),
        })
    }

    fn request(&self) -> anyhow::Result<String> {
        if let Some(path) = &self.request_file {
            return text_file::read(path).map_err(|error| {
                let what = format!("cannot read `{}`", path.display());
                anyhow!("{error}").context(Hint::new(what, error.help()))
            });
        }
        match self.request.as_deref() {
            Some("-") if self.talk => bail!(Hint::new(
                "standard input cannot be both the request and what is said later",
                "put the request into a file, and name it with `--request-file`"
            )),
            Some("-") => Ok(std::io::read_to_string(std::io::stdin())?),
            Some(text) => Ok(text.to_owned()),
            None => bail!(Hint::new(
                "there is nothing to do",
                "say what: `lamp agent run codex 'fix the failing test'`"
            )),
        }
    }

    async fn work(
        &self,
        client: &Client,
        sandbox: &str,
        start: &StartAgent,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let (talking, mut hearing) = client.agent(sandbox, start).await.explained()?;
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut show = Show::new(Stream::of(&std::io::stdout()));
        let mut lines = self.talk.then(lines);
        loop {
            let says = tokio::select! {
                says = hearing.next() => says.explained()?,
                Some(line) = said(&mut lines) => {
                    talking.words(line).await.explained()?;
                    continue;
                }
                _ = interrupt.recv() => {
                    talking.close().await;
                    return Ok(Exit::Command(130));
                }
                _ = terminate.recv() => {
                    talking.close().await;
                    return Ok(Exit::Command(143));
                }
            };
            if self.format.format() == Format::Json {
                serde_json::to_writer(&mut *out, &says)?;
                writeln!(out)?;
                out.flush()?;
            }
            match says {
                AgentSays::Event { event } => {
                    if self.format.format() == Format::People {
                        show.event(&event, out)?;
                    }
                }
                AgentSays::Finished(outcome) => {
                    if self.format.format() == Format::People {
                        show.outcome(&outcome, out)?;
                        if let (AgentAnswer::Question { .. }, Some(session)) =
                            (&outcome.answer, &outcome.session)
                        {
                            writeln!(
                                out,
                                "Answer with the same command, in the same sandbox, and `--session {session} --say ANSWER`."
                            )?;
                        }
                    }
                    return Ok(Exit::Done);
                }
                AgentSays::Failed { error } => return Err(refused(error)),
            }
        }
    }
}

/// Lines of standard input, as a person types them. The thread ends with the program: nobody can take back a read from a terminal.
fn lines() -> mpsc::Receiver<String> {
    let (say, said) = mpsc::channel(8);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if !line.trim().is_empty() && say.blocking_send(line).is_err() {
                return;
            }
        }
    });
    said
}

/// The next line, if somebody types.
async fn said(lines: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match lines {
        Some(lines) => lines.recv().await,
        None => None,
    }
}
