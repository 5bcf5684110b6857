//! A Docker daemon of our own, in a network namespace of its own, so that it changes nothing on the host.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};

use super::ground::rest;

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Daemon {
    child: Child,
    at: PathBuf,
}

impl Daemon {
    pub(super) async fn start(at: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(at)?;
        let log = fs::File::create(at.join("log"))?.into_parts().0;
        let path = |name: &str| at.join(name).to_string_lossy().into_owned();
        let mut command = Command::new("unshare");
        command
            .args(["--net", "dockerd", "--host", &format!("unix://{}", path("socket"))])
            .args(["--data-root", &path("data"), "--exec-root", &path("exec")])
            .args(["--pidfile", &path("pid"), "--storage-driver", "overlay2"])
            .args(["--bridge", "none", "--iptables=false", "--ip6tables=false"])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn().context("unshare")?;
        let mut daemon = Self { child, at: at.to_owned() };
        daemon.until_it_listens().await?;
        Ok(daemon)
    }

    pub(super) fn socket(&self) -> String {
        format!("unix://{}", self.at.join("socket").display())
    }

    async fn until_it_listens(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut ended = None;
        while begun.elapsed() < PATIENCE {
            if std::os::unix::net::UnixStream::connect(self.at.join("socket")).is_ok() {
                return Ok(());
            }
            ended = self.child.try_wait()?;
            if ended.is_some() {
                break;
            }
            rest(Duration::from_millis(50)).await;
        }
        let log = fs::read_to_string(self.at.join("log")).unwrap_or_default();
        let last = log.lines().last().unwrap_or_default();
        match ended {
            Some(status) => bail!("dockerd ended with {status}: {last}"),
            None => bail!("dockerd does not listen after {} s: {last}", PATIENCE.as_secs()),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Asked, not killed: it ends its containerd, and unmounts what it mounted.
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
