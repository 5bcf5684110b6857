//! `lamp demo`: one task from a sentence to a merged pull request, on this machine, without any account.
//!
//! ```text
//!  ground ── a directory: the sample repository, lamp.yaml, policy.yaml, the server's data
//!  model ─── a server on the loopback that says what a model said once; `mind` is who thinks
//!  server ── `lamp up --temporary`, a process of its own, with its own data and sockets
//!     └──▶ tour ── hands over the task, tells what happens, asks the person, verifies the receipt
//! ```
//!
//! Nothing of it is staged but the model's words: sandboxes, gateway, gate, checks, review, receipt and pull request are those of every
//! other task.
//!
//! **Invariant:** whatever ends the demo, nothing of it is left running or mounted, and nothing of the person's is touched.

mod ground;
mod mind;
mod model;
mod pages;
mod person;
mod receipt;
mod sample;
mod server;
mod stage;
mod tour;
mod voice;
mod words;

use std::{
    io::{IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use anyhow::bail;
use domain::{code::CommitId, plan::Plan};
use evidence::{keys::TrustedKeys, receipt::TreeId};
use terminal::{
    colors::Colors, environment::Environment, exit::Exit, refusal::Explained as _, report::Hint,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use wire::{sandbox::Tier, server::Capabilities};

use self::{
    ground::Ground,
    mind::{Mind, Real},
    model::Bundled,
    person::Person,
    server::Server,
    tour::{Outcome, Tour},
};

/// What the person wants of the demo.
#[derive(Debug, Clone)]
pub struct Wishes {
    pub approval: Approval,
    pub after: After,
    pub place: Option<PathBuf>,
    /// A real model, instead of the bundled answers.
    pub model: Option<String>,
    pub checks: Checks,
}

/// How `lamp verify` knows what it holds a receipt against. It is passed in, so that what the demo shows is what the command does.
#[derive(Debug, Clone, Copy)]
pub struct Checks {
    /// The public keys of a directory.
    pub keys: fn(&Path) -> anyhow::Result<TrustedKeys>,
    /// Which files a commit of a repository is.
    pub tree: fn(&Path, &CommitId) -> anyhow::Result<TreeId>,
    /// The plan that a person was shown, if its hash is that of what was shown.
    pub plan: fn(&wire::task::plan::Plan) -> Option<Plan>,
}

/// Who says yes to the plan and to the merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Asked,
    Given,
}

/// What happens after the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    End,
    /// The server stays until the person ends it.
    Stay,
}

/// Tells the whole story, and clears up whatever came of it.
pub async fn play(
    wishes: &Wishes,
    environment: &Environment,
    colors: Colors,
    out: &mut impl Write,
) -> anyhow::Result<Exit> {
    let person = person(wishes.approval)?;
    let real = wishes.model.as_deref().map(|name| Real::find(name, environment)).transpose()?;
    has_what_it_needs()?;
    // From here on Ctrl-C does not end the program: it ends the story, and then all is cleared away.
    let mut signals = Signals::new()?;
    let (stop, helpers) = (CancellationToken::new(), TaskTracker::new());
    let mind = if let Some(real) = real {
        Mind::Real(real)
    } else {
        let bundled = Bundled::bind().await?;
        let mind = Mind::Bundled(bundled.address);
        helpers.spawn(bundled.serve(stop.clone()));
        mind
    };
    let ground = match &wishes.place {
        Some(named) => Ground::named(named)?,
        None => Ground::temporary(&environment.temporary_directory())?,
    };
    let checks = wishes.checks;
    let mut evening = Evening { ground: &ground, mind: &mind, person, checks, colors, out };
    let lived = evening.live(wishes.after, &mut signals).await;
    stop.cancel();
    helpers.close();
    helpers.wait().await;
    let stays = (!ground.goes()).then(|| ground.root.display().to_string());
    let outcome = both(lived, ground.clear())?;
    match stays {
        Some(root) => writeln!(out, "\nThe server has ended. Its files are in `{root}`.")?,
        None => writeln!(out, "\nThe server has ended, and all of the demo is gone again.")?,
    }
    Ok(outcome.exit())
}

/// What lasts as long as the demo does.
struct Evening<'a, W> {
    ground: &'a Ground,
    mind: &'a Mind,
    person: Person,
    checks: Checks,
    colors: Colors,
    out: &'a mut W,
}

