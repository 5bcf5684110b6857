//! Sandboxes that mean harm. Whatever they say, nothing of it reaches the mirror.

use contracts::forge::{ForgeError, Forges as _};
use forges::{
    TakeError,
    inspection::{Limits, NameFault, Reason, Submodules},
};

use crate::{
    fixture::{Fixture, git_in, key},
    packs::{Forgery, PackWriter},
    sandboxes::Inside,
};

/// What comes of a sandbox that says this.
async fn taken(fixture: &Fixture, said: Vec<u8>) -> TakeError {
    let forge = fixture.forge();
    forge.is(Inside::Says(said, 0));
    let before = everything(fixture);
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert_eq!(everything(fixture), before, "nothing new is in the mirror after: {error}");
    assert_eq!(forge.leftovers(), 0);
    error
}

/// Every object and every ref of the mirror.
fn everything(fixture: &Fixture) -> String {
    let mirror = fixture.path("host/acme+web.git");
    let objects = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
    git_in(&mirror, &objects) + &git_in(&mirror, &["for-each-ref"])
}

fn reason(error: TakeError) -> Reason {
    let TakeError::Refused(mut refused) = error else { panic!("{error}") };
    refused.refusals.remove(0).reason
}

/// A tree with one more entry, beside the base's own.
fn with_entry(forgery: &Forgery, mode: &str, name: &[u8], object: &str) -> String {
    forgery.tree(&[(mode, name, object)])
}

#[tokio::test]
async fn names_that_are_gits_own_are_refused_in_every_spelling() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let blob = forgery.blob(b"[core]\n\tfsmonitor = evil\n");
    for name in
        [".git", ".GIT", ".Git ", ".git.", "git~1", ".g\u{200c}it", ".git::$INDEX_ALLOCATION"]
    {
        let inner = forgery.tree(&[("100644", b"config", &blob)]);
        let tree = with_entry(&forgery, "40000", name.as_bytes(), &inner);
        let error = taken(&fixture, forgery.says(&tree, &[&tree, &inner, &blob])).await;
        assert_eq!(reason(error), Reason::Name(NameFault::DotGit), "{name:?}");
    }
    let tree = forgery.tree(&[("100644", b"..", &blob)]);
    let error = taken(&fixture, forgery.says(&tree, &[&tree, &blob])).await;
    assert_eq!(reason(error), Reason::Name(NameFault::Elsewhere));
    let tree = forgery.tree(&[("100644", b"a/b", &blob)]);
    let error = taken(&fixture, forgery.says(&tree, &[&tree, &blob])).await;
    assert!(matches!(error, TakeError::Objects { .. }), "git's own check finds it: {error}");
}

#[tokio::test]
async fn links_that_lead_out_are_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    for target in ["/etc/passwd", "../x", "a/../../x", ".git/hooks"] {
        let blob = forgery.blob(target.as_bytes());
        let tree = with_entry(&forgery, "120000", b"link", &blob);
        let error = taken(&fixture, forgery.says(&tree, &[&tree, &blob])).await;
        assert_eq!(reason(error), Reason::LinkOut, "{target}");
    }
    let blob = forgery.blob(b"elsewhere");
    let tree = with_entry(&forgery, "120000", b".gitmodules", &blob);
    let error = taken(&fixture, forgery.says(&tree, &[&tree, &blob])).await;
    assert_eq!(reason(error), Reason::LinkForGit);
}

#[tokio::test]
async fn names_that_are_one_on_other_systems_are_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let (link, blob) = (forgery.blob(b"b"), forgery.blob(b"x"));
    let inner = forgery.tree(&[("100644", b"post-checkout", &blob)]);
    let tree = forgery.tree(&[("120000", b"A", &link), ("40000", b"a", &inner)]);
    let error = taken(&fixture, forgery.says(&tree, &[&tree, &inner, &link, &blob])).await;
    assert!(matches!(reason(error), Reason::Meets { .. }));
}

