//! A command inside, over a WebSocket: see [`wire::exec`] for what is said.
//!
//! Three things go on at once: the command runs, its output is passed on, the caller is listened to. When the
//! caller leaves, the command ends with all that it started.

use std::{collections::VecDeque, time::Duration};

use axum::{
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use contracts::sandbox::{
    CommandName, Exec, Finished, HOME, Input, Listed, Output, SandboxError, Sandboxes, Streams,
};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::sync::mpsc;
use wire::{
    error::{Code, Problem, Refusal},
    exec::{ClientSays, ServerSays, StartExec, Tag, User, WINDOW},
};

use crate::{
    convert,
    door::Door,
    extract::web_socket,
    problem::{Answer, Trouble, problem},
    sockets::{Cleaned, Values},
    values::cleaned,
};

/// How long a caller may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many messages may wait to be taken, the empty ones included.
const MESSAGES: usize = 4096;

/// Runs a command inside, over a WebSocket
///
/// The first message is a `StartExec` as text. Then input goes in, and output comes out, as binary messages whose
/// first byte is the stream: 0 input, 1 output, 2 errors. Texts are `ClientSays` and `ServerSays`; the last is
/// `finished` or `failed`. Closing the socket ends the command with all that it started.
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/exec",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses(
        (status = 101, description = "A WebSocket", body = ServerSays),
        (status = "4XX", body = Refusal)
    )
)]
pub(crate) async fn exec<S: Sandboxes>(
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
    let last = match begin(&door, &mut source, &sandbox).await {
        Err(problem) => Some(Err(problem)),
        Ok((name, command)) => run(&door, &sandbox, &name, &command, &mut sink, &mut source).await,
    };
    let last = match last {
        // The caller left.
        None => return,
        Some(Ok(finished)) => ServerSays::Finished(convert::finished(&finished)),
        Some(Err(error)) => ServerSays::Failed { error: cleaned(&*door.values, error) },
    };
    // Whoever leaves now has missed the end; nothing else is lost.
    drop(sink.send(text(&last)).await);
    drop(sink.close().await);
}

/// How the command ended; `None` when the caller left before.
async fn run<S: Sandboxes>(
    door: &Door<S>,
    sandbox: &Listed,
    name: &CommandName,
    command: &Exec,
    sink: &mut Sink,
    source: &mut Source,
) -> Option<Result<Finished, Problem>> {
    let (to_command, input) = mpsc::channel(8);
    let (output, said) = mpsc::channel(16);
    let (to_caller, notes) = mpsc::channel(8);
    let mut cleaners = match Cleaners::new(&*door.values) {
        Ok(cleaners) => cleaners,
        Err(problem) => return Some(Err(problem)),
    };
    let running = door.sandboxes.exec(sandbox.id, name, command, Streams { input, output });
    let running = async { tokio::join!(running, speak(sink, said, notes, &mut cleaners)).0 };
    tokio::select! {
        biased;
        finished = running => Some(finished.map_err(|error| {
            if door.closing.stop.is_cancelled() { stopped(error, sandbox, name) } else { problem(error) }
        })),
        left = listen(source, to_command, to_caller) => match left {
            Left::Gone => None,
            Left::Nonsense(message) => Some(Err(Problem::new(Code::BadRequest, message))),
        },
    }
}

/// What an error means when the server is being stopped: it has let go of the sandbox, or ended it.
fn stopped(error: SandboxError, sandbox: &Listed, name: &CommandName) -> Problem {
    let called = sandbox.name.as_ref().map_or_else(|| sandbox.id.to_string(), ToString::to_string);
    if let SandboxError::Busy { .. } = error {
        let goes_on = "the server was stopped; the command goes on in the sandbox";
        let again = format!(
            "once `lamp up` runs again, the same `lamp sandbox exec {called}` with `--name {name}` attaches to it"
        );
        return Problem::new(Code::Stopped, goes_on).with_help(again);
    }
    if let SandboxError::Lost { .. } = error {
        return Problem::new(Code::Stopped, "the server was stopped, and ended its sandboxes");
    }
    problem(error)
}

