//! A remote, a host with a mirror of it, and a checkout that stands for what is in a sandbox.

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use contracts::{
    Key,
    forge::{Delivery, Taking, Workflows},
    sandbox::HandedOver,
};
use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
    id::{SandboxId, TaskId},
    time::Timestamp,
};
use evidence::keys::SealKey;
use forges::{
    Custom, GitHost, Identity, PlainGit,
    inspection::{KnownSecrets, Limits, Submodules},
};
use git::{FetchLimits, Mirrors};
use testkit::ssh::Ssh;
use zeroize::Zeroizing;

use crate::sandboxes::{Directory, Inside};

pub(crate) const SANDBOX: SandboxId = SandboxId::from_u128(5);

pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    /// The checkout's commit.
    pub(crate) base: CommitId,
}

impl Fixture {
    /// A bare remote with one commit on `trunk`, and a checkout of it.
    pub(crate) fn new() -> Self {
        Self::named_by("sha1")
    }

    /// The same, with this hash for the names of objects.
    pub(crate) fn named_by(hash: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let format = format!("--object-format={hash}");
        git_in(directory.path(), &["init", "--quiet", "--initial-branch=trunk", &format, "work"]);
        let work = directory.path().join("work");
        fs::write(work.join("README.md"), "hello\n").unwrap();
        fs::create_dir(work.join("src")).unwrap();
        fs::write(work.join("src/main.rs"), "fn main() {}\n").unwrap();
        fs::write(work.join(".gitignore"), "target\n").unwrap();
        git_in(&work, &["add", "."]);
        git_in(&work, &["commit", "--quiet", "-m", "begin"]);
        git_in(directory.path(), &["clone", "--quiet", "--bare", "work", "remote.git"]);
        let base = git_in(&work, &["rev-parse", "HEAD"]).parse().unwrap();
        Self { directory, base }
    }