#[tokio::test]
async fn submodules_and_odd_modes_are_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let tree = with_entry(&forgery, "160000", b"sub", fixture.base.as_str());
    let error = taken(&fixture, forgery.says(&tree, &[&tree])).await;
    assert_eq!(reason(error), Reason::Submodule);
    let blob = forgery.blob(b"x");
    let tree = with_entry(&forgery, "100666", b"a", &blob);
    let error = taken(&fixture, forgery.says(&tree, &[&tree, &blob])).await;
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");

    // A repository that an agent cloned into its checkout becomes a submodule.
    fixture.git("work", &["clone", "--quiet", ".", "nested"]);
    let mut forge = fixture.forge();
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert!(error.to_string().contains("remove the repository that is nested"), "{error}");
    forge.decides(|custom| custom.submodules = Submodules::Allowed);
    forge.take(key(1), &fixture.taking()).await.unwrap();
}

#[tokio::test]
async fn large_and_many_and_deep_are_refused() {
    let fixture = Fixture::new();
    let mut forge = fixture.forge();
    forge.decides(|custom| {
        custom.limits =
            Limits { file_bytes: 1 << 20, pack_bytes: 2 << 20, files: 50, ..Limits::default() };
    });
    fixture.change("zeroes", vec![0; 3 << 20]);
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert_eq!(reason(error), Reason::LargeFile { bytes: 3 << 20, limit: 1 << 20 });

    let noise: Vec<u8> =
        (0_u32..1_200_000).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fixture.change("zeroes", noise);
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert!(matches!(error, TakeError::LargePack { limit: 2_097_152 }), "{error}");

    fixture.change("zeroes", "");
    for number in 0..60 {
        fixture.change(&format!("many/{number}"), "x");
    }
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert_eq!(reason(error), Reason::ManyFiles { files: 61, limit: 50 });

    let deep = Fixture::new();
    deep.change(&format!("{}x", "d/".repeat(80)), "deep");
    let error = deep.forge().take(key(1), &deep.taking()).await.unwrap_err();
    assert_eq!(reason(error), Reason::Name(NameFault::Deep));
}

#[tokio::test]
async fn a_very_deep_tree_made_by_hand_is_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let mut objects = vec![forgery.blob(b"x")];
    let mut tree = forgery.tree(&[("100644", b"x", &objects[0])]);
    for _ in 0..300 {
        objects.push(tree.clone());
        tree = forgery.tree(&[("40000", b"d", &tree)]);
    }
    objects.push(tree.clone());
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let error = taken(&fixture, forgery.says(&tree, &objects)).await;
    assert_eq!(reason(error), Reason::Name(NameFault::Deep));
}

#[tokio::test]
async fn a_tree_that_is_its_own_branches_many_times_over_is_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let mut objects = vec![forgery.blob(b"x")];
    let names: Vec<String> = (10..40).map(|number| number.to_string()).collect();
    let wide = |mode: &str, object: &str| {
        let entries: Vec<_> = names.iter().map(|name| (mode, name.as_bytes(), object)).collect();
        forgery.tree(&entries)
    };
    // Thirty files in thirty directories in thirty directories ...: more files than there are atoms, in twenty objects.
    let mut tree = wide("100644", &objects[0]);
    for _ in 0..20 {
        objects.push(tree.clone());
        tree = wide("40000", &tree);
    }
    objects.push(tree.clone());
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let error = taken(&fixture, forgery.says(&tree, &objects)).await;
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");
}

#[tokio::test]
async fn a_bomb_of_differences_ends_within_its_limits() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let mut writer = PackWriter::new();
    let size = 15 << 20;
    let at = writer.zeroes(size);
    // Some kilobytes that claim to be eight gigabytes.
    writer.bomb(at, size, 550);
    let pack = writer.finish();
    assert!(pack.len() < 100_000);
    let tree = forgery.tree(&[]);
    let mut said = format!("lamp-change 1 {tree}\n").into_bytes();
    said.extend(pack);
    let error = taken(&fixture, said).await;
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");
}

