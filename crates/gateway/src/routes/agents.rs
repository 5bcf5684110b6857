//! Agents: the programs, those that a sandbox has, and one at work, over a WebSocket; see [`wire::agent`] for what is said.

use std::time::Duration;

use axum::{
    Json,
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use contracts::{
    agent::{AgentEvent, Words},
    sandbox::{Listed, Sandboxes},
};
use domain::code::{CodeNameError, RepositoryName};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::sync::mpsc::{self, error::TrySendError};
use wire::{
    agent::{AgentHears, AgentInside, AgentSays, Agents, AgentsInside, AgentsQuery, StartAgent},
    error::{Code, Problem, Refusal},
};

use crate::{
    agent_offers, agent_shapes,
    door::Door,
    extract::{Words as AsWords, web_socket},
    problem::Answer,
    sockets::Start,
    spoken::Spoken,
    values::cleaned,
};

/// How long a caller may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a caller may take to take one thing that it is told.
const TAKING: Duration = Duration::from_secs(30);

/// How many words may wait for an agent that does not take them.
const WAITING: usize = 64;

/// The programs that this server can work with, and the agents that files define
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "agents",
    params(("repository" = Option<String>, Query, max_length = 200, description = "Also the agents that this repository defines itself")),
    responses((status = 200, body = Agents), (status = "4XX", body = Refusal))
)]
pub(crate) async fn list<S: Sandboxes>(
    State(door): State<Door<S>>,
    AsWords(query): AsWords<AgentsQuery>,
) -> Answer<Json<Agents>> {
    let name = query.repository.as_deref().map(str::parse::<RepositoryName>).transpose();
    let name =
        name.map_err(|error: CodeNameError| Problem::new(Code::BadRequest, error.to_string()))?;
    let written = door.agents.written(name.as_ref()).await;
    let written = written.map_err(|reason| {
        Problem::new(Code::NotFound, reason)
            .with_help("`lamp agent list` outside of the repository lists those of the server; `lamp run` makes a repository known")
    })?;
    Ok(Json(agent_offers::offered(&door.agents.list(), written)))
}

/// Which programs a sandbox has, at which versions
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/agents",
    tag = "agents",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = AgentsInside), (status = "4XX", body = Refusal))
)]
pub(crate) async fn inside<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<AgentsInside>> {
    let found = door.find(&sandbox).await?;
    let inside = door.agents.inside(&found).await.map_err(|error| {
        Problem::new(Code::Lost, error.to_string()).with_help("the server's log says more")
    })?;
    let agents = inside.into_iter();
    let agents = agents
        .map(|(name, it)| AgentInside { name, presence: agent_offers::presence(it) })
        .collect();
    Ok(Json(AgentsInside { agents }))
}

/// Has an agent work in a sandbox, over a WebSocket
///
/// The first message is a `StartAgent` as text. Then what the agent does comes as `AgentSays`, and `AgentHears` may be said to it; the
/// last is `finished` or `failed`. Closing the socket ends the agent with all that it started.
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/agent",
    tag = "agents",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses(
        (status = 101, description = "A WebSocket", body = AgentSays),
        (status = "4XX", body = Refusal)
    )
)]
pub(crate) async fn work<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer<Response> {
    let found = door.find(&sandbox).await?;
    Ok(web_socket(upgrade)?.on_upgrade(move |socket| converse(door, found, socket)))
}

type Sink = SplitSink<WebSocket, Message>;
type Source = SplitStream<WebSocket>;

async fn converse<S: Sandboxes>(door: Door<S>, sandbox: Listed, socket: WebSocket) {
    // Whoever ends the server waits for what is said here last.
    let _talk = door.closing.talks.token();
    let (mut sink, mut source) = socket.split();
    let start = begin(&mut source).await;
    let start = start.and_then(|start| agent_offers::start(&*door.agents, &sandbox, start));
    let last = match start {
        Err(problem) => Some(Err(problem)),
        Ok(start) => tokio::select! {
            ended = run(&door, &sandbox, &start, &mut sink, &mut source) => ended,
            () = door.closing.stop.cancelled() => {
                let message = "the server was stopped, and the agent with it";
                Some(Err(Problem::new(Code::Stopped, message)))
            }
        },
    };
    let last = match last {
        // The caller left.
        None => return,
        Some(Ok(last)) => last,
        Some(Err(error)) => AgentSays::Failed { error: cleaned(&*door.values, error) },
    };
    // An answer is the agent's words as well.
    let last = door.values.text(&written(&last)).into_owned();
    // Whoever leaves now has missed the end; nothing else is lost.
    drop(sink.send(Message::text(last)).await);
    drop(sink.close().await);
}

