//! What people put between a program and the network today, measured in the same run.
//!
//! `squid` passes tunnels on; `mitmproxy` does that too, and looks inside where it is told to. Each has a directory, a port and a
//! process of its own, and ends with this program. What cannot be had here is told with the reason.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use fs_err as fs;
use proxy::serving::NOBODY;
use tempfile::TempDir;

use super::{
    clients::{Route, Way},
    race::Lane,
    upstream::{PLAIN, Upstream},
    watch::Watched,
};
use crate::sandbox::{ground::rest, rivals::Missing};

/// How long one may take to start: Python on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where mitmproxy keeps the certificate that programs have to believe.
const AUTHORITY: &str = "mitmproxy-ca-cert.pem";

/// A proxy, which ends with this.
#[derive(Debug)]
pub struct Rival {
    way: Way,
    child: Child,
    address: SocketAddr,
    /// Its files, gone with it.
    at: TempDir,
}

/// Everything that can be measured here, and everything that cannot.
pub async fn all(upstream: &Upstream) -> (Vec<(Rival, Lane)>, Vec<Missing>) {
    let ways = [Way::Squid, Way::MitmproxySpliced, Way::MitmproxyIntercepted];
    // First all are started, then waited for.
    let started = ways.map(|way| (way, Rival::start(way, upstream)));
    let (mut rivals, mut missing) = (Vec::new(), Vec::new());
    for (way, started) in started {
        let tried = match started {
            Ok(rival) => rival.ready(upstream).await,
            Err(error) => Err(error),
        };
        match tried {
            Ok(ready) => rivals.push(ready),
            Err(error) => missing.push(Missing { name: way.name(), reason: format!("{error:#}") }),
        }
    }
    (rivals, missing)
}

impl Rival {
    fn start(way: Way, upstream: &Upstream) -> anyhow::Result<Self> {
        // In the system's own directory: squid runs as somebody who sees no other.
        let at = tempfile::Builder::new().prefix("bench-").tempdir()?;
        let address = free()?;
        let words = match way {
            Way::Squid => squid(at.path(), address)?,
            Way::MitmproxySpliced => {
                let mut words = mitmproxy(at.path(), address, upstream);
                words.extend(["--ignore-hosts".to_owned(), ".*".to_owned()]);
                words
            }
            Way::MitmproxyIntercepted => mitmproxy(at.path(), address, upstream),
            Way::Direct | Way::OursSpliced | Way::OursIntercepted => bail!("no rival"),
        };
        let log = fs::File::create(at.path().join("said"))?.into_parts().0;
        let (program, arguments) = words.split_first().context("no program")?;
        let program = installed(program)?;
        let mut command = Command::new("setpriv");
        // Whatever becomes of this process, it does not stay behind.
        command.args(["--pdeathsig", "KILL"]);
        if way == Way::Squid && rustix::process::geteuid().is_root() {
            let nobody = NOBODY.to_string();
            command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
            std::os::unix::fs::chown(at.path(), Some(NOBODY), Some(NOBODY))?;
        }
        command.arg(program).args(arguments);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("setpriv")?;
        Ok(Self { way, child, address, at })
    }

    /// Waits until it listens, and asks it once.
    async fn ready(mut self, upstream: &Upstream) -> anyhow::Result<(Self, Lane)> {
        let begun = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}: {}", self.last_words());
            }
            if begun.elapsed() > PATIENCE {
                bail!("it does not listen after {} s: {}", PATIENCE.as_secs(), self.last_words());
            }
            rest(Duration::from_millis(50)).await;
        }
        let believed = match self.way {
            Way::MitmproxyIntercepted => fs::read_to_string(self.at.path().join(AUTHORITY))?,
            Way::Direct
            | Way::OursSpliced
            | Way::OursIntercepted
            | Way::Squid
            | Way::MitmproxySpliced => upstream.authority.clone(),
        };
        let authority = upstream.address.to_string();
        let route = Route::direct(upstream.address, PLAIN, &believed)?;
        let route = route.through(self.address, &authority);
        let asked = async { route.open().await?.get("/small").await };
        asked.await.with_context(|| self.last_words())?;
        let process = Some(Watched(self.child.id()));
        let lane = Lane { way: self.way, routes: vec![route], process };
        Ok((self, lane))
    }

    fn last_words(&self) -> String {
        let said = fs::read_to_string(self.at.path().join("said")).unwrap_or_default();
        said.lines().last().unwrap_or("it says nothing").to_owned()
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody has at the moment.
fn free() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// The whole name of a program. Some are where only root looks.
fn installed(program: &str) -> anyhow::Result<PathBuf> {
    let beside = Path::new("/usr/sbin").join(program);
    if beside.exists() {
        return Ok(beside);
    }
    match Command::new(program).arg("--version").output() {
        Ok(_) => Ok(program.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("`{program}` is not installed"),
        Err(error) => Err(error).with_context(|| program.to_owned()),
    }
}

/// Tunnels for everybody, no cache, and a line of a log for each, as ours has.
fn squid(at: &Path, address: SocketAddr) -> anyhow::Result<Vec<String>> {
    let place = at.display();
    let lines = [
        format!("http_port {address}"),
        "http_access allow all".to_owned(),
        "cache deny all".to_owned(),
        format!("access_log stdio:{place}/access.log"),
        format!("cache_log {place}/cache.log"),
        format!("coredump_dir {place}"),
        "pid_filename none".to_owned(),
        "netdb_filename none".to_owned(),
        "pinger_enable off".to_owned(),
        "max_filedescriptors 8192".to_owned(),
        "shutdown_lifetime 0 seconds".to_owned(),
    ];
    let file = at.join("squid.conf");
    fs::write(&file, lines.join("\n") + "\n")?;
    Ok(["squid", "-N", "-f", &file.to_string_lossy()].map(str::to_owned).to_vec())
}

/// It passes large bodies on as they come; otherwise it would keep them whole.
fn mitmproxy(at: &Path, address: SocketAddr, upstream: &Upstream) -> Vec<String> {
    let authority = upstream.authority_file.display();
    let mut words = ["mitmdump", "--quiet", "--listen-host"].map(str::to_owned).to_vec();
    words.extend([address.ip().to_string(), "--listen-port".to_owned()]);
    words.push(address.port().to_string());
    let settings = [
        format!("confdir={}", at.display()),
        format!("ssl_verify_upstream_trusted_ca={authority}"),
        "stream_large_bodies=1m".to_owned(),
    ];
    words.extend(settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]));
    words
}
