//! Images: built once, stood on often, and nothing left of what failed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin fails")]

mod world;

use std::{path::Path, process::Command, time::Duration};

use contracts::sandbox::{
    Base, BuildNews, Checkout, Compute, Ended, Hooks, Image, Owner, Recipe, SandboxError,
    Sandboxes as _, Spec, Use, WorkspaceAccess,
};
use domain::{
    agent::Tier,
    code::{Access, CommitId, RepositoryName},
    id::SandboxId,
};
use sandbox::Provider;
use testkit::shell;
use tokio::sync::mpsc;
use unsupported::unsupported;
use world::World;

fn recipe(sources: Vec<Checkout>, setup: &str) -> Recipe {
    let compute = Compute { memory_mib: 512, disk_mib: 256, ..Compute::default() };
    Recipe { base: Base::Host, sources, setup: Some(setup.to_owned()), compute, network: None }
}

/// Builds, and collects what it tells.
async fn build(
    provider: &Provider,
    recipe: &Recipe,
) -> (Result<Image, SandboxError>, Vec<BuildNews>) {
    let (news, mut told) = mpsc::channel(64);
    let collecting = async {
        let mut all = Vec::new();
        while let Some(one) = told.recv().await {
            all.push(one);
        }
        all
    };
    tokio::join!(provider.prepare_image(recipe, news), collecting)
}

fn spec(provider: &Provider, id: u128, image: &str, sources: Vec<Checkout>) -> Spec {
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
        sources,
        hooks: Hooks::default(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network: None,
    }
}

async fn run(provider: &Provider, id: u128, script: &str) -> (Ended, String) {
    let id = SandboxId::from_u128(id);
    let (finished, said) =
        shell::run(provider, id, script, &shell::script(script, "/")).await.unwrap();
    (finished.ending, said)
}

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

/// A repository with one file, known to the provider.
async fn repository(world: &World) -> (RepositoryName, CommitId) {
    let at = world.at.path().join("origin");
    std::fs::create_dir(&at).unwrap();
    git(&at, "init -q -b main");
    std::fs::write(at.join("readme"), "first\n").unwrap();
    git(&at, "add .");
    git(&at, "commit -q -m first");
    let name: RepositoryName = "acme/web".parse().unwrap();
    let mirrors = world.provider.mirrors();
    mirrors.register(&name, at.to_str().unwrap()).await.unwrap();
    mirrors.fetch(&name, None).await.unwrap();
    let commit = mirrors.resolve(&name, "main").await.unwrap();
    (name, commit)
}