async fn begin(source: &mut Source) -> Result<StartAgent, Problem> {
    let wrong = |message: String| Problem::new(Code::BadRequest, message);
    let first = tokio::time::timeout(PATIENCE, source.next()).await;
    let Ok(Some(Ok(Message::Text(first)))) = first else {
        return Err(wrong("the first message must be a text that says what to do".to_owned()));
    };
    let start: StartAgent = serde_json::from_str(&first)
        .map_err(|error| wrong(format!("the first message is not right: {error}")))?;
    if start.request.trim().is_empty() {
        return Err(wrong("there is nothing to do: the request is empty".to_owned()));
    }
    Ok(start)
}

/// How the run ended; `None` when the caller left before.
async fn run<S: Sandboxes>(
    door: &Door<S>,
    sandbox: &Listed,
    start: &Start,
    sink: &mut Sink,
    source: &mut Source,
) -> Option<Result<AgentSays, Problem>> {
    let (to_agent, words) = mpsc::channel(WAITING);
    let (events, told) = mpsc::channel(64);
    let working = door.agents.work(sandbox, start, words, events);
    let telling = tell(sink, told, Spoken::new(&*door.values));
    let running = async { tokio::join!(working, telling) };
    tokio::select! {
        biased;
        (worked, ()) = running => Some(match worked {
            Ok(outcome) => Ok(AgentSays::Finished(agent_shapes::outcome(outcome))),
            Err(error) => Err(agent_offers::not_worked(error)),
        }),
        left = listen(source, to_agent) => match left {
            Left::Gone => None,
            Left::Nonsense(message) => Some(Err(Problem::new(Code::BadRequest, message))),
        },
    }
}

async fn tell(sink: &mut Sink, mut told: mpsc::Receiver<AgentEvent>, mut spoken: Spoken<'_>) {
    while let Some(event) = told.recv().await {
        let events = spoken.clean(event).unwrap_or_else(|problem| {
            // Rather a gap than a value.
            vec![AgentEvent::Trouble { text: format!("something was left out: {problem}") }]
        });
        pass_on(sink, events).await;
    }
    pass_on(sink, spoken.finish()).await;
}

async fn pass_on(sink: &mut Sink, events: Vec<AgentEvent>) {
    for event in events {
        let says = AgentSays::Event { event: agent_shapes::event(event) };
        // A caller that cannot be reached has left, which the listener notices. One that does not take what it is told loses it.
        drop(tokio::time::timeout(TAKING, sink.send(text(&says))).await);
    }
}

/// Why nobody listens any more.
enum Left {
    Gone,
    Nonsense(String),
}

async fn listen(source: &mut Source, to_agent: mpsc::Sender<Words>) -> Left {
    loop {
        match source.next().await {
            None | Some(Err(_) | Ok(Message::Close(_))) => return Left::Gone,
            Some(Ok(Message::Text(said))) => match serde_json::from_str(&said) {
                // Nobody waits here for an agent that does not listen: whether the caller leaves has to be noticed.
                Ok(AgentHears::Words { text }) => match to_agent.try_send(Words(text)) {
                    // One that is just finishing no longer listens.
                    Ok(()) | Err(TrySendError::Closed(_)) => {}
                    Err(TrySendError::Full(_)) => {
                        let message = format!("{WAITING} messages wait for the agent already");
                        return Left::Nonsense(message);
                    }
                },
                Err(error) => return Left::Nonsense(format!("this cannot be said: {error}")),
            },
            Some(Ok(Message::Binary(_))) => {
                return Left::Nonsense("an agent is spoken to in texts".to_owned());
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
        }
    }
}

fn text(says: &AgentSays) -> Message {
    Message::text(written(says))
}

fn written(says: &AgentSays) -> String {
    // Strings and numbers always can be written.
    serde_json::to_string(says).unwrap_or_default()
}
