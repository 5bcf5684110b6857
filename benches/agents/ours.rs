//! A program in a sandbox of our house, by `lamp agent run`, as a person would have it.

use std::{path::Path, process::Stdio, time::Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStderr},
    time::timeout,
};

use super::{
    LONGEST, REQUEST,
    cast::Actor,
    house::House,
    model::{Scripted, Will},
    verdict::Times,
};

/// A sandbox that is there, and who works in it.
#[derive(Debug)]
pub struct Ours<'a> {
    house: &'a House,
    actor: Actor,
    name: String,
    id: String,
}

/// What a run said.
struct Told {
    times: Times,
    prompt: String,
}

impl<'a> Ours<'a> {
    /// Builds the image where it is not there, makes the sandbox, and has the program work once. Gives what it was told, too.
    pub async fn open(
        house: &'a House,
        actor: Actor,
        project: &Path,
        model: &Scripted,
    ) -> anyhow::Result<(Self, String)> {
        let name = format!("bench-{actor}");
        let repository = format!("project={}", project.display());
        model.will(Will::Answer);
        let words = ["--tier", "verified", "--repository", &repository, "--keep", &name];
        let told = run(house, actor, &words, model).await?;
        let got: Value =
            serde_json::from_str(&house.lamp(&["sandbox", "get", &name, "--json"]).await?)?;
        let id = got.get("id").and_then(Value::as_str).context("a sandbox without an id")?;
        Ok((Self { house, actor, id: id.to_owned(), name }, told.prompt))
    }

    /// Has it work in the sandbox that is there, and waits until it has answered.
    pub async fn speaks(&self, model: &Scripted) -> anyhow::Result<Times> {
        let more = ["--sandbox", &self.name];
        let running = run(self.house, self.actor, &more, model);
        Ok(timeout(LONGEST, running).await.context("it takes too long")??.times)
    }

    /// Has it work there, and waits until it waits for its model.
    pub async fn waits(&self, model: &Scripted) -> anyhow::Result<Waiting> {
        model.forget();
        let words = words(self.actor, &["--sandbox", &self.name]);
        let mut command = self.house.command(&words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut err = child.stderr.take().context("no output")?;
        let mut complaints = String::new();
        tokio::select! {
            read = err.read_to_string(&mut complaints) => {
                read?;
                bail!("{} did not wait for its model: {}", self.actor, complaints.trim());
            }
            asked = timeout(LONGEST, model.until_asked()) => {
                asked.context("it does not ask its model")?;
            }
        }
        Ok(Waiting { child, _err: err })
    }

    pub fn first_process(&self) -> anyhow::Result<u32> {
        self.house.first_process(&self.id)
    }

    /// What the sandbox is charged for, in KiB: its processes, what of its files is kept in memory, and what the kernel has for it.
    pub async fn charged_kib(&self) -> anyhow::Result<u64> {
        let told = self.house.lamp(&["sandbox", "stats", &self.name, "--json"]).await?;
        let told: Value = serde_json::from_str(&told)?;
        let bytes = told.get("memory_bytes").and_then(Value::as_u64);
        Ok(bytes.context("its memory is not told")? / 1_024)
    }

    pub async fn close(self) -> anyhow::Result<()> {
        self.house.lamp(&["sandbox", "delete", &self.name]).await.map(|_| ())
    }
}

/// Who watches a program that waits.
#[derive(Debug)]
pub struct Waiting {
    child: Child,
    /// Whoever speaks to nobody is ended.
    _err: ChildStderr,
}

impl Waiting {
    /// Goes as a person goes, and the program with it.
    pub async fn end(mut self) -> anyhow::Result<()> {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(id.context("it has ended")?, Signal::INT)?;
        timeout(LONGEST, self.child.wait()).await.context("it does not end")??;
        Ok(())
    }
}

fn words<'a>(actor: Actor, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["agent", "run", actor.name, REQUEST, "--model", actor.model, "--json"];
    [&words, more].concat()
}

/// A run from its start to its end.
async fn run(house: &House, actor: Actor, more: &[&str], model: &Scripted) -> anyhow::Result<Told> {
    model.forget();
    let begun = Instant::now();
    let mut command = house.command(&words(actor, more));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let out = child.stdout.take().context("no output")?;
    let mut err = child.stderr.take().context("no output")?;
    let (mut briefed, mut spoke, mut prompt) = (None, None, String::new());
    let listening = async {
        let mut lines = BufReader::new(out).lines();
        while let Some(line) = lines.next_line().await? {
            let now = Instant::now();
            let line: Value = serde_json::from_str(&line)?;
            let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
            match text("/event/kind") {
                Some("briefed") => {
                    briefed.get_or_insert(now);
                    prompt.push_str(text("/event/text").unwrap_or_default());
                }
                Some("message") => {
                    spoke.get_or_insert(now);
                }
                Some(_) | None => {}
            }
        }
        anyhow::Ok(())
    };
    let mut complaints = String::new();
    let (listened, read) = tokio::join!(listening, err.read_to_string(&mut complaints));
    listened?;
    read?;
    let status = child.wait().await?;
    // Before that it tells which layers it builds.
    let why = complaints.find("error:").and_then(|at| complaints.get(at..)).unwrap_or(&complaints);
    ensure!(status.success(), "lamp agent run {actor}: {status}: {}", why.trim());
    let since = |moment: Option<Instant>, what: &'static str| {
        moment.map(|moment| moment - begun).context(what)
    };
    let times = Times {
        briefed: Some(since(briefed, "it was told nothing")?),
        asked: since(model.first_asked(), "it asked no model")?,
        spoke: since(spoke, "it said nothing")?,
    };
    Ok(Told { times, prompt })
}
