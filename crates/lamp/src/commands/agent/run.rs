//! `lamp agent run`: an agent at work in a sandbox, watched.

use std::{io::Write, path::PathBuf};

use anyhow::{Context as _, anyhow, bail};
use config::text_file;
use domain::shell;
use terminal::{
    colors::Stream,
    exit::Exit,
    format::{Format, FormatFlag},
    refusal::{Explained as _, refused},
    report::Hint,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use wire::{
    agent::{AgentAnswer, AgentMode, AgentOutcome, AgentSays, StartAgent},
    client::{AgentTalking, Client},
    exec::MESSAGE_LIMIT,
    sandbox::{Repository, Tier},
};

use super::{find, place, show::Show, traces};
use crate::{
    amount::{Size, Time},
    commands::sandbox::{SourceFlags, read_tier},
};

/// What is said to one that remembers what it was asked for.
const GO_ON: &str = "Go on with what you were asked for.";

/// Have an agent work on a request in a sandbox, and watch it
///
/// The image with the agent is built the first time. In the modes `research`, `plan` and `review` the repositories are mounted read-only.
/// Ctrl-C ends the agent with all that it started. The sandbox is deleted at the end, unless it is kept, was there before, holds a change, or waits
/// for an answer.
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// The agent, as `lamp agent list` names it
    #[arg(value_name = "AGENT")]
    agent: String,

    /// What it is to do; `-` reads it from standard input. Not needed with `--session`
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
            let worked = self.work(client, sandbox, &start, out).await?;
            self.next_step(&worked, sandbox, Changes::Unknown, err)?;
            return Ok(worked.exit);
        }
        let (agent, all) = find(client, &self.agent).await?;
        // What is known at once is not said after minutes of building.
        agent.check(&start, &all.models).map_err(refused)?;
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
        let shown = self.keep.as_ref().unwrap_or(&sandbox);
        writeln!(err, "==> in the sandbox {shown}")?;
        let marked = traces::mark(client, &sandbox).await;
        let worked = match marked {
            Ok(()) => self.work(client, &sandbox, &start, out).await,
            Err(error) => Err(error),
        };
        let changes = match &worked {
            Ok(worked) if worked.is_change() => {
                if traces::has_changes(client, &sandbox).await {
                    Changes::Some
                } else {
                    Changes::None
                }
            }
            Ok(_) | Err(_) => Changes::None,
        };
        let is_wanted = match &worked {
            Ok(worked) => changes == Changes::Some || worked.is_question(),
            Err(_) => false,
        };
        let deleted = if self.keep.is_some() || is_wanted {
            Ok(())
        } else {
            client.delete(&sandbox).await.explained()
        };
        if let Some(name) = &self.keep {
            writeln!(err, "The sandbox is kept: `lamp sandbox shell {name}` looks into it.")?;
        }
        let worked = worked?;
        self.next_step(&worked, shown, changes, err)?;
        deleted?;
        Ok(worked.exit)
    }

    /// What a person can do next, with words that can be typed.
    fn next_step(
        &self,
        worked: &Worked,
        sandbox: &str,
        changes: Changes,
        err: &mut impl Write,
    ) -> anyhow::Result<()> {
        let kept_by_us = self.keep.is_none() && self.sandbox.is_none();
        let removes = format!("; `lamp sandbox delete {sandbox}` removes it");
        let removes = if kept_by_us { removes.as_str() } else { "" };
        match (worked.outcome.as_ref(), changes) {
            (Some(AgentOutcome { answer: AgentAnswer::Question { .. }, session }), _) => {
                let again = self.again(sandbox, session.as_deref());
                writeln!(err, "Answer with `{again}`{removes}.")?;
            }
            (Some(AgentOutcome { answer: AgentAnswer::Change {}, .. }), Changes::None) => {
                writeln!(err, "Nothing was changed.")?;
            }
            (Some(AgentOutcome { answer: AgentAnswer::Change {}, .. }), _) => {
                let look = match self.sources.repositories.as_slice() {
                    [only] => {
                        let name = only.name.rsplit('/').next().unwrap_or(&only.name);
                        format!("lamp sandbox exec {sandbox} -- git -C /workspace/{name} status -v")
                    }
                    _ => format!("lamp sandbox shell {sandbox}"),
                };
                writeln!(err, "The change is in the sandbox: `{look}` shows it{removes}.")?;
            }
            (Some(_) | None, _) => {}
        }
        Ok(())
    }

    /// The command that goes on from here.
    fn again(&self, sandbox: &str, session: Option<&str>) -> String {
        let mode = match self.mode {
            AgentMode::Research => Some("research"),
            AgentMode::Plan => Some("plan"),
            AgentMode::Implement => None,
            AgentMode::Review => Some("review"),
        };
        let flags = [
            ("--mode", mode),
            ("--model", self.model.as_deref()),
            ("--provider", self.provider.as_deref()),
            ("--command", self.command.as_deref()),
            ("--sandbox", Some(sandbox)),
            ("--session", session),
        ];
        let mut words = vec!["lamp agent run".to_owned(), shell::quoted(&self.agent)];
        for (flag, value) in flags {
            words.extend(value.map(|value| format!("{flag} {}", shell::quoted(value))));
        }
        // One without a session knows nothing of what it was asked for.
        let request =
            session.is_none().then(|| self.request.as_deref().map(shell::quoted)).flatten();
        words.extend(request);
        format!("{} --say ANSWER", words.join(" "))
    }

    fn repositories(&self) -> Vec<Repository> {
        self.sources.repositories.clone()
    }

    fn start(&self) -> anyhow::Result<StartAgent> {
        let limit = |time: Time| u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX);
        let start = StartAgent {
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
        };
        let bytes = serde_json::to_vec(&start)?.len();
        if bytes > MESSAGE_LIMIT {
            bail!(Hint::new(
                format!(
                    "the request has {} KiB; at most {} are taken",
                    bytes >> 10,
                    MESSAGE_LIMIT >> 10
                ),
                "put the rest into a file of the repository, and name it in the request"
            ));
        }
        Ok(start)
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
            Some("-") => std::io::read_to_string(std::io::stdin())
                .context("the request cannot be read from standard input"),
            Some(text) => Ok(text.to_owned()),
            None if self.session.is_some() => Ok(GO_ON.to_owned()),
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
    ) -> anyhow::Result<Worked> {
        let (talking, mut hearing) = client.agent(sandbox, start).await.explained()?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut show = Show::new(Stream::of(&std::io::stdout()));
        let mut lines = self.talk.then(lines);
        loop {
            let says = tokio::select! {
                says = hearing.next() => says.explained()?,
                Some(line) = said(&mut lines) => {
                    talking.words(line).await.explained()?;
                    continue;
                }
                _ = interrupt.recv() => return self.leave(&talking, 130, out).await,
                _ = terminate.recv() => return self.leave(&talking, 143, out).await,
                _ = hangup.recv() => return self.leave(&talking, 129, out).await,
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
                    }
                    return Ok(Worked { exit: Exit::Done, outcome: Some(outcome) });
                }
                AgentSays::Failed { error } => return Err(refused(error)),
            }
        }
    }

    /// Somebody wants it to end.
    async fn leave(
        &self,
        talking: &AgentTalking,
        code: u8,
        out: &mut impl Write,
    ) -> anyhow::Result<Worked> {
        talking.close().await;
        if self.format.format() == Format::Json {
            serde_json::to_writer(&mut *out, &AgentSays::ended_by_signal())?;
            writeln!(out)?;
        }
        Ok(Worked { exit: Exit::Command(code), outcome: None })
    }
}

/// What came of a run.
struct Worked {
    exit: Exit,
    outcome: Option<AgentOutcome>,
}

impl Worked {
    fn is_change(&self) -> bool {
        self.outcome.as_ref().is_some_and(|it| matches!(it.answer, AgentAnswer::Change {}))
    }

    fn is_question(&self) -> bool {
        self.outcome.as_ref().is_some_and(|it| matches!(it.answer, AgentAnswer::Question { .. }))
    }
}

/// Whether the workspace is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changes {
    Some,
    None,
    Unknown,
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