/// What the caller wants to run.
async fn begin<S: Sandboxes>(
    door: &Door<S>,
    source: &mut Source,
    sandbox: &Listed,
) -> Result<(CommandName, Exec), Problem> {
    let wrong = |message: &str| Problem::new(Code::BadRequest, message);
    let first = tokio::time::timeout(PATIENCE, source.next()).await;
    let Ok(Some(Ok(Message::Text(first)))) = first else {
        return Err(wrong("the first message must be a text that says what to run"));
    };
    let start: StartExec = serde_json::from_str(&first)
        .map_err(|error| wrong(&format!("the first message is not right: {error}")))?;
    if start.argv.first().is_none_or(String::is_empty) {
        return Err(wrong("there is no command to run"));
    }
    let has_null = |text: &String| text.contains('\0');
    let mut variables = start.environment.iter();
    if start.argv.iter().any(has_null)
        || variables.any(|(key, value)| has_null(key) || has_null(value))
    {
        return Err(wrong("neither arguments nor variables can contain the character 0"));
    }
    // A command that nobody named is never taken for another.
    let name = start.name.clone().unwrap_or_else(|| format!("unnamed-{:x}", door.ids.next()));
    let name = CommandName::new(name);
    let exposed = match start.expose.as_ref().filter(|wish| !wish.names.is_empty()) {
        Some(wish) => {
            let program = start.argv.first().map(String::as_str).unwrap_or_default();
            let exposing = convert::exposing(wish)?;
            door.values.expose(&exposing, sandbox, program).await.map_err(Trouble::from)?
        }
        None => Vec::new(),
    };
    let mut command = command(start, sandbox);
    let exposed = exposed.iter().map(|(name, it)| (name.to_string(), it.expose().to_owned()));
    command.environment.extend(exposed);
    Ok((name, command))
}

fn command(start: StartExec, sandbox: &Listed) -> Exec {
    let (home, user) = match start.user {
        User::Agent => (HOME, "lamp"),
        User::Root => ("/root", "root"),
    };
    let usual = [
        ("HOME", home),
        ("USER", user),
        ("TERM", if start.terminal.is_some() { "xterm-256color" } else { "dumb" }),
    ];
    let usual = usual.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let directory = start.directory.unwrap_or_else(|| match start.user {
        User::Agent => home.to_owned(),
        // An image need not have a home for root.
        User::Root => "/".to_owned(),
    });
    Exec {
        argv: start.argv,
        environment: usual.into_iter().chain(start.environment).collect(),
        path: Vec::new(),
        sweeps: false,
        directory,
        user: convert::user(start.user),
        terminal: start.terminal.map(convert::size),
        limit: start.limit_millis.map_or(sandbox.compute.lifetime, Duration::from_millis),
        output_limit: start.output_limit.unwrap_or(u64::MAX),
    }
}

/// Takes values of secrets out of the two streams of a command. Without any there is nothing to do.
struct Cleaners([Option<Box<dyn Cleaned>>; 2]);

/// So long may a few bytes be held that could be the beginning of a value: whoever types wants to see it.
const HELD: Duration = Duration::from_millis(50);

impl Cleaners {
    fn new(values: &dyn Values) -> Result<Self, Problem> {
        Ok(Self([values.stream()?, values.stream()?]))
    }

    fn clean(&mut self, output: Output) -> Output {
        let [out, error] = &mut self.0;
        match (output, out, error) {
            (Output::Out(bytes), Some(cleaner), _) => Output::Out(cleaner.feed(&bytes)),
            (Output::Error(bytes), _, Some(cleaner)) => Output::Error(cleaner.feed(&bytes)),
            (output @ Output::Out(_), None, _) | (output @ Output::Error(_), _, None) => output,
        }
    }

    fn is_holding(&self) -> bool {
        self.0.iter().flatten().any(|cleaner| cleaner.is_holding())
    }

