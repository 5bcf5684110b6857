//! What people use today for the same thing, measured in the same run.
//!
//! Each runs `/bin/true` once, in new namespaces, without a network. Those that know limits have limits. What cannot be
//! had here is told with the reason, never left out in silence.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use tempfile::TempDir;

use super::{daemon::Daemon, floor::PROGRAM};

/// A program that runs another one in a box.
#[derive(Debug)]
pub struct Rival {
    pub name: &'static str,
    /// What it does not do that we do.
    pub lacks: &'static str,
    /// Measured in one of so many rounds: slow ones would take the whole run.
    pub every: usize,
    words: Vec<String>,
    runs: u32,
    /// Kept for as long as it is measured, and gone with it.
    _daemon: Option<Daemon>,
    _hierarchy: Option<Mounted>,
    _state: Option<TempDir>,
}

/// A rival that cannot be had, and why.
#[derive(Debug)]
pub struct Missing {
    pub name: &'static str,
    pub reason: String,
}

/// Stands for the number of the run, in the words of a command.
const NUMBER: &str = "{number}";

const IMAGE: &str = "lamp-bench";

impl Rival {
    /// Runs it once.
    pub fn measure(&mut self) -> anyhow::Result<Duration> {
        self.runs += 1;
        let number = format!("lamp-bench-{}-{}", std::process::id(), self.runs);
        let words: Vec<_> = self.words.iter().map(|word| word.replace(NUMBER, &number)).collect();
        let begun = Instant::now();
        let output = run(&words)?;
        let took = begun.elapsed();
        succeeded(&words, &output)?;
        Ok(took)
    }
}

/// Everything that can be measured here, and everything that cannot. They keep their files in `at`.
pub async fn all(at: &Path) -> anyhow::Result<(Vec<Rival>, Vec<Missing>)> {
    let root = small_root(at)?;
    let tried = [
        ("unshare", unshare()),
        ("bwrap", bubblewrap()),
        ("crun run", crun(at, &root)),
        ("runc run", runc(at, &root)),
        ("podman run", podman(at, &root)),
        ("docker run", docker(at, &root).await),
    ];
    let (mut rivals, mut missing) = (Vec::new(), Vec::new());
    for (name, made) in tried {
        // One run that does not count: whatever is loaded at the first time is loaded then.
        let warmed = made.and_then(|mut rival| rival.measure().map(|_| rival));
        match warmed {
            Ok(rival) => rivals.push(rival),
            Err(error) => missing.push(Missing { name, reason: format!("{error:#}") }),
        }
    }
    Ok((rivals, missing))
}

fn rival(name: &'static str, every: usize, lacks: &'static str, words: &[&str]) -> Rival {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    Rival { name, lacks, every, words, runs: 0, _daemon: None, _hierarchy: None, _state: None }
}

#[expect(clippy::unnecessary_wraps, reason = "all of them may be missing")]
fn unshare() -> anyhow::Result<Rival> {
    let words = [
        "unshare",
        "--fork",
        "--kill-child",
        "--pid",
        "--mount",
        "--mount-proc",
        "--net",
        "--ipc",
        "--uts",
        "--cgroup",
        "--user",
        "--map-root-user",
        PROGRAM,
    ];
    Ok(rival("unshare", 1, "namespaces alone: no root of its own, no limits, no filter", &words))
}

#[expect(clippy::unnecessary_wraps, reason = "all of them may be missing")]
fn bubblewrap() -> anyhow::Result<Rival> {
    let words = [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        PROGRAM,
    ];
    Ok(rival("bwrap --unshare-all", 1, "no limits, no filter, nothing writable kept", &words))
}

fn runc(at: &Path, root: &Path) -> anyhow::Result<Rival> {
    let bundle = bundle(at, root)?;
    let state = text(&at.join("runc"));
    let words = ["runc", "--root", &state, "run", "--bundle", &bundle, NUMBER];
    Ok(rival("runc run", 2, "a read-only root, no overlay", &words))
}

fn crun(at: &Path, root: &Path) -> anyhow::Result<Rival> {
    let bundle = bundle(at, root)?;
    let state = text(&at.join("crun"));
    let words = ["crun", "--root", &state, "run", "--bundle", &bundle, NUMBER];
    let mut crun = rival("crun run", 2, "a read-only root, no overlay", &words);
    let first = crun.measure();
    let Err(refused) = &first else { return Ok(crun) };
    // It refuses a host with controllers in both hierarchies. The one that is in the new hierarchy on such a host
    // is taken out of it for as long as crun is measured.
    ensure!(format!("{refused:#}").contains("hybrid"), "{refused:#}");
    Ok(Rival { _hierarchy: Some(Mounted::hugetlb(at)?), ..crun })
}

