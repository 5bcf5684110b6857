//! Who does what: requests are answered here, a prompt by a thread of its own. One turn runs at a time.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Outlet, Updates,
    replay::replay,
    wire::{self, Fault, Incoming},
};
use crate::{
    conversation::tokens_of,
    cut,
    memory::MemoryError,
    model::{Failure, Kind, Model, Patience, Usage},
    session::Session,
    settings::{Settings, SettingsError},
    stop::Stop,
    tools::Toolbox,
    turn::{Turn, TurnEnd, TurnError},
    updates::tokens,
};

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    InputClosed,
    /// Input or output failed.
    Broken,
    /// The settings are wrong; whoever asked was told.
    Unusable,
}

const MOST_SESSIONS: usize = 8;
/// How long a turn has for its last words when the input is closed.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until the input ends.
pub fn serve(
    settings: Result<Settings, SettingsError>,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> Ended {
    let outlet = Arc::new(Outlet::new(output));
    let settings = match settings {
        Ok(settings) => Arc::new(settings),
        Err(error) => return refuse(&error, &mut input, &outlet),
    };
    let model = Model::new(Arc::clone(&settings), Patience::default());
    let mut server = Server { settings, model, outlet, sessions: BTreeMap::new(), running: None };
    let ended = loop {
        match wire::read(&mut input) {
            Ok(Incoming::End) => break Ended::InputClosed,
            Err(_) => break Ended::Broken,
            Ok(Incoming::Nothing) => {}
            Ok(Incoming::Malformed(fault)) => server.outlet.answer(&Value::Null, Err(fault)),
            Ok(Incoming::Notification { method, parameters }) => {
                server.notified(&method, parameters);
            }
            Ok(Incoming::Request { id, method, parameters }) => {
                server.asked(&id, &method, parameters);
            }
        }
        if server.outlet.is_broken() {
            break Ended::Broken;
        }
    };
    server.end();
    ended
}

/// Tells the first who asks that nothing can work, and why.
fn refuse(error: &SettingsError, input: &mut impl BufRead, outlet: &Outlet) -> Ended {
    loop {
        match wire::read(input) {
            Ok(Incoming::Request { id, .. }) => {
                let more = json!({ "kind": "configuration", "variable": error.variable });
                let fault = Fault::new(Fault::INTERNAL, error.to_string()).with(more);
                outlet.answer(&id, Err(fault));
                return Ended::Unusable;
            }
            Ok(Incoming::Notification { .. } | Incoming::Nothing) => {}
            Ok(Incoming::Malformed(fault)) => outlet.answer(&Value::Null, Err(fault)),
            Ok(Incoming::End) | Err(_) => return Ended::Unusable,
        }
    }
}

struct Server {
    settings: Arc<Settings>,
    model: Model,
    outlet: Arc<Outlet>,
    sessions: BTreeMap<String, Arc<Mutex<Session>>>,
    running: Option<Running>,
}

/// The turn that is under way, or the last one.
struct Running {
    session: String,
    stop: Arc<Stop>,
    /// Set before its answer is sent, so that who has the answer can ask again.
    is_over: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    #[serde(default)]
    session_id: String,
    cwd: PathBuf,
    #[serde(default)]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    session_id: String,
    prompt: Vec<Block>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ResourceLink {
        uri: String,
    },
    Resource {
        resource: Resource,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Resource {
    uri: String,
    #[serde(default)]
    text: Option<String>,
}

impl Server {
    fn notified(&mut self, method: &str, parameters: Value) {
        if method != "session/cancel" {
            return;
        }
        let Ok(Named { session_id }) = parsed(parameters) else { return };
        if let Some(running) = self.running.as_ref().filter(|it| it.session == session_id) {
            running.stop.stop();
        }
    }

    fn asked(&mut self, id: &Value, method: &str, parameters: Value) {
        let outcome = match method {
            "initialize" => Ok(introduction()),
            "session/new" => parsed(parameters).and_then(|place| self.new_session(place)),
            "session/load" => {
                parsed(parameters).and_then(|place| self.old_session(place, Tell::History))
            }
            "session/resume" => {
                parsed(parameters).and_then(|place| self.old_session(place, Tell::Nothing))
            }
            "session/prompt" => {
                match parsed(parameters).and_then(|prompt| self.prompt(id, prompt)) {
                    // The turn answers when it ends.
                    Ok(()) => return,
                    Err(fault) => Err(fault),
                }
            }
            other => {
                let message = format!("there is no method `{}`", cut::line(other, 100));
                Err(Fault::new(Fault::UNKNOWN_METHOD, message))
            }
        };
        self.outlet.answer(id, outcome);
    }

    fn new_session(&mut self, place: Place) -> Result<Value, Fault> {
        let cwd = self.checked(place.cwd, &place.mcp_servers)?;
        let id = new_id().map_err(|error| Fault::new(Fault::INTERNAL, error.to_string()))?;
        let session = Session::create(&self.settings.home, id.clone(), cwd)
            .map_err(|error| forgotten(&error))?;
        self.sessions.insert(id.clone(), Arc::new(Mutex::new(session)));
        Ok(json!({ "sessionId": id }))
    }

    fn old_session(&mut self, place: Place, tell: Tell) -> Result<Value, Fault> {
        let id = place.session_id;
        if self.running.as_ref().is_some_and(|it| it.session == id && !it.is_over()) {
            return Err(busy());
        }
        self.sessions.remove(&id);
        let cwd = self.checked(place.cwd, &place.mcp_servers)?;
        let (session, history) = Session::open(&self.settings.home, &id, cwd.clone())
            .map_err(|error| forgotten(&error))?;
        match tell {
            Tell::Nothing => {}
            Tell::History => {
                let updates = Updates::new(Arc::clone(&self.outlet), id.clone());
                replay(&history, &updates, &Toolbox { root: cwd, mode: self.settings.mode });
            }
        }
        self.sessions.insert(id, Arc::new(Mutex::new(session)));
        Ok(json!({}))
    }

    fn checked(&self, cwd: PathBuf, mcp_servers: &[Value]) -> Result<PathBuf, Fault> {
        let refused = |why: &str| Err(Fault::new(Fault::PARAMETERS, why));
        if !cwd.is_absolute() || !cwd.is_dir() {
            return refused("`cwd` is not the absolute path of a directory");
        }
        if !mcp_servers.is_empty() {
            return refused("MCP servers are not supported; leave `mcpServers` empty");
        }
        if self.sessions.len() >= MOST_SESSIONS {
            return refused("there are too many sessions in this process");
        }
        Ok(cwd)
    }

    /// Starts a turn.
    fn prompt(&mut self, id: &Value, prompt: Prompt) -> Result<(), Fault> {
        let Some(session) = self.sessions.get(&prompt.session_id) else {
            let name = cut::line(&prompt.session_id, 64);
            let message = format!("there is no session `{name}`; make or load it first");
            return Err(Fault::new(Fault::NOT_FOUND, message));
        };
        if self.running.as_ref().is_some_and(|running| !running.is_over()) {
            return Err(busy());
        }
        let text = text_of(&prompt.prompt)?;
        let most = self.settings.context_tokens / 2;
        if tokens_of(&text) > most {
            let message = format!(
                "the prompt has about {} tokens, and the model's window leaves room for {most}; make it shorter, or set LAMP_CONTEXT_TOKENS to what the model has",
                tokens_of(&text)
            );
            return Err(Fault::new(Fault::PARAMETERS, message));
        }
        let (stop, is_over) = (Arc::new(Stop::default()), Arc::new(AtomicBool::new(false)));
        let (tell_ended, ended) = mpsc::channel();
        let work = Work {
            id: id.clone(),
            text,
            settings: Arc::clone(&self.settings),
            model: self.model.clone(),
            session: Arc::clone(session),
            updates: Updates::new(Arc::clone(&self.outlet), prompt.session_id.clone()),
            outlet: Arc::clone(&self.outlet),
            stop: Arc::clone(&stop),
            is_over: Arc::clone(&is_over),
            _ended: tell_ended,
        };
        // It is waited for by `ended`, which closes with it.
        let started = std::thread::Builder::new().name("turn".to_owned()).spawn(move || work.run());
        started.map_err(|error| Fault::new(Fault::INTERNAL, error.to_string()))?;
        let session = prompt.session_id;
        self.running = Some(Running { session, stop, is_over, ended });
        Ok(())
    }

    /// Ends the turn that is under way.
    fn end(self) {
        if let Some(running) = self.running {
            running.stop.stop();
            // It says that it is closed, or nothing in time; both is an end.
            let _ended = running.ended.recv_timeout(LAST_WORDS);
        }
    }
}

#[derive(Clone, Copy)]
enum Tell {
    History,
    Nothing,
}

impl Running {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// A turn, as its thread has it.
struct Work {
    id: Value,
    text: String,
    settings: Arc<Settings>,
    model: Model,
    session: Arc<Mutex<Session>>,
    updates: Updates,
    outlet: Arc<Outlet>,
    stop: Arc<Stop>,
    is_over: Arc<AtomicBool>,
    _ended: mpsc::Sender<()>,
}

impl Work {
    fn run(self) {
        let (ended, usage) = {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            let turn =
                Turn::new(&self.settings, &self.model, &mut session, &self.updates, &self.stop);
            turn.run(self.text)
        };
        self.is_over.store(true, Ordering::Release);
        self.outlet.answer(&self.id, ended.map_err(fault).map(|end| answer(end, &usage)));
    }
}

fn answer(end: TurnEnd, usage: &Usage) -> Value {
    let reason = match end {
        TurnEnd::EndTurn => "end_turn",
        TurnEnd::MaxTokens => "max_tokens",
        TurnEnd::MaxSteps => "max_turn_requests",
        TurnEnd::Refusal => "refusal",
        TurnEnd::Cancelled => "cancelled",
    };
    json!({ "stopReason": reason, "usage": tokens(usage) })
}

/// A failed turn, in words that the platform types.
fn fault(error: TurnError) -> Fault {
    let message = error.to_string();
    match error {
        TurnError::Model(Failure { kind, status, .. }) => {
            let code = match kind {
                Kind::Auth => Fault::AUTHENTICATION,
                Kind::RateLimit
                | Kind::Overloaded
                | Kind::Unreachable
                | Kind::BadRequest
                | Kind::Budget
                | Kind::BadAnswer => Fault::INTERNAL,
            };
            Fault::new(code, message).with(json!({ "kind": kind.name(), "status": status }))
        }
        TurnError::Stuck(_) => {
            Fault::new(Fault::INTERNAL, message).with(json!({ "kind": "stuck", "status": null }))
        }
        TurnError::Memory(error) => forgotten(&error),
    }
}

fn forgotten(error: &MemoryError) -> Fault {
    let source = std::error::Error::source(error).map(|it| format!(": {it}")).unwrap_or_default();
    let message = format!("{error}{source}");
    let code = match error {
        MemoryError::Unknown(_) => Fault::NOT_FOUND,
        MemoryError::Damaged(_) | MemoryError::Full | MemoryError::Io(_) => Fault::INTERNAL,
    };
    Fault::new(code, message).with(json!({ "kind": "memory", "status": null }))
}

fn busy() -> Fault {
    Fault::new(Fault::INVALID, "a turn is under way; cancel it, or wait for its answer")
}

fn parsed<T: DeserializeOwned>(parameters: Value) -> Result<T, Fault> {
    serde_json::from_value(parameters).map_err(|error| {
        let error = cut::line(&error.to_string(), 300);
        Fault::new(Fault::PARAMETERS, format!("the parameters are wrong: {error}"))
    })
}

fn introduction() -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": false, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": false, "sse": false },
            "sessionCapabilities": { "resume": {} },
        },
        "agentInfo": { "name": "lamp-agent", "title": "Lamplighter's built-in agent", "version": env!("CARGO_PKG_VERSION") },
        "authMethods": [],
    })
}

/// The words of a prompt. What is attached is quoted, and is data.
fn text_of(blocks: &[Block]) -> Result<String, Fault> {
    let mut parts = Vec::new();
    for block in blocks {
        parts.push(match block {
            Block::Text { text } => text.clone(),
            Block::ResourceLink { uri } => format!("[attached: {uri}]"),
            Block::Resource { resource: Resource { uri, text: Some(inside) } } => {
                format!("[attached, data: {uri}]\n{inside}\n[end of what is attached]")
            }
            Block::Resource { resource: Resource { text: None, .. } } | Block::Other => {
                let message =
                    "a prompt has text, links and attached text; nothing else is understood";
                return Err(Fault::new(Fault::PARAMETERS, message));
            }
        });
    }
    let text = parts.join("\n\n");
    if text.trim().is_empty() {
        return Err(Fault::new(Fault::PARAMETERS, "the prompt is empty"));
    }
    Ok(text)
}

fn new_id() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    let length = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if length < bytes.len() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(format!("ses_{:032x}", u128::from_ne_bytes(bytes)))
}