    /// Another one like it, as it was at the beginning, for less than it takes to make one.
    pub(crate) fn like(first: &Self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .args(["-a", "work", "remote.git"])
            .arg(directory.path())
            .current_dir(first.directory.path())
            .status();
        assert!(copied.unwrap().success());
        Self { directory, base: first.base.clone() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file of the checkout, as the agent.
    pub(crate) fn change(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path("work").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The checkout's work, as it is to be taken.
    pub(crate) fn taking(&self) -> Taking {
        Taking {
            sandbox: SANDBOX,
            repository: repository(),
            directory: self.path("work").display().to_string(),
            base: self.base.clone(),
            parent: self.base.clone(),
            at: Timestamp::from_millis(1_700_000_000_000),
            message: "Do it\n\nBecause.\n\nLamp-Task: t_1\n".to_owned(),
            workflows: Workflows::NeedApproval,
        }
    }

    /// The same, after a commit of the task's own.
    pub(crate) fn taking_after(&self, parent: &CommitId) -> Taking {
        Taking { parent: parent.clone(), ..self.taking() }
    }

    pub(crate) fn git(&self, place: &str, arguments: &[&str]) -> String {
        git_in(&self.path(place), arguments)
    }

    /// What a ref of the remote is at.
    pub(crate) fn far(&self, name: &str) -> Option<String> {
        let arguments = ["for-each-ref", "--format=%(objectname)", name];
        Some(self.git("remote.git", &arguments)).filter(|at| !at.is_empty())
    }

    pub(crate) fn refs(&self) -> Vec<String> {
        let said = self.git("remote.git", &["for-each-ref", "--format=%(refname)"]);
        said.lines().map(str::to_owned).collect()
    }

    /// A person commits on a branch of the remote, from a clone of their own.
    pub(crate) fn person_pushes(&self, branch: &str, file: &str, content: &str) -> CommitId {
        let clone = tempfile::tempdir_in(self.directory.path()).unwrap();
        let from = self.path("remote.git").display().to_string();
        git_in(clone.path(), &["clone", "--quiet", &from, "."]);
        git_in(clone.path(), &["checkout", "--quiet", branch]);
        fs::write(clone.path().join(file), content).unwrap();
        git_in(clone.path(), &["add", "."]);
        git_in(clone.path(), &["commit", "--quiet", "-m", "by hand"]);
        git_in(clone.path(), &["push", "--quiet", "origin", branch]);
        git_in(clone.path(), &["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn forge(&self) -> Forge {
        self.forge_named("host", Path::new("git"))
    }

    /// A server with mirrors of its own, and this program as git.
    pub(crate) fn forge_named(&self, host: &str, program: &Path) -> Forge {
        let address = self.path("remote.git").display().to_string();
        self.mirror(host, Path::new("git"), &address);
        self.opened(host, program)
    }

    pub(crate) fn forge_at(&self, host: &str, address: &str) -> Forge {
        self.mirror(host, Path::new("git"), address);
        self.opened(host, Path::new("git"))
    }

    /// The same over SSH.
    pub(crate) fn forge_over(&self, ssh: &Ssh) -> Forge {
        self.mirror("host", &ssh.program(), &ssh.address(&self.path("remote.git")));
        self.opened("host", &ssh.program())
    }

    fn mirrors(&self, host: &str, program: &Path) -> Mirrors {
        Mirrors::open(&self.path(host), program, FetchLimits::default()).unwrap()
    }

    /// A mirror that was fetched once, before anything is tried.
    fn mirror(&self, host: &str, program: &Path, address: &str) {
        let mirrors = self.mirrors(host, program);
        if mirrors.known(&repository()).is_ok() {
            return;
        }
        let fetching = async {
            mirrors.register(&repository(), address).await.unwrap();
            mirrors.fetch(&repository(), None).await.unwrap();
        };
        // Tests begin in the midst of a runtime that must not be waited in.
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
        let waiting = || runtime().unwrap().block_on(fetching);
        std::thread::scope(|scope| scope.spawn(waiting).join().unwrap());
    }

    fn opened(&self, host: &str, program: &Path) -> Forge {
        let mirrors = self.mirrors(host, program);
        let keys = self.path(host).join("keys");
        fs::create_dir_all(&keys).unwrap();
        let seed = Zeroizing::new(*Digest::of(host.as_bytes()).as_bytes());
        let custom = Custom {
            author: Identity { name: "Ann".to_owned(), email: "ann@example.com".to_owned() },
            committer: Identity { name: "Lamp".to_owned(), email: "lamp@example.com".to_owned() },
            signing_key: None,
            limits: Limits::default(),
            submodules: Submodules::default(),
        };
        let sandboxes = Directory::showing(mirrors.root());
        let host = GitHost {
            mirrors,
            secrets: Arc::new(Words(vec!["hunter2".to_owned()])),
            seal: SealKey::open(&keys, &seed).unwrap(),
            custom,
            clock: Arc::new(|| Timestamp::from_millis(1_700_000_100_000)),
        };
        Forge::open(host, sandboxes)
    }
}

pub(crate) fn repository() -> RepositoryName {
    "acme/web".parse().unwrap()
}

pub(crate) const fn key(seq: u64) -> Key {
    Key { task: TaskId::from_u128(1), seq, part: "change", number: 0 }
}

pub(crate) fn delivery(commit: &CommitId) -> Delivery {
    Delivery {
        repository: repository(),
        branch: "agent/x".parse().unwrap(),
        commit: commit.clone(),
        base: "trunk".to_owned(),
        earlier: None,
        ours: vec![commit.clone()],
        title: "Fix it".to_owned(),
        body: "Because.".to_owned(),
    }
}

/// A forge, and what a test looks at beside it.
pub(crate) struct Forge {
    host: GitHost,
    sandboxes: Directory,
    plain: PlainGit<Directory>,
    mirror: PathBuf,
}

impl Forge {
    fn open(host: GitHost, sandboxes: Directory) -> Self {
        let plain = PlainGit::open(host.clone(), sandboxes.clone()).unwrap();
        let mirror = host.mirrors.known(&repository()).unwrap().path;
        Self { host, sandboxes, plain, mirror }
    }

    pub(crate) fn is(&self, inside: Inside) {
        *self.sandboxes.inside.lock().unwrap() = inside;
    }

    /// What was in the checkout before the agent began.
    pub(crate) fn was_handed_over(&self, handed: HandedOver) {
        *self.sandboxes.handed.lock().unwrap() = handed;
    }

    pub(crate) fn commands(&self) -> Vec<String> {
        self.sandboxes.names.lock().unwrap().clone()
    }

    /// Changes what is the custom here.
    pub(crate) fn decides(&mut self, change: impl FnOnce(&mut Custom)) {
        change(&mut self.host.custom);
        *self = Self::open(self.host.clone(), self.sandboxes.clone());
    }

    pub(crate) fn mirror_path(&self) -> &Path {
        &self.mirror
    }

    pub(crate) fn leftovers(&self) -> usize {
        fs::read_dir(self.host.mirrors.root().join("takings")).unwrap().count()
    }
}

impl Deref for Forge {
    type Target = PlainGit<Directory>;

    fn deref(&self) -> &Self::Target {
        &self.plain
    }
}

pub(crate) struct Words(Vec<String>);

impl KnownSecrets for Words {
    fn is_in(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        self.0.iter().any(|word| text.contains(word.as_str()))
    }
}

/// A person's git, with no settings of this machine.
pub(crate) fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let output = person(directory).args(arguments).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn person(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=P", "-c", "user.email=p@example.com"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(directory);
    command
}
