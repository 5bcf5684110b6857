//! The server as its users see it: requests that are answered, or not, because it was killed; and another after it.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    time::{Duration, Instant},
};

use anyhow::Context as _;

/// An answer that takes longer than this will not come.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a request was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the server is gone")]
    Killed,
    #[error("{0}")]
    Failed(String),
}

/// Where a server can be asked, whichever lives. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct State {
    door: Door,
    requests: Option<ChildStdin>,
    waiting: BTreeMap<u64, mpsc::SyncSender<String>>,
    next: u64,
}

/// Whether requests are taken.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Door {
    #[default]
    Closed,
    /// For whoever looks after the server alone.
    Ajar,
    Open,
    /// There will never be another server.
    Shut,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is a server, and asks it.
    pub(crate) fn ask(&self, request: &str) -> Result<String, Refused> {
        let mut state = self.lock();
        loop {
            match state.door {
                Door::Open => return Self::send(state, request),
                Door::Shut => {
                    return Err(Refused::Failed("there is no server any more".to_owned()));
                }
                Door::Closed | Door::Ajar => {
                    state = self.shared.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Asks the server before anybody else may.
    pub(crate) fn ask_first(&self, request: &str) -> Result<String, Refused> {
        Self::send(self.lock(), request)
    }

    /// Lets nobody wait for a server that will not come.
    pub(crate) fn close_for_good(&self) {
        self.lock().door = Door::Shut;
        self.shared.opened.notify_all();
    }

    /// Lets everybody ask.
    pub(crate) fn open(&self) {
        self.lock().door = Door::Open;
        self.shared.opened.notify_all();
    }

    fn send(mut state: MutexGuard<'_, State>, request: &str) -> Result<String, Refused> {
        let number = state.next;
        state.next += 1;
        let (answer, answered) = mpsc::sync_channel(1);
        let Some(requests) = &mut state.requests else { return Err(Refused::Killed) };
        if writeln!(requests, "{number} {request}").is_err() {
            return Err(Refused::Killed);
        }
        state.waiting.insert(number, answer);
        drop(state);
        let line = answered.recv_timeout(PATIENCE).map_err(|error| match error {
            mpsc::RecvTimeoutError::Disconnected => Refused::Killed,
            mpsc::RecvTimeoutError::Timeout => Refused::Failed(format!("no answer to {request}")),
        })?;
        match line.split_once(' ') {
            Some(("ok", told)) => Ok(told.to_owned()),
            Some(_) | None => Err(Refused::Failed(format!("{request}: {line}"))),
        }
    }

    fn hear(&self, line: &str) {
        let Some((number, answer)) = line.split_once(' ') else { return };
        let waiting = number.parse().ok().and_then(|number| self.lock().waiting.remove(&number));
        if let Some(waiting) = waiting {
            // Whoever has lost patience does not need it.
            let _ = waiting.send(answer.to_owned());
        }
    }

    fn close(&self) {
        let mut state = self.lock();
        if state.door != Door::Shut {
            state.door = Door::Closed;
        }
        state.requests = None;
        // Those who wait hear that nobody will answer.
        state.waiting.clear();
    }
}

/// One server's process.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    desk: Desk,
    ready: mpsc::Receiver<()>,
    listener: Option<std::thread::JoinHandle<()>>,
}

/// How to start one.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) waiting: u32,
}

impl Program {
    pub(crate) fn start(&self, directory: &Path, desk: &Desk) -> anyhow::Result<Server> {
        let mut child = Command::new(&self.path)
            .arg("--directory")
            .arg(directory)
            .args(["--waiting", &self.waiting.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        let answers = child.stdout.take().context("it has no output")?;
        desk.lock().requests = child.stdin.take();
        let (tell, ready) = mpsc::sync_channel(1);
        let hearing = desk.clone();
        let listener = std::thread::spawn(move || {
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                if line == "ready" {
                    let _ = tell.send(());
                } else {
                    hearing.hear(&line);
                }
            }
        });
        Ok(Server { child, desk: desk.clone(), ready, listener: Some(listener) })
    }
}

impl Server {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has started; the door is ajar then.
    pub(crate) fn until_ready(&mut self) -> anyhow::Result<()> {
        self.ready.recv_timeout(PATIENCE).context("the server does not start")?;
        self.desk.lock().door = Door::Ajar;
        Ok(())
    }

    /// Whether it got ready within this time.
    pub(crate) fn is_ready_within(&mut self, patience: Duration) -> bool {
        self.ready.recv_timeout(patience).is_ok()
    }

    /// Ends it, as the power failing would.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.gone();
        Ok(())
    }

    /// Lets it remove everything and end.
    pub(crate) fn close(mut self) -> anyhow::Result<()> {
        self.desk.lock().requests = None;
        let deadline = Instant::now() + PATIENCE;
        let ended = loop {
            if let Some(ended) = self.child.try_wait()? {
                break ended;
            }
            anyhow::ensure!(Instant::now() < deadline, "the server does not end");
            std::thread::park_timeout(Duration::from_millis(5));
        };
        self.gone();
        anyhow::ensure!(ended.success(), "the server ended with {ended}");
        Ok(())
    }

    fn gone(&mut self) {
        if let Some(listener) = self.listener.take() {
            // It ends with the output of the server.
            let _ = listener.join();
        }
        self.desk.close();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.gone();
    }
}
