//! A house with real mirrors and real git: a person's repository, from its head to a merged pull request.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use ::secrets::{
    binding::{Binding, Exposure},
    keeper::{Entry, Master},
    randomness::SystemRandomness,
};
use contracts::{
    Key,
    forge::{
        Author, Delivery, ForgeError, Forges as _, Merge, PullError, PullRequests as _, PullState,
        Taking, Workflows,
    },
    ids::SystemIds,
    sandbox::{Checkout, Compute, Ended, Hooks, Owner, Sandboxes as _, Spec, Use, WorkspaceAccess},
    secret::SecretValue,
};
use domain::{
    agent::Tier,
    code::{Access, CommitId, PullRequestNumber, RepositoryName},
    id::{SandboxId, TaskId},
    time::Timestamp,
};
use forges::Identity;
use git::FetchLimits;
use sandbox::{PoolSettings, Retention, Settings, Walls};
use testkit::{ledger::Ledger, shell, world::ScriptedSandboxes};

use super::*;

const SANDBOX: SandboxId = SandboxId::from_u128(1);
const VALUE: &str = "a-value-nobody-may-see";
const ONE: PullRequestNumber = PullRequestNumber(1);

/// As an operator's file says.
fn names() -> Names {
    let author = Identity { name: "Ann Example".to_owned(), email: "ann@example.com".to_owned() };
    Names { author, ..Names::default() }
}

/// A server's data, and a repository that somebody works in.
struct Bench {
    directory: tempfile::TempDir,
    mirrors: Mirrors,
    keeper: Keeper,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let mirrors = root.join("mirrors");
        let mirrors = Mirrors::open(&mirrors, Path::new("git"), FetchLimits::default()).unwrap();
        let master = Master::File(root.join("master.key"));
        let keeper = Keeper::open(root.join("secrets"), master, SystemRandomness).unwrap();
        let bench = Self { directory, mirrors, keeper };
        fs::create_dir(bench.work()).unwrap();
        bench.git(&["init", "--quiet", "--initial-branch=trunk"]);
        fs::write(bench.work().join("README.md"), "hello\n").unwrap();
        bench.git(&["add", "."]);
        bench.git(&["commit", "--quiet", "-m", "begin"]);
        bench
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.work(), arguments)
    }

    fn forge(&self) -> PlainGit<ScriptedSandboxes> {
        let ledger = Ledger::open(self.directory.path().join("ledger")).unwrap();
        let host = host(self.mirrors.clone(), &self.keeper, self.seal(), names());
        PlainGit::open(host, ScriptedSandboxes::new(ledger)).unwrap()
    }

    fn seal(&self) -> SealKey {
        super::super::keys::open_seal(self.directory.path()).unwrap()
    }

    /// A commit that came out of a sandbox.
    fn taken(&self, parent: &CommitId) -> CommitId {
        let mirror = self.mirrors.known(&web()).unwrap().path;
        let blob = self.directory.path().join("blob");
        fs::write(&blob, "better\n").unwrap();
        let blob = git(&mirror, &["hash-object", "-w", &blob.display().to_string()]);
        let index = self.directory.path().join("index");
        let entry = format!("100644,{blob},README.md");
        let staged = |arguments: &[&str]| {
            let ran = person(&mirror).env("GIT_INDEX_FILE", &index).args(arguments).output();
            String::from_utf8(ran.unwrap().stdout).unwrap().trim().to_owned()
        };
        staged(&["update-index", "--add", "--cacheinfo", &entry]);
        let tree = staged(&["write-tree"]);
        let commit = ["commit-tree", "-m", "better", "-p", parent.as_str(), &tree];
        git(&mirror, &commit).parse().unwrap()
    }
}

fn person(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=P", "-c", "user.email=p@example.com"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory);
    command
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let ran = person(directory).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

fn web() -> RepositoryName {
    "acme/web".parse().unwrap()
}

const fn key(seq: u64) -> Key {
    Key { task: TaskId::from_u128(1), seq, part: "step", number: 0 }
}

fn taking(base: &CommitId, sandbox: SandboxId) -> Taking {
    Taking {
        sandbox,
        repository: web(),
        directory: "/workspace/web".to_owned(),
        base: base.clone(),
        parent: base.clone(),
        at: Timestamp::from_millis(0),
        message: "Do it\n".to_owned(),
        workflows: Workflows::NeedApproval,
    }
}

#[tokio::test]
async fn a_repository_on_a_laptop_goes_from_its_head_to_a_merged_pull_request() {
    let bench = Bench::new();
    let forge = bench.forge();
    assert_eq!(forge.head(&web()).await, Err(ForgeError::NoRepository(web())));
    bench.mirrors.register(&web(), &bench.work().display().to_string()).await.unwrap();
    let base = forge.head(&web()).await.unwrap();
    assert_eq!(base.as_str(), bench.git(&["rev-parse", "HEAD"]));
    let files = forge.files(&web(), &base, |_| true).await.unwrap();
    assert_eq!(files.contents["README.md"], b"hello\n");

    let commit = bench.taken(&base);
    let delivery = Delivery {
        repository: web(),
        branch: "agent/x".parse().unwrap(),
        commit: commit.clone(),
        base: forge.base(&web()).await.unwrap(),
        earlier: None,
        ours: vec![commit.clone()],
        title: "Better".to_owned(),
        body: "Because.".to_owned(),
    };
    let pull = forge.deliver(key(1), &delivery).await.unwrap();
    assert_eq!(pull.address, "lamp pr get 1 --repo acme/web");
    assert_eq!(bench.git(&["rev-parse", "agent/x"]), commit.as_str());
    forge.note(&web(), &commit, b"why").await.unwrap();

    let base = bench.git(&["branch", "--show-current"]);
    let merge = Merge { head: commit.clone(), base, by: Author::Person("ann".to_owned()) };
    fs::write(bench.work().join("README.md"), "mine\n").unwrap();
    let error = forge.merge(&web(), ONE, &merge).await.unwrap_err();
    assert!(matches!(error, PullError::Rejected { .. }), "{error}");
    assert!(error.to_string().contains("commit or stash them"), "{error}");
    bench.git(&["checkout", "--quiet", "README.md"]);
    forge.merge(&web(), ONE, &merge).await.unwrap();
    assert_eq!(fs::read_to_string(bench.work().join("README.md")).unwrap(), "better\n");
    let pull = forge.pull(&web(), ONE).await.unwrap();
    assert!(matches!(pull.state, PullState::Merged { .. }));
    assert_eq!(forge.head(&web()).await.unwrap(), commit, "the next task begins there");
}

fn keep_secret(keeper: &Keeper) {
    let binding =
        Binding { hosts: vec![], places: vec![], agents: vec![], exposure: Exposure::Environment };
    let value = SecretValue::new(VALUE.to_owned());
    let entry = Entry { name: "A".parse().unwrap(), value, binding, note: String::new() };
    keeper.set(entry, Timestamp::from_millis(0)).unwrap();
}

#[test]
fn a_value_that_is_kept_is_found_however_it_is_written() {
    let bench = Bench::new();
    let values = Values(bench.keeper.clone());
    assert!(!values.is_in(VALUE.as_bytes()), "nobody keeps it yet");
    keep_secret(&bench.keeper);
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, VALUE);
    for text in [VALUE.to_owned(), format!("x = \"{base64}\""), VALUE.replace('-', "%2d")] {
        assert!(values.is_in(text.as_bytes()), "{text}");
    }
    assert!(!values.is_in(b"harmless"));
}

