//! Agents, for the doors: the crew, and which program works with which model.

use std::{sync::Arc, time::Duration};

use agents::{Endpoint, ModelChoice, Post, Program, checkup, program, recipe};
use contracts::{
    Key,
    agent::{AgentEvent, Brief, Outcome, Presence, Run, Words},
    ids::{IdSource as _, SystemIds},
    sandbox::{
        CommandName, EntryKind, FileAsk, Listed, SandboxError, Sandboxes, Streams, Transfer, User,
        WORKSPACE,
    },
};
use domain::{
    agent::{AgentName, AgentNameError},
    code::RepositoryName,
    definition::Definition,
    id::TaskId,
    money::Money,
    policy::ModelProvider,
};
use futures::future::BoxFuture;
use gateway::sockets::{
    AgentDesk, Layer, Model, Offer, Offered, Package, Start, WorkError, WrittenAgent,
};
use provision::{
    OWNER,
    agents::{Owner as Whose, Staff},
    models::{self, NoModel},
    offers,
};
use sandbox::Provider;
use tokio::sync::mpsc;

use crate::{
    household::{HouseCrew, owners},
    reload::Reloader,
};

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

    fn models(&self) -> Vec<Model> {
        let said = self.reloader.said();
        let models = said.server.models.iter();
        models.map(|it| Model { name: it.name.to_string(), provider: it.provider }).collect()
    }

    /// The program that is asked for, with a model that it can speak with. The door has looked at both; the file may be another by now.
    fn post(&self, start: &Start) -> Result<Post, WorkError> {
        let Some(program) = Program::named(&start.agent) else {
            return Err(WorkError::Unfit {
                reason: format!("there is no agent `{}`", start.agent),
            });
        };
        let model = start.model.clone().unwrap_or_default();
        let endpoint = self.endpoint(program, start.provider.as_deref())?;
        Ok(Post { program, model, endpoint, command: start.command.clone() })
    }

    fn endpoint(
        &self,
        program: &Program,
        wanted: Option<&str>,
    ) -> Result<Option<Endpoint>, WorkError> {
        let said = self.reloader.said();
        let spoken = models::find(&said.server.models, program, wanted);
        let spoken = spoken.map_err(|error| match error {
            NoModel::Unspoken { .. } => WorkError::Unfit { reason: error.to_string() },
            NoModel::Unknown(reason) => WorkError::Broken { reason },
        })?;
        Ok(spoken.map(|spoken| spoken.endpoint))
    }

    /// Where repositories are, if nobody says: all that is in the workspace.
    async fn directories(&self, sandbox: &Listed, start: &Start) -> Vec<String> {
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
    fn list(&self) -> Offered {
        let models = self.models();
        let one = |program: &&'static Program| offer(program, &models);
        Offered { agents: program::ALL.iter().map(one).collect(), models }
    }

    fn written<'a>(
        &'a self,
        repository: Option<&'a RepositoryName>,
    ) -> BoxFuture<'a, Result<Vec<WrittenAgent>, String>> {
        Box::pin(async move {
            let said = self.reloader.said();
            let Some(name) = repository else { return Ok(told(&said.staff)) };
            let mirrors = self.sandboxes.mirrors();
            let fetched = async {
                mirrors.fetch(name, None).await.map_err(|error| error.to_string())?;
                owners::offers(mirrors, name).await.map_err(|error| error.to_string())
            };
            Ok(told(&offers::with_offers(&said, &fetched.await?).staff))
        })
    }

    fn inside<'a>(
        &'a self,
        sandbox: &'a Listed,
    ) -> BoxFuture<'a, Result<Vec<(String, Presence)>, SandboxError>> {
        Box::pin(async move {
            let mut agents = Vec::new();
            for program in program::ALL {
                let name = CommandName::new(format!("version-{:x}", SystemIds.next()));
                let presence =
                    checkup::look(self.sandboxes.as_ref(), sandbox.id, program, &name).await?;
                agents.push((program.name.to_owned(), presence));
            }
            Ok(agents)
        })
    }

    fn work<'a>(
        &'a self,
        sandbox: &'a Listed,
        start: &'a Start,
        words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Result<Outcome, WorkError>> {
        Box::pin(async move {
            let post = self.post(start)?;
            let task = TaskId::from_u128(SystemIds.next());
            let agent = post.program.name.parse();
            let agent: AgentName = agent
                .map_err(|error: AgentNameError| WorkError::Broken { reason: error.to_string() })?;
            let run = Run {
                key: Key { task, seq: 0, part: "agent", number: 0 },
                task,
                sandbox: sandbox.id,
                agent,
                mode: start.mode,
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
                limit: start.limit.unwrap_or(USUAL),
                budget: Money::ZERO,
            };
            Ok(self.crew.run_once(&run, &post, words, events).await?)
        })
    }
}

/// Those that work, those that are wrong, and those whose name is another's.
fn told(staff: &Staff) -> Vec<WrittenAgent> {
    let right = staff.written().map(|it| WrittenAgent {
        name: Some(it.file.lamp.name.to_string()),
        file: it.place.clone(),
        origin: it.definition.origin(),
        commit: match &it.definition {
            Definition::Repository { commit, .. } => Some(commit.to_string()),
            Definition::BuiltIn | Definition::Server { .. } => None,
        },
        driver: Some(it.file.agent.driver.as_str().to_owned()),
        description: it.file.lamp.description.as_ref().map(ToString::to_string),
        problem: None,
    });
    let wrong = |name: Option<String>, file: &str, origin, problem: String| WrittenAgent {
        name,
        file: file.to_owned(),
        origin,
        commit: None,
        driver: None,
        description: None,
        problem: Some(problem),
    };
    let broken = staff.broken().iter().map(|it| {
        let origin = match it.owner {
            Whose::Server => "server",
            Whose::Repository => "repository",
        };
        let name = it.name.as_ref().map(ToString::to_string);
        wrong(name, &it.place, origin, it.problem.trim_end().to_owned())
    });
    let hidden = staff.hidden().iter().map(|(name, place)| {
        let why =
            format!("the server has an agent `{name}`, which goes before it; give it another name");
        wrong(Some(name.to_string()), place, "repository", why)
    });
    right.chain(broken).chain(hidden).collect()
}

fn offer(program: &'static Program, models: &[Model]) -> Offer {
    let package = |it: &program::Package| Package {
        name: it.name.to_owned(),
        version: it.version.to_owned(),
    };
    let layer =
        |it: recipe::Layer| Layer { what: it.what, setup: it.setup, compute: recipe::COMPUTE };
    // In the order in which one is chosen.
    let rank = |provider: ModelProvider| {
        program.formats.iter().position(|format| models::speaks(provider).contains(format))
    };
    let ranked = models.iter().filter_map(|it| Some((rank(it.provider)?, &it.name)));
    let mut fitting: Vec<(usize, &String)> = ranked.collect();
    fitting.sort_by_key(|(rank, _)| *rank);
    Offer {
        name: program.name.to_owned(),
        title: program.title.to_owned(),
        packages: program.packages.iter().map(package).collect(),
        formats: program.formats.iter().map(ToString::to_string).collect(),
        models: fitting.into_iter().map(|(_, name)| name.clone()).collect(),
        steering: program.steering,
        memory_mib: program.memory_mib,
        layers: recipe::layers(program).into_iter().map(layer).collect(),
        needs_command: program.binary.is_empty(),
        needs_model: program.model == ModelChoice::Ours,
    }
}
