//! Agents, for the doors: the crew, and which program works with which model.

use std::{sync::Arc, time::Duration};

use agents::{
    Endpoint, ModelChoice, Post, Program, Steering,
    checkup::{self, Presence},
    program, recipe,
};
use contracts::{
    Key,
    agent::{AgentEvent, Brief, Mode, Outcome, Run, Words},
    ids::{IdSource as _, SystemIds},
    sandbox::{
        CommandName, Compute, EntryKind, FileAsk, Listed, SandboxError, Sandboxes, Streams,
        Transfer, User, WORKSPACE, WorkspaceAccess,
    },
};
use domain::{agent::AgentName, id::TaskId, money::Money, policy::ModelProvider};
use futures::future::BoxFuture;
use gateway::{AgentDesk, Unworked};
use provision::{
    OWNER,
    models::{self, NoModel},
};
use sandbox::Provider;
use tokio::sync::mpsc;
use wire::{
    agent::{
        Agent, AgentInside, AgentLayer, AgentMode, AgentPackage, Agents, AgentsInside, Model,
        Presence as Told, StartAgent, Steering as Steered,
    },
    error::{Code, Problem},
    sandbox::ComputeWish,
};

use crate::{household::HouseCrew, reload::Reloader};

/// How long an agent may work where nobody says.
const USUAL: Duration = Duration::from_hours(1);

/// How long looking into the workspace may take.
const LISTING: Duration = Duration::from_secs(10);

/// Has agents work for a person.
pub(crate) struct Desk {
    crew: Arc<HouseCrew>,
    sandboxes: Arc<Provider>,
    reloader: Arc<Reloader>,
}

impl Desk {
    pub(crate) const fn new(
        crew: Arc<HouseCrew>,
        sandboxes: Arc<Provider>,
        reloader: Arc<Reloader>,
    ) -> Self {
        Self { crew, sandboxes, reloader }
    }

    fn models(&self) -> Vec<(String, ModelProvider)> {
        let said = self.reloader.said();
        said.server.models.iter().map(|it| (it.name.to_string(), it.provider)).collect()
    }

    /// The program that is asked for, with a model that it can speak with.
    fn post(&self, start: &StartAgent) -> Result<Post, Problem> {
        let Some(program) = Program::named(&start.agent) else {
            let names: Vec<&str> = program::ALL.iter().map(|it| it.name).collect();
            let message = format!("there is no agent `{}`", start.agent);
            let help = format!("those that there are: {}", names.join(", "));
            return Err(Problem::new(Code::BadRequest, message).with_help(help));
        };
        let Agents { models, .. } = self.list();
        agent(program, &self.models()).check(start, &models)?;
        let model = start.model.clone().unwrap_or_default();
        let endpoint = self.endpoint(program, start.provider.as_deref())?;
        Ok(Post { program, model, endpoint, command: start.command.clone() })
    }

    fn endpoint(
        &self,
        program: &Program,
        wanted: Option<&str>,
    ) -> Result<Option<Endpoint>, Problem> {
        let said = self.reloader.said();
        // Whoever starts one has checked it; the file may be another by now.
        let spoken = models::find(&said.server.models, program, wanted);
        let spoken = spoken.map_err(|error| match error {
            NoModel::Unspoken { .. } => Problem::new(Code::BadRequest, error.to_string()),
            NoModel::Unknown(reason) => Problem::new(Code::Internal, reason),
        })?;
        Ok(spoken.map(|spoken| spoken.endpoint))
    }

    /// Where repositories are, if nobody says: all that is in the workspace.
    async fn directories(&self, sandbox: &Listed, start: &StartAgent) -> Vec<String> {
        if !start.directories.is_empty() {
            return start.directories.clone();
        }
        let ask = FileAsk::List { path: WORKSPACE.to_owned(), user: User::Agent };
        let (_to, input) = mpsc::channel(1);
        let (output, _nothing) = mpsc::channel(1);
        let listing = self.sandboxes.file(sandbox.id, &ask, Streams { input, output });
        // Whoever is inside can hold it up.
        let listed = tokio::time::timeout(LISTING, listing).await;
        let Ok(Ok(Transfer::Entries(entries))) = listed else { return Vec::new() };
        let directories = entries.into_iter().filter(|it| it.kind == EntryKind::Directory);
        let mut names: Vec<String> = directories.map(|it| it.name).collect();
        names.sort();
        names.iter().map(|name| format!("{WORKSPACE}/{name}")).collect()
    }
}

impl AgentDesk for Desk {
    fn list(&self) -> Agents {
        let models = self.models();
        let one = |program: &&'static Program| agent(program, &models);
        let told = |(name, provider): &(String, ModelProvider)| Model {
            name: name.clone(),
            provider: provider.as_str().to_owned(),
            rule: format!("model:{}", provider.as_str()),
        };
        Agents {
            agents: program::ALL.iter().map(one).collect(),
            models: models.iter().map(told).collect(),
        }
    }

