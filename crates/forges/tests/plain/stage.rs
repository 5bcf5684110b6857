//! A remote, a host with a mirror of it, and a checkout that stands for what is in a sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use contracts::{
    Key,
    clock::Clock,
    forge::{Delivery, Taking, Workflows},
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    digest::Digest,
    id::{SandboxId, TaskId},
    time::Timestamp,
};
use forges::{
    Custom, Git, House, HouseError, Identity, Mirror, PlainGit, Remote, Transport,
    inspection::{KnownSecrets, Limits, Submodules},
};

use testkit::ssh::Ssh;

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
        self.forge_set_up(host, program, (address, transport), "")
    }

    /// The same over SSH.
    pub(crate) fn forge_over(&self, ssh: &Ssh) -> PlainGit<Host> {
        let address = ssh.address(&self.path("remote.git"));
        // The house's own fetch is the test's, which is not the program that is tried here.
        let way = format!("\tsshCommand = {}\n", ssh.command());
        self.forge_set_up("host", &ssh.program(), (&address, Transport::Ssh), &way)
    }

    fn forge_set_up(
        &self,
        host: &str,
        program: &Path,
        (address, transport): (&str, Transport),
        core: &str,
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
                "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{core}{extension}\
                 [remote \"origin\"]\n\turl = {address}\n\tfetch = +refs/heads/*:refs/heads/*\n"
            );
            fs::write(mirror.join("config"), config).unwrap();
            git_in(&mirror, &["-c", "protocol.allow=always", "fetch", "--quiet", "origin"]);
        }
        let custom = Custom {
            objects: mirror.join("objects").display().to_string(),
            author: Identity { name: "Ann".to_owned(), email: "ann@example.com".to_owned() },
            committer: Identity { name: "Lamp".to_owned(), email: "lamp@example.com".to_owned() },
            signing_key: None,
            limits: Limits::default(),
            submodules: Submodules::default(),
        };
        PlainGit::new(Host {
            git: Git::new(program, &root.join("home")),
            scratch: root.join("scratch"),
            mirror: Mirror {
                path: mirror,
                remote: Remote { name: "origin".to_owned(), transport, secrets: Vec::new() },
            },
            sandboxes: Directory::default(),
            custom: Mutex::new(custom),
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
        base: "trunk".to_owned(),
        earlier: None,
        ours: vec![commit.clone()],
        title: "Fix it".to_owned(),
        body: "Because.".to_owned(),
    }
}

pub(crate) struct Host {
    git: Git,
    scratch: PathBuf,
    mirror: Mirror,
    sandboxes: Directory,
    custom: Mutex<Custom>,
    secrets: Words,
}

impl Host {
    pub(crate) fn is(&self, inside: Inside) {
        *self.sandboxes.inside.lock().unwrap() = inside;
    }

    pub(crate) fn commands(&self) -> Vec<String> {
        self.sandboxes.names.lock().unwrap().clone()
    }

    /// Changes what is the custom here.
    pub(crate) fn decides(&self, change: impl FnOnce(&mut Custom)) {
        change(&mut self.custom.lock().unwrap());
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

    async fn custom(&self, _taking: &Taking) -> Result<Custom, HouseError> {
        Ok(self.custom.lock().unwrap().clone())
    }

    fn seal(&self, bytes: &[u8]) -> Digest {
        Digest::of(&[self.mirror.path.as_os_str().as_encoded_bytes(), b"\0", bytes].concat())
    }

    fn has_sealed(&self, bytes: &[u8], seal: Digest) -> bool {
        self.seal(bytes) == seal
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
