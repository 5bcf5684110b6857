//! Opens everything in its order, serves until it is told to stop, and closes everything in the other order.

use std::{
    io::{IsTerminal as _, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use config::server::{Listen, Log, LogFormat, LogLevel};
use contracts::{clock::SystemClock, ids::SystemIds, sandbox::Sandboxes};
use gateway::{Closing, Door, Patience, Token, sockets::Values};
use provision::{OWNER, server_files::ServerFiles};
use rustix::process::{Resource, Rlimit};
use terminal::{
    data_directory::{self, Account},
    environment::Environment,
    report::Hint,
    run_directory, token,
};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Level;

use crate::{
    desk::Desk,
    discretion::{CleanLog, Discretion},
    household::Works,
    kept::Kept,
    outward::{self, Outward},
    provider::{self, Mirrored},
    quiet,
    reload::Reloader,
    vault::{self, Shelf},
};

/// How long calls that are under way may take to end, once the server is told to.
const GRACE: Duration = Duration::from_secs(5);

/// How often, and after which pause, a data directory that is in use is tried again.
const LOCK_TRIES: u32 = 10;
const MOMENT: Duration = Duration::from_millis(100);

/// What a server is started with.
#[derive(Debug)]
pub struct Start {
    pub kept: Kept,
    /// The address on the loopback to serve, unless its file's.
    pub listen: Option<SocketAddr>,
    /// The directory for sockets, unless the usual one.
    pub run: Option<PathBuf>,
    /// Whether every sandbox ends with the server, so that nothing is left running or mounted.
    pub temporary: bool,
}

impl Start {
    /// Comes back when the server has ended.
    pub fn serve(&self, environment: &Environment, out: &mut impl Write) -> anyhow::Result<()> {
        without_core_files();
        heap::share();
        let log = CleanLog::default();
        begin_log(&self.kept.said.server.log, log.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.context("cannot start")?;
        let served = runtime.block_on(self.work(environment, &log, out));
        // Whatever still waits for a caller is let go.
        runtime.shutdown_timeout(Duration::from_secs(1));
        served
    }

    async fn work(
        &self,
        environment: &Environment,
        log: &CleanLog,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let kept = &self.kept;
        let mut signals = Signals::new()?;
        kept.quarters.check()?;
        let data = kept.place.directory().to_owned();
        let _lock = lock(&kept.place).await.with_context(|| {
            Hint::new("cannot start here", "name another place with `--data DIR`")
        })?;
        // The sandbox room keeps paths for longer than this process, so they are absolute.
        let data = fs_err::canonicalize(&data)?;
        data_directory::keep_private(&data)?;
        let run = match &self.run {
            Some(named) => std::path::absolute(named)?,
            None => run_directory::usual(environment, Account::own(), &data),
        };
        run_directory::make(&run)?;
        let socket = run.join(run_directory::SOCKET);
        let unix = run_directory::bind(&socket).await?;
        let loopback = self.bind(&kept.said.server.listen).await?;
        let address = loopback.local_addr()?;
        let secret = token::read_or_make(&data)?;
        let keeper = vault::open(&data, environment)?;
        log.of(&keeper);
        let kept_outward = outward::directory(&data);
        vault::settle(&keeper, &kept_outward);
        let outward = Outward::open(&data, kept, &keeper, environment).await?;
        let secrets = Shelf {
            keeper: keeper.clone(),
            egress: kept_outward,
            broker: Arc::clone(outward.gatekeeper.broker()),
            store: Arc::clone(&outward.store),
        };
        let road = Arc::clone(outward.gatekeeper.broker());
        let sandboxes = provider::start(&data, &run, &kept.quarters, road).await?;
        outward.gatekeeper.serve(sandboxes.clone());
        let works = Works::open(&data, &outward, &keeper, &sandboxes)?;
        let (stop, servers) = (CancellationToken::new(), TaskTracker::new());

        self.tell(out, (&socket, address, &data), &sandboxes, &kept.said)?;
        let values: Arc<dyn Values> =
            Arc::new(Discretion { keeper, store: Arc::clone(&outward.store) });
        let sandboxes_of_agents = Arc::new(sandboxes.clone());
        let reloader = Arc::clone(&outward.reloader);
        let desk = Desk::new(Arc::clone(works.crew()), sandboxes_of_agents, reloader);
        let closing = Closing { stop: stop.clone(), talks: servers.clone() };
        let door = Door {
            sandboxes: Arc::new(sandboxes.clone()),
            sources: Arc::new(Mirrored(sandboxes.clone())),
            networks: Arc::new(outward.networks()),
            values: Arc::clone(&values),
            agents: Arc::new(desk),
            ids: Arc::new(SystemIds),
            owner: OWNER.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            closing: closing.clone(),
        };
        let router = gateway::router(door)
            .merge(gateway::secrets_router(Arc::new(secrets)))
            .merge(gateway::tasks_router(works.door(closing)));
        let (router, patience) = (gateway::without_values(router, values), Patience::default());
        let owner = rustix::process::geteuid().as_raw();
        let (tended, until) = (sandboxes.clone(), stop.clone());
        servers.spawn(async move { tended.run(&SystemClock, until).await });
        servers.spawn(works.run(stop.clone()));
        servers.spawn(quiet::give_back(outward.store.subscribe(), stop.clone()));
        servers.spawn(gateway::serve_unix(unix, owner, router.clone(), patience, stop.clone()));
        let token = Token::new(&secret);
        servers.spawn(gateway::serve_loopback(loopback, token, router, patience, stop.clone()));
        signals.told_to_end(&outward.reloader).await;
        stop.cancel();
        servers.close();
        outward.gatekeeper.let_go();
        // At once: whoever waits for a command is told what becomes of it when its sandbox is let go. A caller that does
        // not hang up then is hung up on.
        let callers = tokio::time::timeout(GRACE, servers.wait());
        let letting_go = async {
            if self.temporary {
                return sandboxes.close().await.context("cannot remove the sandboxes");
            }
            drop(tokio::time::timeout(GRACE, sandboxes.stop()).await);
            Ok(())
        };
        let (_told, let_go) = tokio::join!(callers, letting_go);
        let_go?;
        outward.close(GRACE).await;
        drop(fs_err::remove_file(&socket));
        writeln!(out, "The server has ended.")?;
        Ok(())
    }

    /// What a person wants to know of a server that is up.
    fn tell(
        &self,
        out: &mut impl Write,
        (socket, address, data): (&Path, SocketAddr, &Path),
        sandboxes: &impl Sandboxes,
        said: &ServerFiles,
    ) -> anyhow::Result<()> {
        writeln!(out, "Lamplighter {} is up.", env!("CARGO_PKG_VERSION"))?;
        writeln!(out, "  socket  {}", socket.display())?;
        writeln!(
            out,
            "  http    http://{address}, with the token in {}",
            token::place(data).display()
        )?;
        writeln!(out, "  data    {}", data.display())?;
        tell_tiers(sandboxes, out)?;
        for config::Problem { file, line, column, what, .. } in said.unheard() {
            writeln!(out, "  note    {file}:{line}:{column}: {what}")?;
        }
        for broken in said.staff.broken() {
            let problem = broken.problem.trim_end().replace('\n', "\n          ");
            writeln!(out, "  broken  the agent of `{}`: {problem}", broken.place)?;
        }
        let server = match &self.run {
            Some(_) => format!(" --server {}", socket.display()),
            None => String::new(),
        };
        writeln!(out, "In a git repository, `lamp run{server} \"…\"` hands a task over.")?;
        let lives_on = if self.temporary {
            "Its sandboxes end with it."
        } else {
            "Sandboxes live on, and the next `lamp up` finds them."
        };
        writeln!(out, "Ctrl-C ends it. {lives_on}")?;
        out.flush()?;
        Ok(())
    }

    async fn bind(&self, written: &Listen) -> anyhow::Result<TcpListener> {
        let listen = self.listen.unwrap_or_else(|| written.http.get());
        let what = || format!("cannot serve {listen}");
        if !listen.ip().is_loopback() {
            let hint = "there is no TLS yet: serve 127.0.0.1, and reach it over SSH from elsewhere";
            return Err(
                anyhow::anyhow!("it is not on the loopback").context(Hint::new(what(), hint))
            );
        }
        TcpListener::bind(listen).await.with_context(|| {
            Hint::new(what(), "choose another port with `--listen 127.0.0.1:PORT`")
        })
    }
}

/// What the server says about itself from now on, as `log` of `lamp.yaml` wants it.
fn begin_log(wanted: &Log, to: CleanLog) {
    let level = match wanted.level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    let log = tracing_subscriber::fmt().with_writer(to).with_ansi(false).with_max_level(level);
    let begun = match wanted.format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    // A test may have set one already.
    drop(begun);
}

fn tell_tiers(sandboxes: &impl Sandboxes, out: &mut impl Write) -> std::io::Result<()> {
    let told = sandboxes.capabilities();
    let names: Vec<String> = told.tiers.iter().map(ToString::to_string).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    writeln!(out, "  tiers   {names}")?;
    for (tier, reason) in &told.missing {
        writeln!(out, "          `{tier}` is missing: {reason}")?;
    }
    tell_weaker(&told.weaker, out)
}

/// What is weaker here. A remedy that several have in common is told once.
fn tell_weaker(weaker: &[String], out: &mut impl Write) -> std::io::Result<()> {
    let parts = |note: &'_ str| {
        note.rsplit_once("; ").map(|(what, remedy)| [what, remedy].map(str::to_owned))
    };
    let mut notes = weaker.iter().map(String::as_str).peekable();
    while let Some(note) = notes.next() {
        let Some([what, remedy]) = parts(note) else {
            writeln!(out, "  note    {note}")?;
            continue;
        };
        writeln!(out, "  note    {what}")?;
        let is_next =
            notes.peek().and_then(|next| parts(next)).is_some_and(|[_, next]| next == remedy);
        if !is_next {
            writeln!(out, "          remedy: {remedy}")?;
        }
    }
    Ok(())
}

/// What a service manager or a person tells the server.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    /// Whether it was started in a terminal.
    has_terminal: bool,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            has_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// Comes back when it is told to end. Until then, SIGHUP has the files read again.
    async fn told_to_end(&mut self, reloader: &Reloader) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => {
                    // A terminal that was closed says the same, and means the end.
                    if self.has_terminal && fs_err::File::open("/dev/tty").is_err() {
                        return;
                    }
                    match reloader.reload("SIGHUP").await {
                        Ok(told) => {
                            let said = reloader.said();
                            for unheard in said.unheard() {
                                tracing::warn!("{unheard}");
                            }
                            for broken in said.staff.broken() {
                                tracing::warn!(file = broken.place, "an agent is broken: {}", broken.problem);
                            }
                            tracing::info!(
                            rules = told.changes.len(),
                            others = ?told.others,
                            after_restart = ?told.after_restart,
                            sandboxes = told.sandboxes,
                            "the files were read again"
                        );
                        }
                        Err(problem) => tracing::error!(%problem, "the files were not taken"),
                    }
                }
            }
        }
    }
}

/// The data directory for us alone. A server that was killed may leave the lock to a child that it was just starting, for a moment.
async fn lock(place: &store::DataDirectory) -> Result<store::ServerLock, store::OpenError> {
    for _ in 0..LOCK_TRIES {
        match place.lock() {
            Err(store::OpenError::InUse { .. }) => {
                let _passed = tokio::time::timeout(MOMENT, std::future::pending::<()>()).await;
            }
            locked => return locked,
        }
    }
    place.lock()
}

/// A core file of this process would hold every value that it ever held in clear. What it starts may ask for more.
fn without_core_files() {
    let limit = rustix::process::getrlimit(Resource::Core);
    let none = Rlimit { current: Some(0), ..limit };
    if let Err(error) = rustix::process::setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "a crash may leave a core file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_that_several_notes_share_is_told_once() {
        let notes =
            ["no memory limit; be root", "no freezing; be root", "disks are watched", "slow; wait"];
        let mut out = Vec::new();
        tell_weaker(&notes.map(str::to_owned), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
          note    no memory limit
          note    no freezing
                  remedy: be root
          note    disks are watched
          note    slow
                  remedy: wait
        ");
    }
}