#[tokio::test]
async fn torn_forged_and_endless_packs_are_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let blob = forgery.blob(b"new");
    let tree = forgery.tree(&[("100644", b"a", &blob)]);
    let whole = forgery.says(&tree, &[&tree, &blob]);
    for cut in [10, 60, 70, whole.len() - 30, whole.len() - 1] {
        let error = taken(&fixture, whole[..cut].to_vec()).await;
        assert!(
            matches!(error, TakeError::Objects { .. } | TakeError::Inside { .. }),
            "{cut}: {error}"
        );
    }
    let mut spoiled = whole.clone();
    let last = spoiled.len() - 25;
    spoiled[last] ^= 1;
    assert!(matches!(taken(&fixture, spoiled).await, TakeError::Objects { .. }));

    let forge = fixture.forge();
    forge.is(Inside::Endless);
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");
    forge.is(Inside::Says(whole.clone(), 1));
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert!(
        matches!(error, TakeError::Inside { .. }),
        "a script that failed is not believed: {error}"
    );
    // What follows a pack is thrown away.
    let mut more = whole;
    more.extend(b"and more");
    forge.is(Inside::Says(more, 0));
    forge.take(key(1), &fixture.taking()).await.unwrap();
}

#[tokio::test]
async fn a_tree_that_names_what_is_missing_is_refused() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let blob = forgery.blob(b"never sent");
    let tree = forgery.tree(&[("100644", b"a", &blob)]);
    let error = taken(&fixture, forgery.says(&tree, &[&tree])).await;
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");
    // The tree itself is missing, or is no tree.
    let error = taken(&fixture, forgery.says(&tree, &[&blob])).await;
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");
    let error = taken(&fixture, forgery.says(&blob, &[&blob])).await;
    assert!(matches!(error, TakeError::Objects { .. }), "{error}");
    let commit = forgery.git(&["rev-parse", "HEAD"]);
    let error = taken(&fixture, forgery.says(&commit, &[&commit])).await;
    assert!(matches!(error, TakeError::Objects { .. }), "a commit is no tree: {error}");
}

#[tokio::test]
async fn what_the_change_does_not_need_never_reaches_the_mirror() {
    let fixture = Fixture::new();
    let forgery = Forgery::new(&fixture.path("remote.git"));
    let (blob, secret) = (forgery.blob(b"new"), forgery.blob(b"smuggled"));
    let tree = forgery.tree(&[("100644", b"a", &blob)]);
    let other = forgery.tree(&[("100644", b"b", &secret)]);
    let stranger = forgery.git(&["commit-tree", "-m", "unrelated", &other]);
    let forge = fixture.forge();
    let objects = [&tree, &blob, &secret, &other, &stranger].map(String::as_str);
    forge.is(Inside::Says(forgery.says(&tree, &objects), 0));
    let taken = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert!(taken.paths.contains(&"a".to_owned()));
    let there = everything(&fixture);
    assert!(there.contains(&blob) && there.contains(taken.commit.as_str()));
    for smuggled in [secret, other, stranger] {
        assert!(!there.contains(&smuggled));
    }
}

#[tokio::test]
async fn secrets_and_workflows_do_not_leave() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change(
        "config.toml",
        format!("key = \"{}{}\"\n", "ghp_", "q7Zk2XvB9mWc4TjR8nLd5YhF1sGp6Ka3Eu0w"),
    );
    let error = forge.take_change(key(1), &fixture.taking()).await.unwrap_err();
    let ForgeError::Refused { reason: told } = error else { panic!("{error}") };
    assert_eq!(
        told,
        "`config.toml` has in line 1 a token of GitHub: take it out, and renew the secret"
    );
    fixture.change("config.toml", "password = hunter2");
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert_eq!(reason(error), Reason::KnownSecret);
    fixture.change("config.toml", "fine");
    fixture.change(".github/workflows/ci.yml", "on: push");
    let error = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert!(matches!(reason(error), Reason::Workflow { .. }));
}
