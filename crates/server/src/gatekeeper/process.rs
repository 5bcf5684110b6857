//! The gateway as a process: `lamp-proxy`, which is part of this program and is started from memory.

use std::{
    ffi::OsString,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use egress::broker::Gateways;
use futures::future::BoxFuture;
use sandbox::Provider;
use tokio::process::{Child, Command};

/// A gateway that ends sooner than this after its start is not started again at once.
const SHORTEST_LIFE: Duration = Duration::from_secs(1);

/// Starts gateways, one after the other.
#[derive(Debug)]
pub(super) struct GatewayProcess {
    /// Whose sandboxes get fresh doors.
    sandboxes: Arc<Sandboxes>,
    /// The variables that it gets: where certificates are, and nothing else.
    certificates: Vec<(&'static str, OsString)>,
    child: Mutex<Option<Child>>,
}

/// The sandboxes of this server, from when there are any until they are let go.
#[derive(Debug, Default)]
pub(super) struct Sandboxes(Mutex<Option<Provider>>);

impl Sandboxes {
    pub(super) fn serve(&self, provider: Provider) {
        *lock(&self.0) = Some(provider);
    }

    /// Lets go of them: they are about to end.
    pub(super) fn let_go(&self) {
        drop(lock(&self.0).take());
    }

    pub(super) fn provider(&self) -> Option<Provider> {
        lock(&self.0).clone()
    }
}

impl GatewayProcess {
    pub(super) fn new(
        sandboxes: Arc<Sandboxes>,
        certificates: Vec<(&'static str, OsString)>,
    ) -> Self {
        Self { sandboxes, certificates, child: Mutex::default() }
    }

    fn spawn(&self) -> std::io::Result<(UnixStream, Child)> {
        let (ours, theirs) = UnixStream::pair()?;
        // Let go of when it is started: the process keeps what it runs from.
        let program = programs::proxy()?;
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command
            .arg0("lamp-proxy")
            .env_clear()
            .envs(self.certificates.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        Ok((ours, command.spawn()?))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gateways for GatewayProcess {
    fn start(&self) -> BoxFuture<'_, Result<UnixStream, String>> {
        Box::pin(async move {
            let before = lock(&self.child).take();
            if let Some(mut before) = before {
                let _ = before.start_kill();
                let _ended = before.wait().await;
                // One that cannot live would otherwise be started without end.
                let _breath =
                    tokio::time::timeout(SHORTEST_LIFE, std::future::pending::<()>()).await;
            }
            let (ours, child) = self.spawn().map_err(|error| error.to_string())?;
            *lock(&self.child) = Some(child);
            Ok(ours)
        })
    }

    fn fresh_doors(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(provider) = self.sandboxes.provider() {
                provider.join_again().await;
            }
        })
    }
}