async fn provider(at: &Path) -> Provider {
    let settings = Settings {
        data: at.join("data"),
        run: at.join("run"),
        toolchains: Vec::new(),
        tools: sandbox::Tools::default(),
        disk_bytes: 2 << 30,
        disk_guaranteed_bytes: 32 << 20,
        retention: Retention::default(),
        pool: PoolSettings { most_of_a_kind: 0, ..PoolSettings::default() },
        walls: Walls::ByTier,
        road: None,
        clock: Arc::new(|| SystemClock.now()),
        ids: Arc::new(SystemIds),
    };
    Provider::start(settings).await.unwrap()
}

async fn opened(provider: &Provider, base: &CommitId) {
    let tiers = provider.capabilities().tiers;
    let tier = if tiers.contains(&Tier::Standard) { Tier::Standard } else { Tier::Verified };
    let source = Checkout { repository: web(), commit: base.clone(), access: Access::Write };
    let spec = Spec {
        id: SANDBOX,
        name: None,
        owner: Owner::Task(TaskId::from_u128(1)),
        purpose: Use::Person,
        image: "host".to_owned(),
        tier,
        compute: Compute { memory_mib: 512, disk_mib: 64, ..Compute::default() },
        sources: vec![source],
        hooks: Hooks::default(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network: None,
    };
    provider.open(&spec).await.unwrap();
}

/// What an agent does in its checkout.
async fn does(provider: &Provider, script: &str) {
    let command = shell::command(&["/bin/sh", "-euc", script], "/workspace/web");
    let (finished, _said) = shell::run(provider, SANDBOX, script, &command).await.unwrap();
    assert_eq!(finished.ending, Ended::Exited(0), "{script}");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_leaves_a_real_sandbox_as_a_commit_and_what_is_kept_secret_does_not() {
    let bench = Bench::new();
    keep_secret(&bench.keeper);
    // A path of a socket has little room.
    let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let provider = provider(at.path()).await;
    let address = bench.work().display().to_string();
    provider.mirrors().register(&web(), &address).await.unwrap();
    let forge = open(&provider, (&bench.keeper, bench.seal()), names()).unwrap();
    let base = forge.head(&web()).await.unwrap();
    opened(&provider, &base).await;

    does(&provider, "echo better > README.md; git commit -qam mine; echo new > b").await;
    let change = forge.take_change(key(1), &taking(&base, SANDBOX)).await.unwrap();
    assert_eq!(change.paths, ["README.md", "b"]);
    assert_eq!(forge.take_change(key(1), &taking(&base, SANDBOX)).await.unwrap(), change);
    let files = forge.files(&web(), &change.commit, |_| true).await.unwrap();
    assert_eq!(files.contents["README.md"], b"better\n");
    let mirrors = provider.mirrors();
    assert!(mirrors.has(&web(), &change.commit).await.unwrap(), "another sandbox can have it");
    let mirror = mirrors.known(&web()).unwrap().path;
    let shown = Command::new("git")
        .arg("--git-dir")
        .arg(&mirror)
        .args(["show", "-s", "--format=%an <%ae>, %cn <%ce>", change.commit.as_str()])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.trim(), "Ann Example <ann@example.com>, Lamplighter <lamplighter@localhost>");

    does(&provider, &format!("echo {VALUE} | base64 > b")).await;
    let later = Taking { parent: change.commit.clone(), ..taking(&base, SANDBOX) };
    let error = forge.take_change(key(2), &later).await.unwrap_err();
    let ForgeError::Refused { reason } = error else { panic!("{error}") };
    assert_eq!(reason, "`b` holds a value that is kept secret: take it out, and renew the secret");
    // Whoever still has it keeps its disks open.
    drop(forge);
    provider.close().await.unwrap();
}
