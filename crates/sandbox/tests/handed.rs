//! How a repository is handed over: with its tags and its origin, and with what setups and hooks left in it written down outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot begin fails"
)]

mod world;

use std::{path::Path, process::Command};

use contracts::sandbox::{
    Base, Checkout, Compute, Ended, HandedOver, Hooks, Owner, Recipe, Sandboxes as _, Spec, Use,
    WorkspaceAccess,
};
use domain::{
    agent::Tier,
    code::{Access, CommitId, RepositoryName},
    id::SandboxId,
};
use sandbox::Provider;
use testkit::shell;
use tokio::sync::mpsc;
use world::World;

fn git(at: &Path, words: &str) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(words.split(' '))
        .current_dir(at)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with one file and a tag, and one commit behind the tag.
async fn repository(world: &World) -> (RepositoryName, CommitId) {
    let at = world.at.path().join("origin");
    std::fs::create_dir(&at).unwrap();
    git(&at, "init -q -b main");
    std::fs::write(at.join("readme"), "first\n").unwrap();
    git(&at, "add .");
    git(&at, "commit -q -m first");
    git(&at, "tag -a v1.2.0 -m one");
    git(&at, "tag light");
    std::fs::write(at.join("readme"), "second\n").unwrap();
    git(&at, "commit -q -a -m second");
    let name: RepositoryName = "acme/web".parse().unwrap();
    let mirrors = world.provider.mirrors();
    mirrors.register(&name, at.to_str().unwrap()).await.unwrap();
    mirrors.fetch(&name, None).await.unwrap();
    let commit = mirrors.resolve(&name, "main").await.unwrap();
    (name, commit)
}

fn spec(provider: &Provider, id: u128, image: &str, source: &Checkout) -> Spec {
    let tiers = provider.capabilities().tiers;
    let tier = if tiers.contains(&Tier::Standard) { Tier::Standard } else { Tier::Verified };
    Spec {
        id: SandboxId::from_u128(id),
        name: None,
        owner: Owner::Person("ann".to_owned()),
        purpose: Use::Person,
        image: image.to_owned(),
        tier,
        compute: Compute { memory_mib: 512, disk_mib: 64, ..Compute::default() },
        sources: vec![source.clone()],
        hooks: Hooks::default(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network: None,
    }
}

async fn run(provider: &Provider, id: u128, script: &str) -> String {
    let id = SandboxId::from_u128(id);
    let (finished, said) =
        shell::run(provider, id, script, &shell::script(script, "/workspace/web")).await.unwrap();
    assert_eq!(finished.ending, Ended::Exited(0), "{said}");
    said
}

async fn build(provider: &Provider, source: &Checkout, setup: &str) -> String {
    let compute = Compute { memory_mib: 512, disk_mib: 256, ..Compute::default() };
    let (sources, setup) = (vec![source.clone()], Some(setup.to_owned()));
    let recipe = Recipe { base: Base::Host, sources, setup, compute, network: None };
    let (news, mut told) = mpsc::channel(64);
    let listening = async { while told.recv().await.is_some() {} };
    let (built, ()) = tokio::join!(provider.prepare_image(&recipe, news), listening);
    format!("image:{}", built.unwrap().key)
}

fn names(handed: &HandedOver) -> (Vec<&str>, Vec<&str>) {
    let left = handed.touched.iter().map(|one| one.path.as_str()).collect();
    (handed.restored.iter().map(String::as_str).collect(), left)
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_and_origin_are_there_for_agents_and_setups() {
    let world = World::new().await;
    let provider = &world.provider;
    let (repository, commit) = repository(&world).await;
    let source = Checkout { repository, commit: commit.clone(), access: Access::Write };
    provider.open(&spec(provider, 1, "host", &source)).await.unwrap();
    let asked =
        "git describe --tags; git tag; git remote get-url origin; git rev-parse origin/main";
    let said = run(provider, 1, asked).await;
    let expected = format!("v1.2.0-1-g{}", &commit.as_str()[..7]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [&expected, "light", "v1.2.0", "https://origin.invalid/acme/web.git", commit.as_str()]
    );
    let image = build(provider, &source, "git describe --tags > ~/version").await;
    provider.open(&spec(provider, 2, &image, &source)).await.unwrap();
    assert_eq!(
        run(provider, 2, "cat ~/version; git describe --tags").await.trim(),
        format!("{expected}\n{expected}")
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_setup_or_a_hook_left_is_known_outside_and_tracked_files_are_as_in_the_commit() {
    let world = World::new().await;
    let provider = &world.provider;
    let (repository, commit) = repository(&world).await;
    let source = Checkout { repository: repository.clone(), commit, access: Access::Write };
    let image =
        build(provider, &source, "echo changed > readme; echo {} > lock; mkdir d; : > d/x").await;
    provider.open(&spec(provider, 1, &image, &source)).await.unwrap();
    assert_eq!(
        run(provider, 1, "cat readme lock; git status --porcelain").await,
        "second\n{}\n?? d/\n?? lock\n"
    );
    let handed = |id| provider.handed_over(SandboxId::from_u128(id), &repository).unwrap();
    assert_eq!(names(&handed(1)), (vec!["readme"], vec!["d/x", "lock"]));

    // An agent cannot add to it.
    run(
        provider,
        1,
        "echo mine > mine; git add -A; git -c user.name=a -c user.email=a@b commit -qm x",
    )
    .await;
    provider.rest(SandboxId::from_u128(1)).await.unwrap();
    provider.open(&spec(provider, 1, &image, &source)).await.unwrap();
    assert_eq!(names(&handed(1)), (vec!["readme"], vec!["d/x", "lock"]));

    // What a hook leaves is looked for in each sandbox.
    let hooks = Hooks {
        post_clone: "echo hooked > hooked; echo patched > readme".to_owned(),
        ..Hooks::default()
    };
    let hooked = Spec { hooks, ..spec(provider, 2, &image, &source) };
    provider.open(&hooked).await.unwrap();
    assert_eq!(names(&handed(2)), (vec!["readme"], vec!["d/x", "hooked", "lock", "readme"]));

    // Who may not change it has nothing to tell apart.
    let read = Checkout { access: Access::Read, ..source };
    provider.open(&spec(provider, 3, &image, &read)).await.unwrap();
    assert_eq!(handed(3), HandedOver::default());
    world.end().await;
}
