//! The steps of a checkout, done with plain git in a directory instead of a sandbox.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use contracts::sandbox::Checkout;
use domain::code::{Access, CommitId};

use git::Mirrors;

use super::{Bench, git_in};
use crate::repositories::{Checkouts, Head, Place, Step};

/// Does the steps as nobody, if we are root: then nothing of the host can be written.
fn play(steps: &[Step]) {
    for step in steps {
        match step {
            Step::Write { path, content, mode } => {
                fs::write(path, content).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Step::Run { argv, directory, environment } => {
                let mut command = Command::new(&argv[0]);
                command.args(&argv[1..]).current_dir(directory).env_clear().envs(environment);
                command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
                if rustix::process::geteuid().is_root() {
                    command.uid(65_534).gid(65_534);
                }
                let output = command.output().unwrap();
                assert!(
                    output.status.success(),
                    "{argv:?}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        }
    }
}

/// A sandbox's view of one repository.
struct Inside {
    bench: Bench,
    mirrors: Mirrors,
    place: Place,
}

impl Inside {
    async fn new(prepare: impl FnOnce(&Bench) -> CommitId) -> Self {
        let bench = Bench::new();
        let commit = prepare(&bench);
        let (mirrors, web) = (bench.mirrors(), "acme/web".parse().unwrap());
        mirrors.register(&web, &bench.source()).await.unwrap();
        mirrors.fetch(&web, None).await.unwrap();
        // What a bind does for the sandbox, a link and open doors do here.
        for path in [bench.directory.path(), &bench.path("mirrors")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(bench.path("inside/workspace")).unwrap();
        fs::create_dir_all(bench.path("inside/git/0")).unwrap();
        std::os::unix::fs::symlink(mirrors.objects(&web), bench.path("inside/git/0/objects"))
            .unwrap();
        fs::set_permissions(bench.path("inside/workspace"), fs::Permissions::from_mode(0o777))
            .unwrap();
        let checkouts = Checkouts {
            workspace: bench.path("inside/workspace").display().to_string(),
            mirrors: bench.path("inside/git").display().to_string(),
        };
        let source = Checkout { repository: web, commit, access: Access::Write };
        let place = checkouts.places(&[source]).remove(0);
        Self { bench, mirrors, place }
    }

    fn directory(&self) -> &Path {
        Path::new(&self.place.directory)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let trusting = format!("safe.directory={}", self.place.directory);
        let all: Vec<&str> =
            ["-c", &trusting].into_iter().chain(arguments.iter().copied()).collect();
        git_in(self.directory(), &all)
    }
}

fn everything_below(path: &Path) -> BTreeMap<PathBuf, u64> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            all.extend(everything_below(&entry.path()));
        } else {
            all.insert(entry.path(), entry.metadata().unwrap().len());
        }
    }
    all
}

#[tokio::test]
async fn a_fresh_checkout_is_clean_borrows_its_history_and_knows_no_remote() {
    let inside = Inside::new(|bench| bench.commit("two")).await;
    let before = everything_below(&inside.mirrors.objects(&inside.place.repository));
    play(&inside.place.fresh(&Head::Detached));
    assert_eq!(fs::read_to_string(inside.directory().join("file")).unwrap(), "two");
    assert_eq!(inside.git(&["status", "--porcelain"]), "");
    assert_eq!(inside.git(&["rev-parse", "HEAD"]), inside.place.commit.as_str());
    assert_eq!(inside.git(&["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(inside.git(&["remote"]), "");
    assert!(!inside.git(&["config", "--list", "--local"]).contains(&inside.bench.source()));
    assert_eq!(
        everything_below(&inside.directory().join(".git/objects")).len(),
        1,
        "alternates alone"
    );

    // The agent commits: into its own objects, not into the mirror's.
    fs::write(inside.directory().join("file"), "mine").unwrap();
    inside.git(&["commit", "--quiet", "-a", "-m", "mine"]);
    assert_eq!(everything_below(&inside.mirrors.objects(&inside.place.repository)), before);
    assert!(everything_below(&inside.directory().join(".git/objects")).len() > 1);
}

#[tokio::test]
async fn a_checkout_can_be_on_a_branch_of_its_own() {
    let inside = Inside::new(|bench| bench.commit("two")).await;
    play(&inside.place.fresh(&Head::Branch("agent/fix".parse().unwrap())));
    assert_eq!(inside.git(&["symbolic-ref", "HEAD"]), "refs/heads/agent/fix");
    assert_eq!(inside.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn another_commit_keeps_what_the_setup_made_and_drops_changes_to_tracked_files() {
    let mut inside = Inside::new(|bench| {
        let first = bench.commit("first");
        fs::write(bench.path("source/later"), "tracked").unwrap();
        bench.commit("second");
        first
    })
    .await;
    play(&inside.place.fresh(&Head::Detached));
    fs::write(inside.directory().join("file"), "changed by the setup").unwrap();
    fs::write(inside.directory().join("later"), "in the way").unwrap();
    fs::write(inside.directory().join("built"), "by the setup").unwrap();
    inside.place.commit = inside.mirrors.resolve(&inside.place.repository, "trunk").await.unwrap();
    play(&inside.place.renewed(&Head::Detached));
    let read = |file: &str| fs::read_to_string(inside.directory().join(file)).unwrap();
    assert_eq!((read("file").as_str(), read("later").as_str()), ("second", "tracked"));
    assert_eq!(inside.git(&["status", "--porcelain"]), "?? built");
    play(&inside.place.settled());
    assert_eq!(inside.git(&["status", "--porcelain"]), "?? built");
}

#[tokio::test]
async fn modules_and_filters_of_a_repository_are_not_followed() {
    let inside = Inside::new(|bench| {
        fs::write(
            bench.path("source/.gitattributes"),
            "*.bin filter=lfs diff=lfs merge=lfs -text\n",
        )
        .unwrap();
        fs::write(bench.path("source/large.bin"), "version https://git-lfs.example/spec/v1\n")
            .unwrap();
        fs::write(
            bench.path("source/.gitmodules"),
            "[submodule \"x\"]\n\tpath = x\n\turl = /nowhere\n",
        )
        .unwrap();
        let commit = bench.commit("with modules");
        let entry = format!("160000,{commit},x");
        bench.git(&["-C", "source", "update-index", "--add", "--cacheinfo", &entry]);
        bench.git(&["-C", "source", "commit", "--quiet", "-m", "module"]);
        bench.git(&["-C", "source", "rev-parse", "HEAD"]).parse().unwrap()
    })
    .await;
    play(&inside.place.fresh(&Head::Detached));
    assert!(fs::read_dir(inside.directory().join("x")).unwrap().next().is_none());
    assert!(
        fs::read_to_string(inside.directory().join("large.bin")).unwrap().starts_with("version")
    );
}

#[tokio::test]
async fn the_same_commit_again_changes_nothing() {
    let inside = Inside::new(|bench| bench.commit("two")).await;
    play(&inside.place.fresh(&Head::Detached));
    play(&inside.place.renewed(&Head::Detached));
    assert_eq!(inside.git(&["status", "--porcelain"]), "");
    assert_eq!(inside.git(&["rev-parse", "HEAD"]), inside.place.commit.as_str());
}