impl<W: Write> Evening<'_, W> {
    /// From the server's start to its end, which comes in any case.
    async fn live(&mut self, after: After, signals: &mut Signals) -> anyhow::Result<Outcome> {
        words::introduce(self.mind, self.ground, self.colors, self.out)?;
        self.out.flush()?;
        self.ground.lay(self.mind)?;
        let mut server = Server::start(self.ground).await?;
        let told = self.tell(&mut server, after, signals).await;
        let stopped = server.stop().await;
        both(told, stopped)
    }

    async fn tell(
        &mut self,
        server: &mut Server,
        after: After,
        signals: &mut Signals,
    ) -> anyhow::Result<Outcome> {
        let client = server.client.clone();
        can_have_sandboxes(&client.capabilities().await.explained()?)?;
        let Self { ground, mind, person, checks, colors, .. } = *self;
        let mut tour = Tour { client: &client, ground, person, checks, colors, out: self.out };
        let (task, outcome) = tokio::select! {
            told = tour.guide(mind) => told?,
            name = signals.told_to_end() => bail!("the demo was ended by {name}"),
            error = server.ended() => return Err(error),
        };
        match after {
            After::End => {}
            After::Stay => {
                words::invite(&task, self.ground, self.out)?;
                self.out.flush()?;
                tokio::select! {
                    _ = signals.told_to_end() => {}
                    error = server.ended() => return Err(error),
                }
            }
        }
        Ok(outcome)
    }
}

/// What came of the story. That something is left is told, too, and never hidden by why it ended.
fn both<T>(told: anyhow::Result<T>, cleared: anyhow::Result<()>) -> anyhow::Result<T> {
    match (told, cleared) {
        (told, Ok(())) => told,
        (Ok(_), Err(left)) => Err(left),
        (Err(why), Err(left)) => Err(left.context(format!("{why:#}"))),
    }
}

/// Whether somebody is there to ask.
fn person(approval: Approval) -> anyhow::Result<Person> {
    match approval {
        Approval::Given => Ok(Person::SaidYes),
        Approval::Asked if std::io::stdin().is_terminal() => Ok(Person::There),
        Approval::Asked => bail!(Hint::new(
            "nobody is there to approve the plan: the input is not a terminal",
            "say yes beforehand with `lamp demo --yes`",
        )),
    }
}

/// The sample's tests run inside a sandbox, which sees the host's programs at their usual places only.
fn has_what_it_needs() -> anyhow::Result<()> {
    const PLACES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
    let is_there = |program: &&str| PLACES.iter().any(|at| Path::new(at).join(program).exists());
    let missing: Vec<&str> = sample::NEEDED.into_iter().filter(|it| !is_there(it)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    bail!(Hint::new(
        format!("the sample repository needs what is not in {}: {missing}", PLACES.join(", ")),
        format!("install {missing} with your system's packages"),
    ))
}

/// A task runs in the tier `standard`, for the demo as for everyone: a machine that cannot give it is told of at once.
fn can_have_sandboxes(host: &Capabilities) -> anyhow::Result<()> {
    if host.tiers.contains(&Tier::Standard) {
        return Ok(());
    }
    let reason = host.missing.iter().find(|it| it.tier == Tier::Standard);
    let reason = reason.map_or("it does not say why", |it| it.reason.as_str());
    Err(anyhow::anyhow!("{}", voice::shortened(reason)).context(Hint::new(
        "this machine gives you no sandboxes of the tier `standard`",
        "run it as root, or where your session may make control groups; `lamp doctor` tells what is missing",
    )))
}

/// What a person or a service manager says to a program that should end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn told_to_end(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "Ctrl-C",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hang_up.recv() => "SIGHUP",
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::server::MissingTier;

    use super::*;

    #[test]
    fn a_machine_without_sandboxes_is_told_of_with_the_reason() {
        let reason = "limits cannot be set".to_owned();
        let missing = MissingTier { tier: Tier::Standard, reason };
        let mut host = Capabilities {
            tiers: vec![Tier::Verified],
            missing: vec![missing],
            weaker: Vec::new(),
        };
        let refused = can_have_sandboxes(&host).unwrap_err();
        let mut told = Vec::new();
        terminal::report::print(&refused, Colors::OFF, &mut told).unwrap();
        insta::assert_snapshot!(String::from_utf8(told).unwrap(), @r"
        error: this machine gives you no sandboxes of the tier `standard`
          caused by: limits cannot be set
        hint: run it as root, or where your session may make control groups; `lamp doctor` tells what is missing
        ");
        host.tiers.push(Tier::Standard);
        can_have_sandboxes(&host).unwrap();
    }
}
