//! Repositories behind the real `git http-backend`, at a host of the toy internet.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;
use tests::internet::{Internet, Reply, Request, text};

/// Bare repositories, each with one commit on `main`.
pub(crate) struct GitServer {
    root: TempDir,
}

/// Who may come in.
#[derive(Debug, Clone)]
pub(crate) enum Gate {
    Open,
    /// Only who brings this in `Authorization`.
    Header(String),
}

impl GitServer {
    pub(crate) fn new(repositories: &[&str]) -> Self {
        let server = Self { root: tempfile::tempdir().unwrap() };
        for name in repositories {
            server.make(name);
        }
        server
    }

    fn make(&self, name: &str) {
        let (bare, work) = (self.path(name), tempfile::tempdir().unwrap());
        let bare = bare.to_str().unwrap();
        git(work.path(), &["init", "--quiet", "--bare", "--initial-branch=main", bare]);
        for key in ["http.receivepack", "receive.advertisePushOptions"] {
            git(Path::new(bare), &["config", key, "true"]);
        }
        git(work.path(), &["init", "--quiet", "--initial-branch=main", "."]);
        std::fs::write(work.path().join("README"), "hello\n").unwrap();
        git(work.path(), &["add", "README"]);
        git(work.path(), &["commit", "--quiet", "-m", "Begin"]);
        git(work.path(), &["push", "--quiet", bare, "main"]);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(format!("{name}.git"))
    }

    /// Serves them at a host.
    pub(crate) fn serve(&self, internet: &Internet, host: &str, gate: &Gate) {
        let (root, gate) = (self.root.path().to_owned(), gate.clone());
        internet.site(host, move |request| match &gate {
            Gate::Header(wanted) if request.header("authorization") != Some(wanted) => {
                let head = "HTTP/1.1 401 Toy\r\nWWW-Authenticate: Basic realm=\"toy\"\r\nContent-Length: 0\r\n\r\n";
                Reply::Bytes(head.into())
            }
            Gate::Open | Gate::Header(_) => backend(&root, request),
        });
    }

    /// Every reference and where it points, and how many objects there are: what a push could have changed.
    pub(crate) fn state(&self, name: &str) -> String {
        let at = self.path(name);
        let references = git(&at, &["for-each-ref", "--format=%(refname) %(objectname)"]);
        let objects = git(&at, &["count-objects", "-v"]);
        format!("{references}{objects}")
    }

    /// The commit of a branch, if it is there.
    pub(crate) fn tip(&self, name: &str, branch: &str) -> Option<String> {
        let pattern = format!("refs/heads/{branch}");
        let told = git(&self.path(name), &["for-each-ref", "--format=%(objectname)", &pattern]);
        Some(told.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// Somebody else commits to `main`.
    pub(crate) fn grow(&self, name: &str) {
        let work = tempfile::tempdir().unwrap();
        let bare = self.path(name);
        git(work.path(), &["clone", "--quiet", bare.to_str().unwrap(), "."]);
        git(work.path(), &["commit", "--quiet", "--allow-empty", "-m", "Grow"]);
        git(work.path(), &["push", "--quiet", "origin", "main"]);
    }
}

/// Git, without anything of the person's who runs the tests.
fn git(at: &Path, words: &[&str]) -> String {
    let output = command(words).current_dir(at).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(words)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{who}_NAME"), "toy").env(format!("{who}_EMAIL"), "toy@example.com");
    }
    command
}

/// The real server, as a web server would start it.
fn backend(root: &Path, request: &Request) -> Reply {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let header = |name| request.header(name).unwrap_or_default();
    let mut running = command(&["http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = running.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(&request.body));
        running.wait_with_output().unwrap().stdout
    });
    let Some(end) = output.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return text(500, "text/plain", "git http-backend said nothing");
    };
    let (head, body) = (String::from_utf8_lossy(&output[..end]), &output[end + 4..]);
    let field = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).map(|it| it.trim().to_owned())
    };
    let status = field("Status:").and_then(|it| it.get(..3)?.parse().ok()).unwrap_or(200);
    text(status, &field("Content-Type:").unwrap_or_default(), body)
}
