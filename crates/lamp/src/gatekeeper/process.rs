//! The gateway as a process: this program, started again for nothing else.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use egress::broker::Gateways;
use futures::future::BoxFuture;
use sandbox::Provider;
use tokio::process::{Child, Command};

/// A gateway that ends sooner than this after its start is not started again at once.
const SHORTEST_LIFE: Duration = Duration::from_secs(1);

/// Starts gateways, one after the other.
#[derive(Debug, Default)]
pub(super) struct GatewayProcess {
    /// Whose sandboxes get fresh doors.
    provider: Mutex<Option<Provider>>,
    child: Mutex<Option<Child>>,
}

impl GatewayProcess {
    pub(super) fn serve(&self, provider: Provider) {
        *lock(&self.provider) = Some(provider);
    }

    /// Lets go of them: they are about to end.
    pub(super) fn let_go(&self) {
        drop(lock(&self.provider).take());
    }

    fn spawn() -> std::io::Result<(UnixStream, Child)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        // It finds certificates by the variables that say where they are, and needs to know nothing else.
        let certificates = std::env::vars_os().filter(|(name, _)| {
            name.to_str().is_some_and(|name| matches!(name, "SSL_CERT_FILE" | "SSL_CERT_DIR"))
        });
        command
            .arg("egress-gateway")
            .env_clear()
            .envs(certificates)
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
            let (ours, child) = Self::spawn().map_err(|error| error.to_string())?;
            *lock(&self.child) = Some(child);
            Ok(ours)
        })
    }

    fn fresh_doors(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let provider = lock(&self.provider).clone();
            if let Some(provider) = provider {
                provider.join_again().await;
            }
        })
    }
}