    /// What each stream still has, by `take`.
    fn rest(&mut self, take: impl Fn(&mut (dyn Cleaned + 'static)) -> Vec<u8>) -> [Output; 2] {
        let mut rest = self.0.each_mut().map(|cleaner| cleaner.as_deref_mut().map(&take));
        let [out, error] = &mut rest;
        let take = |bytes: &mut Option<Vec<u8>>| bytes.take().unwrap_or_default();
        [Output::Out(take(out)), Output::Error(take(error))]
    }
}

/// Passes on what the command says, until it has said all.
async fn speak(
    sink: &mut Sink,
    mut said: mpsc::Receiver<Output>,
    mut notes: mpsc::Receiver<ServerSays>,
    cleaners: &mut Cleaners,
) {
    let mut is_waiting = false;
    loop {
        let next = tokio::select! {
            Some(note) = notes.recv() => {
                drop(sink.send(text(&note)).await);
                continue;
            }
            next = heard(&mut said, is_waiting) => next,
        };
        match next {
            Heard::Nothing => {
                is_waiting = false;
                pass_on(sink, cleaners.rest(Cleaned::release)).await;
            }
            Heard::All => return pass_on(sink, cleaners.rest(Cleaned::finish)).await,
            Heard::Some(output) => {
                pass_on(sink, [cleaners.clean(output)]).await;
                is_waiting = cleaners.is_holding();
            }
        }
    }
}

enum Heard {
    Some(Output),
    /// For a while.
    Nothing,
    /// The command has said all.
    All,
}

async fn heard(said: &mut mpsc::Receiver<Output>, is_waiting: bool) -> Heard {
    let output = if is_waiting {
        match tokio::time::timeout(HELD, said.recv()).await {
            Ok(output) => output,
            Err(_late) => return Heard::Nothing,
        }
    } else {
        said.recv().await
    };
    output.map_or(Heard::All, Heard::Some)
}

async fn pass_on(sink: &mut Sink, outputs: impl IntoIterator<Item = Output>) {
    for output in outputs {
        let message = match output {
            Output::Out(bytes) | Output::Error(bytes) if bytes.is_empty() => continue,
            Output::Out(bytes) => Tag::Out.message(&bytes),
            Output::Error(bytes) => Tag::Error.message(&bytes),
        };
        // A caller that cannot be reached has left, which the listener notices.
        drop(sink.send(Message::Binary(message)).await);
    }
}

fn text(says: &ServerSays) -> Message {
    // Strings and numbers always can be written.
    Message::text(serde_json::to_string(says).unwrap_or_default())
}

/// Why nobody listens any more.
enum Left {
    Gone,
    Nonsense(String),
}

/// What has been heard, and not been taken by the command.
struct Waiting {
    to_command: mpsc::Sender<Input>,
    queue: VecDeque<Input>,
    bytes: usize,
}

async fn listen(
    source: &mut Source,
    to_command: mpsc::Sender<Input>,
    to_caller: mpsc::Sender<ServerSays>,
) -> Left {
    let mut waiting = Waiting { to_command, queue: VecDeque::new(), bytes: 0 };
    let mut untold = 0;
    loop {
        tokio::select! {
            message = source.next() => match message {
                None | Some(Err(_) | Ok(Message::Close(_))) => return Left::Gone,
                Some(Ok(message)) => if let Err(left) = waiting.hear(message) {
                    return left;
                },
            },
            taken = waiting.pass_on() => untold += taken,
            // Nobody to tell it: the end is near.
            Ok(permit) = to_caller.reserve(), if untold > 0 => {
                permit.send(ServerSays::Taken { bytes: std::mem::take(&mut untold) });
            }
        }
    }
}

impl Waiting {
    fn hear(&mut self, message: Message) -> Result<(), Left> {
        if self.queue.len() > MESSAGES {
            return Err(Left::Nonsense("more messages than there is room for".to_owned()));
        }
        match message {
            Message::Binary(bytes) => match Tag::split(bytes) {
                Some((Tag::Input, bytes)) => {
                    self.bytes += bytes.len();
                    if self.bytes > WINDOW {
                        return Err(Left::Nonsense("more input than there is room for".to_owned()));
                    }
                    self.queue.push_back(Input::Bytes(bytes.to_vec()));
                    Ok(())
                }
                Some((Tag::Out | Tag::Error, _)) | None => {
                    Err(Left::Nonsense("only input can be sent in binary messages".to_owned()))
                }
            },
            Message::Text(said) => match serde_json::from_str(&said) {
                Ok(ClientSays::EndInput) => {
                    self.queue.push_back(Input::End);
                    Ok(())
                }
                // These do not wait behind input that the command has not taken.
                Ok(ClientSays::Signal { signal }) => {
                    self.queue.push_front(Input::Signal(signal));
                    Ok(())
                }
                Ok(ClientSays::Resize(size)) => {
                    self.queue.push_front(Input::Resize(convert::size(size)));
                    Ok(())
                }
                Err(error) => Err(Left::Nonsense(format!("a text is not right: {error}"))),
            },
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Ok(()),
        }
    }

    /// Gives the command the next input, once it takes one; and says how many bytes it was.
    async fn pass_on(&mut self) -> u64 {
        if self.queue.is_empty() {
            return std::future::pending().await;
        }
        let permit = self.to_command.reserve().await.ok();
        let next = self.queue.pop_front();
        let bytes = match &next {
            Some(Input::Bytes(bytes)) => bytes.len(),
            Some(Input::Signal(_) | Input::Resize(_) | Input::End) | None => 0,
        };
        // A command that takes no more input does not stop the caller.
        if let (Some(permit), Some(next)) = (permit, next) {
            permit.send(next);
        }
        self.bytes -= bytes;
        bytes as u64
    }
}
