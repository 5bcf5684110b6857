//! A remote, a host with a mirror of it, and a checkout that stands for what is in a sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use contracts::{Key, clock::Clock, forge::Delivery};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::{SandboxId, TaskId},
    time::Timestamp,
};
use forges::{
    Git, House, HouseError, Identity, Message, Mirror, Order, PlainGit, Remote, Transport,
    inspection::{KnownSecrets, Policy},
};

use crate::sandboxes::{Directory, Inside};

pub(crate) const SANDBOX: SandboxId = SandboxId::from_u128(5);

pub(crate) struct Stage {
    directory: tempfile::TempDir,
    /// The checkout's commit.
    pub(crate) base: CommitId,
}

impl Stage {
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

    pub(crate) fn forge(&self) -> PlainGit<Host> {
        self.forge_named("host", Path::new("git"))
    }

    /// A server with a mirror of its own, and this program as git.
    pub(crate) fn forge_named(&self, host: &str, program: &Path) -> PlainGit<Host> {
        let remote = self.path("remote.git");
        let address = remote.display().to_string();
        self.forge_at(host, program, &address, Transport::Directory(remote))
    }

    pub(crate) fn forge_at(
        &self,
        host: &str,
        program: &Path,
        address: &str,
        transport: Transport,
    ) -> PlainGit<Host> {
        let root = self.path(host);
        let mirror = root.join("mirror.git");
        if !mirror.exists() {
            for directory in ["home", "scratch"] {
                fs::create_dir_all(root.join(directory)).unwrap();
            }
            let (version, hash) =
                if self.base.as_str().len() == 64 { (1, "sha256") } else { (0, "sha1") };
            let format = format!("--object-format={hash}");
            git_in(&root, &["init", "--quiet", "--bare", "--template=", &format, "mirror.git"]);
            let extension = match version {
                1 => "[extensions]\n\tobjectFormat = sha256\n",
                _ => "",
            };
            let config = format!(
                "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}\
                 [remote \"origin\"]\n\turl = {address}\n\tfetch = +refs/heads/*:refs/heads/*\n"
            );
            fs::write(mirror.join("config"), config).unwrap();
            git_in(&mirror, &["-c", "protocol.allow=always", "fetch", "--quiet", "origin"]);
        }
        let order = Order {
            directory: self.path("work").display().to_string(),
            objects: mirror.join("objects").display().to_string(),
            base: self.base.clone(),
            parent: self.base.clone(),
            author: Identity { name: "Ann".to_owned(), email: "ann@example.com".to_owned() },
            committer: Identity { name: "Lamp".to_owned(), email: "lamp@example.com".to_owned() },
            at: Timestamp::from_millis(1_700_000_000_000),
            message: Message {
                subject: "Do it".to_owned(),
                body: "Because.".to_owned(),
                trailers: vec![("Lamp-Task".to_owned(), "t_1".to_owned())],
            },
            policy: Policy::default(),
        };
        PlainGit::new(Host {
            git: Git::new(program, &root.join("home")),
            scratch: root.join("scratch"),
            mirror: Mirror {
                path: mirror,
                remote: Remote { name: "origin".to_owned(), transport, secrets: Vec::new() },
            },
            sandboxes: Directory::default(),
            order: Mutex::new(order),
            secrets: Words(vec!["hunter2".to_owned()]),
        })
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
        title: "Fix it".to_owned(),
        body: "Because.".to_owned(),
    }
}

pub(crate) struct Host {
    git: Git,
    scratch: PathBuf,
    mirror: Mirror,
    sandboxes: Directory,
    order: Mutex<Order>,
    secrets: Words,
}

impl Host {
    pub(crate) fn is(&self, inside: Inside) {
        *self.sandboxes.inside.lock().unwrap() = inside;
    }

    pub(crate) fn commands(&self) -> Vec<String> {
        self.sandboxes.names.lock().unwrap().clone()
    }

    pub(crate) fn ordered(&self, change: impl FnOnce(&mut Order)) {
        change(&mut self.order.lock().unwrap());
    }

    pub(crate) fn mirror_path(&self) -> &Path {
        &self.mirror.path
    }

    pub(crate) fn leftovers(&self) -> usize {
        fs::read_dir(&self.scratch).unwrap().count()
    }
}

pub(crate) struct Words(Vec<String>);

impl KnownSecrets for Words {
    fn is_in(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        self.0.iter().any(|word| text.contains(word.as_str()))
    }
}

/// A clock that a test does not need to move.
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_100_000)
    }

    async fn sleep_until(&self, _time: Timestamp) {}
}

impl House for Host {
    type Sandboxes = Directory;
    type Clock = Still;
    type Secrets = Words;
    type Alone = fs::File;

    fn sandboxes(&self) -> &Directory {
        &self.sandboxes
    }

    fn clock(&self) -> &Still {
        &Still
    }

    fn secrets(&self) -> &Words {
        &self.secrets
    }

    fn git(&self) -> &Git {
        &self.git
    }

    fn scratch(&self) -> &Path {
        &self.scratch
    }

    fn mirror(&self, repository: &RepositoryName) -> Result<Mirror, HouseError> {
        if *repository == self::repository() {
            return Ok(self.mirror.clone());
        }
        Err(HouseError::NoRepository(repository.clone()))
    }

    async fn fetch(&self, _repository: &RepositoryName) -> Result<(), HouseError> {
        git_in(
            &self.mirror.path,
            &["-c", "protocol.allow=always", "fetch", "--quiet", "--prune", "origin"],
        );
        git_in(&self.mirror.path, &["symbolic-ref", "HEAD", "refs/heads/trunk"]);
        Ok(())
    }

    async fn alone(&self, _repository: &RepositoryName) -> Result<fs::File, HouseError> {
        let path = self.mirror.path.join("lamp-lock");
        let file = fs::File::options().create(true).append(true).open(path).unwrap();
        let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
        Ok(locked.unwrap().unwrap())
    }

    async fn order(
        &self,
        _key: Key,
        _sandbox: SandboxId,
        _repository: &RepositoryName,
    ) -> Result<Order, HouseError> {
        Ok(self.order.lock().unwrap().clone())
    }

    fn address(&self, repository: &RepositoryName, number: PullRequestNumber) -> String {
        format!("{repository}{number}")
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