    fn inside<'a>(&'a self, sandbox: &'a Listed) -> BoxFuture<'a, Result<AgentsInside, Problem>> {
        Box::pin(async move {
            let mut agents = Vec::new();
            for program in program::ALL {
                let name = CommandName::new(format!("version-{:x}", SystemIds.next()));
                let presence =
                    checkup::look(self.sandboxes.as_ref(), sandbox.id, program, &name).await;
                let presence = presence.map_err(|error: SandboxError| {
                    Problem::new(Code::Lost, error.to_string())
                        .with_help("the server's log says more")
                })?;
                agents
                    .push(AgentInside { name: program.name.to_owned(), presence: told(presence) });
            }
            Ok(AgentsInside { agents })
        })
    }

    fn work<'a>(
        &'a self,
        sandbox: &'a Listed,
        start: &'a StartAgent,
        words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Result<Outcome, Unworked>> {
        Box::pin(async move {
            let post = self.post(start).map_err(Unworked::Refused)?;
            if start.mode != AgentMode::Implement && sandbox.workspace != WorkspaceAccess::ReadOnly
            {
                // The mount keeps the promise, so it has to be there.
                let problem = Problem::new(
                    Code::BadRequest,
                    "this sandbox can be written to, and only `implement` may write",
                );
                let help = "use one that was made with `--read-only`, or leave `--sandbox` out";
                return Err(Unworked::Refused(problem.with_help(help)));
            }
            let task = TaskId::from_u128(SystemIds.next());
            let agent: AgentName = post.program.name.parse().map_err(|error| {
                Unworked::Refused(Problem::new(Code::Internal, format!("{error}")))
            })?;
            let run = Run {
                key: Key { task, seq: 0, part: "agent", number: 0 },
                task,
                sandbox: sandbox.id,
                agent,
                mode: mode(start.mode),
                directories: self.directories(sandbox, start).await,
                // Nobody says what of the repository is the change.
                base: None,
                brief: Brief {
                    request: start.request.clone(),
                    author: OWNER.to_owned(),
                    guidance: start.guidance.clone(),
                    ..Brief::default()
                },
                session: start.session.clone(),
                limit: start.limit_millis.map_or(USUAL, Duration::from_millis),
                budget: Money::ZERO,
            };
            self.crew.run_once(&run, &post, words, events).await.map_err(Unworked::Failed)
        })
    }
}

const fn mode(mode: AgentMode) -> Mode {
    match mode {
        AgentMode::Research => Mode::Research,
        AgentMode::Plan => Mode::Plan,
        AgentMode::Implement => Mode::Implement,
        AgentMode::Review => Mode::Review,
    }
}

fn agent(program: &'static Program, models: &[(String, ModelProvider)]) -> Agent {
    let package = |it: &program::Package| AgentPackage {
        name: it.name.to_owned(),
        version: it.version.to_owned(),
    };
    let layer = |it: recipe::Layer| AgentLayer {
        what: it.what,
        setup: it.setup,
        compute: compute(recipe::COMPUTE),
    };
    // In the order in which one is chosen.
    let rank = |provider: ModelProvider| {
        program.formats.iter().position(|format| models::speaks(provider).contains(format))
    };
    let ranked = models.iter().filter_map(|(name, provider)| Some((rank(*provider)?, name)));
    let mut fitting: Vec<(usize, &String)> = ranked.collect();
    fitting.sort_by_key(|(rank, _)| *rank);
    Agent {
        name: program.name.to_owned(),
        title: program.title.to_owned(),
        packages: program.packages.iter().map(package).collect(),
        formats: program.formats.iter().map(ToString::to_string).collect(),
        models: fitting.into_iter().map(|(_, name)| name.clone()).collect(),
        steering: match program.steering {
            Steering::AtOnce => Steered::AtOnce,
            Steering::AfterTurn => Steered::AfterTurn,
            Steering::Never => Steered::Never,
        },
        memory_mib: program.memory_mib,
        layers: recipe::layers(program).into_iter().map(layer).collect(),
        needs_command: program.binary.is_empty(),
        needs_model: program.model == ModelChoice::Ours,
    }
}

const fn compute(compute: Compute) -> ComputeWish {
    ComputeWish {
        cpu_millis: Some(compute.cpu_millis),
        memory_mib: Some(compute.memory_mib),
        disk_mib: Some(compute.disk_mib),
        processes: Some(compute.processes),
        lifetime_seconds: Some(compute.lifetime.as_secs()),
    }
}

fn told(presence: Presence) -> Told {
    match presence {
        Presence::Here { version } => Told::Here { version },
        Presence::Other { version, wanted } => Told::Other { version, wanted },
        Presence::Missing => Told::Missing {},
        Presence::Broken { reason } => Told::Broken { reason },
        Presence::NotAsked => Told::NotAsked {},
    }
}