fn podman(at: &Path, root: &Path) -> anyhow::Result<Rival> {
    let archive = archive(at, root)?;
    // It allows no more than 50 characters here.
    let state = tempfile::Builder::new().prefix("podman").tempdir()?;
    let (storage, runs) = (text(&at.join("podman")), text(state.path()));
    let program = [
        "podman",
        "--root",
        &storage,
        "--runroot",
        &runs,
        "--cgroup-manager",
        "cgroupfs",
        "--runtime",
        "runc",
        "--events-backend",
        "none",
    ];
    let import = [&program[..], &["import", &archive, IMAGE]].concat();
    succeeded(&import, &run(&import)?)?;
    let limits = ["--memory", "1g", "--cpus", "1", "--pids-limit", "512"];
    // Without the right to raise limits, its own defaults cannot be set.
    let files = ["--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1024:4096"];
    let once = ["run", "--rm", "--network", "none"];
    let words = [&program[..], &once, &limits, &files, &[IMAGE, PROGRAM]].concat();
    let podman = rival("podman run --rm --network none", 10, "", &words);
    Ok(Rival { _state: Some(state), ..podman })
}

async fn docker(at: &Path, root: &Path) -> anyhow::Result<Rival> {
    let archive = archive(at, root)?;
    let daemon = Daemon::start(&at.join("docker")).await?;
    let socket = daemon.socket();
    // A newer client beside Debian's daemon would not speak with it.
    let client = if Path::new("/usr/bin/docker").exists() { "/usr/bin/docker" } else { "docker" };
    let program = [client, "--host", &socket];
    let import = [&program[..], &["import", &archive, IMAGE]].concat();
    succeeded(&import, &run(&import)?)?;
    let once = ["run", "--rm", "--network", "none"];
    let limits = ["--memory", "1g", "--cpus", "1", "--pids-limit", "512"];
    let words = [&program[..], &once, &limits, &[IMAGE, PROGRAM]].concat();
    let docker = rival("docker run --rm --network none", 10, "", &words);
    Ok(Rival { _daemon: Some(daemon), ..docker })
}

/// A root with the one program and what it needs: as little as an image can be.
fn small_root(at: &Path) -> anyhow::Result<PathBuf> {
    let root = at.join("root");
    for directory in ["proc", "dev", "sys", "tmp", "etc"] {
        fs::create_dir_all(root.join(directory))?;
    }
    let needed = Command::new("ldd").arg(PROGRAM).output().context("ldd")?;
    let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
    let libraries = needed.split_whitespace().filter(|word| word.starts_with('/'));
    for file in libraries.chain([PROGRAM]) {
        let inside = root.join(file.trim_start_matches('/'));
        fs::create_dir_all(inside.parent().context("a file in no directory")?)?;
        fs::copy(file, inside)?;
    }
    Ok(root)
}

fn archive(at: &Path, root: &Path) -> anyhow::Result<String> {
    let archive = text(&at.join("root.tar"));
    let words = ["tar", "-C", &text(root), "-cf", &archive, "."];
    succeeded(&words, &run(&words)?)?;
    Ok(archive)
}

/// What `runc` and `crun` read.
fn bundle(at: &Path, root: &Path) -> anyhow::Result<String> {
    let bundle = at.join("bundle");
    fs::create_dir_all(&bundle)?;
    fs::write(bundle.join("config.json"), CONFIG.replace("ROOT", &text(root)))?;
    Ok(text(&bundle))
}

const CONFIG: &str = r#"{
  "ociVersion": "1.0.2",
  "process": {
    "terminal": false, "user": {"uid": 0, "gid": 0}, "args": ["/bin/true"], "env": ["PATH=/bin"], "cwd": "/",
    "noNewPrivileges": true, "capabilities": {"bounding": [], "effective": [], "permitted": []}
  },
  "root": {"path": "ROOT", "readonly": true},
  "hostname": "bench",
  "mounts": [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
    {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}
  ],
  "linux": {
    "resources": {
      "memory": {"limit": 1073741824}, "cpu": {"quota": 100000, "period": 100000}, "pids": {"limit": 512}
    },
    "namespaces": [
      {"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "cgroup"}
    ],
    "cgroupsPath": "/lamp-bench"
  }
}"#;

/// A control group hierarchy that is mounted for a while.
#[derive(Debug)]
struct Mounted {
    at: PathBuf,
}

impl Mounted {
    fn hugetlb(at: &Path) -> anyhow::Result<Self> {
        let at = at.join("hugetlb");
        fs::create_dir_all(&at)?;
        let words = ["mount", "-t", "cgroup", "-o", "hugetlb", "none", &text(&at)];
        succeeded(&words, &run(&words)?)?;
        Ok(Self { at })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

fn run(words: &[impl AsRef<str>]) -> anyhow::Result<Output> {
    let (program, arguments) = words.split_first().context("no program")?;
    let arguments = arguments.iter().map(AsRef::as_ref);
    let mut command = Command::new(program.as_ref());
    // Some are where only root looks.
    command.args(arguments).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    match command.output() {
        Ok(output) => Ok(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("`{}` is not installed", program.as_ref())
        }
        Err(error) => Err(error).with_context(|| program.as_ref().to_owned()),
    }
}

fn succeeded(words: &[impl AsRef<str>], output: &Output) -> anyhow::Result<()> {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let program = words.first().map_or("", AsRef::as_ref);
    ensure!(output.status.success(), "{program} ended with {}: {said}", output.status);
    Ok(())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
