//! The launcher, as a process of its own.
//!
//! It is single-threaded and small, so that making a sandbox is a cheap clone, and privileged code stays apart
//! from everything that speaks with the world. If it dies, the next launch starts another; sandboxes are not
//! affected.

use std::{
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
    process::Stdio,
    time::Duration,
};

use guest::protocol::{Decoder, FrameError, encode};
use launcher::{
    descriptors, frame,
    plan::{Answer, Doors, DoorsAnswer, Doorway, Failure, Hosted, Launch, Order},
};
use serde::Serialize;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    process::{Child, Command},
    sync::Mutex,
};

#[derive(Debug)]
pub(crate) struct Spawner {
    guest: OwnedFd,
    launcher: OwnedFd,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    orders: UnixStream,
    decoder: Decoder,
    child: Child,
}

/// A first process that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launched {
    pub(crate) pid: u32,
    pub(crate) started: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error("the sandbox could not be made: {0}")]
    Failed(Failure),
    #[error("the launcher does not work: {0}")]
    Launcher(#[from] io::Error),
    #[error("the launcher answered wrongly: {0}")]
    Answer(String),
}

impl From<FrameError> for SpawnError {
    fn from(error: FrameError) -> Self {
        Self::Answer(error.to_string())
    }
}

impl Spawner {
    pub(crate) fn new() -> io::Result<Self> {
        let (guest, launcher) = (programs::guest()?, programs::launcher()?);
        Ok(Self { guest, launcher, running: Mutex::new(None) })
    }

    pub(crate) async fn launch(&self, launch: Launch) -> Result<Launched, SpawnError> {
        launched(self.order(&Order::Launch(Box::new(launch))).await?)
    }

    /// Starts a launcher for this one alone: a runtime takes a hundred times as long, and nobody else should wait.
    pub(crate) async fn host(&self, hosted: &Hosted) -> Result<Launched, SpawnError> {
        let mut running = self.start(&["--hosted"])?;
        let answer = running.ask(hosted).await;
        drop(running.orders);
        let _ended = running.child.wait().await;
        launched(answer?)
    }

    /// Opens doors in the network of a first process, by a launcher that is started for this alone.
    pub(crate) async fn doors(&self, order: Doors) -> Result<Vec<(Doorway, OwnedFd)>, SpawnError> {
        let (server, mut child) = self.begin(&["--doors"])?;
        let opened = tokio::task::spawn_blocking(move || open_doors(server, &order));
        let opened = opened.await.map_err(io::Error::other)?;
        let _ended = child.wait().await;
        opened
    }

    /// Makes the launcher close what it keeps of a layer.
    pub(crate) async fn release(&self, layer: &str) -> Result<(), SpawnError> {
        self.order(&Order::Release { layer: layer.to_owned() }).await.map(drop)
    }

    /// Ends the launcher. It is started again when it is needed.
    pub(crate) async fn stop(&self) {
        if let Some(mut running) = self.running.lock().await.take() {
            drop(running.orders);
            let _ = running.child.wait().await;
        }
    }

    async fn order(&self, order: &Order) -> Result<Answer, SpawnError> {
        let mut slot = self.running.lock().await;
        // Taken out while it works: a caller who gives up half-way leaves no half-read answer behind, but
        // a launcher that is replaced.
        let alive = slot.as_mut().is_some_and(Running::is_alive);
        let mut running = match slot.take() {
            Some(running) if alive => running,
            Some(_) | None => self.start(&[])?,
        };
        let answer = running.ask(order).await?;
        *slot = Some(running);
        Ok(answer)
    }

    fn start(&self, more: &[&str]) -> Result<Running, SpawnError> {
        let (ours, child) = self.begin(more)?;
        ours.set_nonblocking(true)?;
        let orders = UnixStream::from_std(ours)?;
        Ok(Running { orders, decoder: Decoder::default(), child })
    }

    fn begin(&self, more: &[&str]) -> Result<(StdStream, Child), SpawnError> {
        let (ours, theirs) = StdStream::pair()?;
        // Where the new process finds the program before its own descriptors are closed.
        let program = format!("/proc/self/fd/{}", self.launcher.as_raw_fd());
        // Not closed on exec, so the launcher has it under the same number. Another process that happens to be
        // started now has it too, and can do nothing with it: it is sealed.
        let guest = rustix::io::dup(&self.guest).map_err(io::Error::from)?;
        let mut command = Command::new(program);
        command
            .args(["--guest-fd", &guest.as_raw_fd().to_string()])
            .args(more)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit());
        Ok((ours, command.spawn()?))
    }
}

/// How long opening doors may take: it waits for nobody.
const DOORS: Duration = Duration::from_secs(10);

fn open_doors(mut server: StdStream, order: &Doors) -> Result<Vec<(Doorway, OwnedFd)>, SpawnError> {
    server.set_read_timeout(Some(DOORS))?;
    frame::write(&mut server, order)?;
    match frame::read(&mut server)? {
        Some(DoorsAnswer::Opened(doors)) if doors.is_empty() => Ok(Vec::new()),
        Some(DoorsAnswer::Opened(doors)) => {
            let sockets = descriptors::receive(&server)?;
            if sockets.len() != doors.len() {
                return Err(SpawnError::Answer("a door without a socket".to_owned()));
            }
            Ok(doors.into_iter().zip(sockets).collect())
        }
        Some(DoorsAnswer::Failed(failure)) => Err(SpawnError::Failed(failure)),
        None => Err(SpawnError::Launcher(io::ErrorKind::UnexpectedEof.into())),
    }
}

fn launched(answer: Answer) -> Result<Launched, SpawnError> {
    match answer {
        Answer::Launched { pid, started } => Ok(Launched { pid, started }),
        Answer::Failed(failure) => Err(SpawnError::Failed(failure)),
        Answer::Done => Err(SpawnError::Answer("done, without a process".to_owned())),
    }
}

impl Running {
    fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    async fn ask(&mut self, order: &impl Serialize) -> Result<Answer, SpawnError> {
        self.orders.write_all(&encode(order)?).await?;
        let mut buffer = [0; 4096];
        loop {
            if let Some(answer) = self.decoder.next()? {
                return Ok(answer);
            }
            let read = tokio::select! {
                biased;
                read = self.orders.read(&mut buffer) => read?,
                // Whatever it left behind may still hold its end of the socket.
                _ended = self.child.wait() => 0,
            };
            if read == 0 {
                return Err(SpawnError::Launcher(io::ErrorKind::UnexpectedEof.into()));
            }
            self.decoder.push(buffer.get(..read).unwrap_or_default());
        }
    }
}