fn checkout(repository: &RepositoryName, commit: &CommitId) -> Checkout {
    Checkout { repository: repository.clone(), commit: commit.clone(), access: Access::Write }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_runs_once_after_checkout_and_every_sandbox_stands_on_it() {
    let world = World::new().await;
    let provider = &world.provider;
    let (name, commit) = repository(&world).await;
    let sources = vec![checkout(&name, &commit)];
    let recipe = recipe(sources.clone(), "cat readme; echo built > made; echo kept > ~/note");

    let (one, two) = tokio::join!(build(provider, &recipe), build(provider, &recipe));
    let image = one.0.unwrap();
    assert_eq!(two.0.unwrap().key, image.key);
    let ran =
        |news: &[BuildNews]| news.iter().filter(|one| matches!(one, BuildNews::Output(_))).count();
    assert!(ran(&one.1).min(ran(&two.1)) == 0, "the script ran twice");
    assert!(ran(&one.1).max(ran(&two.1)) > 0, "the script ran never");
    assert_eq!(image.sources, [format!("acme/web@{commit}")]);

    let built = format!("image:{}", image.key);
    provider.open(&spec(provider, 1, &built, sources.clone())).await.unwrap();
    let script = "cd /workspace/web && cat readme made ~/note && git status --porcelain && id -u \
                  && echo mine > made";
    let (ended, said) = run(provider, 1, script).await;
    assert_eq!((ended, said.as_str()), (Ended::Exited(0), "first\nbuilt\nkept\n?? made\n1000\n"));

    // Nothing that one writes is there for the next, and the image is in use until both are gone.
    provider.open(&spec(provider, 2, &built, Vec::new())).await.unwrap();
    let script = "cat /workspace/web/made && cd /workspace/web && git log --format=%s";
    assert_eq!(run(provider, 2, script).await.1, "built\nfirst\n");
    assert!(provider.prune_images(0).await.unwrap().is_empty());
    assert_eq!(provider.images().await.unwrap().first().unwrap().users, 2);
    for id in [1, 2] {
        provider.destroy(SandboxId::from_u128(id)).await.unwrap();
    }
    assert_eq!(provider.prune_images(0).await.unwrap().len(), 1);
    assert!(provider.images().await.unwrap().is_empty());
    let gone = provider.open(&spec(provider, 3, &built, Vec::new())).await.unwrap_err();
    assert!(matches!(gone, SandboxError::Image { .. }), "{gone}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_is_the_setups_own_while_it_runs_and_the_agents_after() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("only a server of root has setups that run as root");
    }
    let world = World::new().await;
    let provider = &world.provider;
    let recipe =
        recipe(Vec::new(), "test -O ~/.cache; mkdir -p ~/.cache/pip; echo x > ~/.cache/pip/x");
    let image = build(provider, &recipe).await.0.unwrap();
    let built = format!("image:{}", image.key);
    provider.open(&spec(provider, 1, &built, Vec::new())).await.unwrap();
    let said = run(provider, 1, "stat -c %u ~/.cache ~/.cache/pip ~/.cache/pip/x").await;
    assert_eq!(said, (Ended::Exited(0), "1000\n1000\n1000\n".to_owned()));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_brings_its_own_commit_to_an_image_of_another() {
    let world = World::new().await;
    let provider = &world.provider;
    let (name, first) = repository(&world).await;
    let image =
        build(provider, &recipe(vec![checkout(&name, &first)], "touch made")).await.0.unwrap();
    let at = world.at.path().join("origin");
    std::fs::write(at.join("readme"), "second\n").unwrap();
    git(&at, "commit -q -a -m second");
    provider.mirrors().fetch(&name, None).await.unwrap();
    let second = provider.mirrors().resolve(&name, "main").await.unwrap();
    let built = format!("image:{}", image.key);
    provider.open(&spec(provider, 1, &built, vec![checkout(&name, &second)])).await.unwrap();
    let (_, said) =
        run(provider, 1, "cd /workspace/web && cat readme && ls && git rev-parse HEAD").await;
    assert_eq!(said, format!("second\nmade\nreadme\n{second}\n"));

    let id = SandboxId::from_u128(1);
    let inside = provider.objects_inside(id, &name).unwrap();
    let (ended, _) = run(provider, 1, &format!("ls {inside}/pack/*.pack")).await;
    assert_eq!(ended, Ended::Exited(0), "{inside}");
    let other = provider.objects_inside(id, &"acme/api".parse().unwrap());
    assert!(matches!(other, Err(SandboxError::Source { .. })), "{other:?}");

    let missing: CommitId = "a".repeat(40).parse().unwrap();
    let refused = provider.open(&spec(provider, 2, "host", vec![checkout(&name, &missing)])).await;
    assert!(matches!(refused, Err(SandboxError::Source { .. })), "{refused:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_that_fails_hangs_or_fills_the_disk_says_so_and_leaves_nothing() {
    let world = World::new().await;
    let provider = &world.provider;

    let (failed, _) =
        build(provider, &recipe(Vec::new(), "echo before; echo why >&2; exit 3")).await;
    let Err(SandboxError::Setup { reason, log }) = failed else { panic!("{failed:?}") };
    assert_eq!((reason.as_str(), log.as_str()), ("why (it ended with 3)", "before\nwhy\n"));

    let mut hangs = recipe(Vec::new(), "echo waiting; sleep 600");
    hangs.compute.lifetime = Duration::from_secs(2);
    let (hung, _) = build(provider, &hangs).await;
    assert!(matches!(hung, Err(SandboxError::Setup { .. })), "{hung:?}");

    let mut zero = recipe(Vec::new(), "true");
    zero.compute.memory_mib = 0;
    assert!(matches!(build(provider, &zero).await.0, Err(SandboxError::Limit { .. })));

    if rustix::process::geteuid().is_root() {
        let mut small = recipe(Vec::new(), "dd if=/dev/zero of=/workspace/big bs=1M count=64");
        small.compute.disk_mib = 16;
        let (full, _) = build(provider, &small).await;
        let Err(SandboxError::Setup { log, .. }) = full else { panic!("{full:?}") };
        let told = ["No space left", "quota exceeded"].iter().any(|words| log.contains(words));
        assert!(told, "{log}");
    } else {
        unsupported::part("a setup that fills the disk", "only root has disks with a limit");
    }
    assert!(provider.images().await.unwrap().is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_and_a_tar_are_bases_too() {
    let world = World::new().await;
    let provider = &world.provider;
    let root = world.at.path().join("root");
    for directory in ["bin", "etc", "lib", "lib64"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::write(root.join("etc/motd"), "from a directory\n").unwrap();
    copy_static_shell(&root);
    let base = format!("dir:{}", root.display());
    provider.open(&spec(provider, 1, &base, Vec::new())).await.unwrap();
    assert_eq!(run(provider, 1, "cat /etc/motd").await.1, "from a directory\n");

    let tar = world.at.path().join("root.tar");
    let packed = Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(&root).arg(".").status();
    assert!(packed.unwrap().success());
    let base = format!("tar:{}", tar.display());
    provider.open(&spec(provider, 2, &base, Vec::new())).await.unwrap();
    assert_eq!(run(provider, 2, "cat /etc/motd").await.1, "from a directory\n");

    for wrong in ["dir:/nowhere/at/all", "tar:/nowhere.tar", "oci:/nowhere", "nonsense"] {
        let refused = provider.open(&spec(provider, 9, wrong, Vec::new())).await;
        assert!(matches!(refused, Err(SandboxError::Image { .. })), "{wrong}: {refused:?}");
    }
    world.end().await;
}

/// The host's shell and `cat`, with the libraries that they load.
fn copy_static_shell(root: &Path) {
    for program in ["/bin/sh", "/bin/cat"] {
        std::fs::copy(program, root.join(program.trim_start_matches('/'))).unwrap();
        let listed = Command::new("ldd").arg(program).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            let to = root.join(library.trim_start_matches('/'));
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(library, to).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_at_the_turns_of_a_life() {
    let world = World::new().await;
    let provider = &world.provider;
    let (name, commit) = repository(&world).await;
    let hooks = Hooks {
        post_clone: "cp readme ~/cloned".to_owned(),
        post_start: "echo started >> ~/starts".to_owned(),
        pre_teardown: "echo ended >> ~/starts".to_owned(),
    };
    let sources = vec![checkout(&name, &commit)];
    let wanted = Spec { hooks, ..spec(provider, 1, "host", sources.clone()) };
    provider.open(&wanted).await.unwrap();
    assert_eq!(run(provider, 1, "cat ~/cloned ~/starts").await.1, "first\nstarted\n");
    provider.rest(wanted.id).await.unwrap();
    provider.open(&wanted).await.unwrap();
    assert_eq!(run(provider, 1, "cat ~/starts").await.1, "started\nended\nstarted\n");

    let hooks = Hooks { post_start: "echo no; exit 4".to_owned(), ..Hooks::default() };
    let fails = Spec { hooks, ..spec(provider, 2, "host", sources) };
    let Err(SandboxError::Hook { hook, reason }) = provider.open(&fails).await else { panic!() };
    assert_eq!((hook.as_str(), reason.as_str()), ("post_start", "no (it ended with 4)"));
    assert_eq!(provider.list().await.unwrap().len(), 1);
    world.end().await;
}
