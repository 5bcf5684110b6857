//! Mirrors that follow their sources.

use std::{fs, io, io::Read as _, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use testkit::ssh::Ssh;
use tokio::sync::mpsc;
use unsupported::unsupported;

use super::{Bench, git_in, name};
use crate::{FetchLimits, MirrorError, Mirrors, Transport};

#[tokio::test]
async fn new_commits_come_with_the_next_fetch() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("acme/web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    let first = mirrors.resolve(&web, "trunk").await.unwrap();
    assert_eq!(
        mirrors.resolve(&web, "HEAD").await.unwrap(),
        first,
        "the default branch is followed"
    );
    let second = bench.commit("two");
    assert!(!mirrors.has(&web, &second).await.unwrap());
    mirrors.fetch(&web, None).await.unwrap();
    assert!(mirrors.has(&web, &second).await.unwrap());
    assert_eq!(mirrors.resolve(&web, "trunk").await.unwrap(), second);
    assert_eq!(mirrors.resolve(&web, "trunk~1").await.unwrap(), first);
    assert_eq!(mirrors.resolve(&web, first.as_str()).await.unwrap(), first);
    assert_eq!(mirrors.registered().unwrap(), [web]);
}

#[tokio::test]
async fn a_source_is_followed_over_ssh_and_one_that_lets_nobody_in_is_told() {
    let (bench, ssh) = (Bench::new(), Ssh::set_up().unwrap());
    let open =
        Mirrors::open(&bench.path("mirrors"), &ssh.program(), FetchLimits::default()).unwrap();
    let web = name("acme/web");
    open.register(&web, &ssh.address(&bench.path("source"))).await.unwrap();
    open.fetch(&web, None).await.unwrap();
    let second = bench.commit("two");
    ssh.turn_away().unwrap();
    let error = open.fetch(&web, None).await.unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    ssh.admit().unwrap();
    open.fetch(&web, None).await.unwrap();
    assert_eq!(open.resolve(&web, "trunk").await.unwrap(), second);
}

#[tokio::test]
async fn a_commit_that_its_source_forgot_stays() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &format!("file://{}", bench.source())).await.unwrap();
    let lost = bench.commit("lost");
    mirrors.fetch(&web, None).await.unwrap();
    bench.git(&["-C", "source", "reset", "--quiet", "--hard", "HEAD~1"]);
    let kept = bench.commit("kept");
    mirrors.fetch(&web, None).await.unwrap();
    mirrors.tidy(&web).await.unwrap();
    assert_eq!(mirrors.resolve(&web, "trunk").await.unwrap(), kept);
    // Another server asks git anew.
    assert!(bench.mirrors().has(&web, &lost).await.unwrap());
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    assert!(matches!(mirrors.fetch(&web, None).await, Err(MirrorError::Unknown { .. })));
    mirrors.register(&web, &bench.path("nowhere").display().to_string()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap_err();
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    let missing = "0123456789".repeat(4).parse().unwrap();
    assert!(!mirrors.has(&web, &missing).await.unwrap());
    for wrong in
        [missing.as_str(), "nothing", "trunk:file", "HEAD^{tree}", ":/one", "trunk@{1}", "a..b", ""]
    {
        let error = mirrors.resolve(&web, wrong).await.unwrap_err();
        assert!(matches!(error, MirrorError::Revision { .. }), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_name_stays_with_the_place_that_it_came_from() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("acme/web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    mirrors.register(&web, &format!("file://{}", bench.source())).await.unwrap();
    let error = mirrors.register(&web, "https://x:token@forge.example/web").await.unwrap_err();
    assert!(matches!(error, MirrorError::Elsewhere { .. }), "{error}");
    let told = error.to_string();
    assert!(told.contains("https://***@forge.example/web") && !told.contains("token"), "{told}");
    mirrors.fetch(&web, None).await.unwrap();
    // Whoever has a new secret for the same place is no stranger.
    let private = name("acme/private");
    mirrors.register(&private, "https://x:old@forge.example/private").await.unwrap();
    let objects = mirrors.objects(&private);
    fs::create_dir(objects.join("ab")).unwrap();
    mirrors.register(&private, "https://x:new@forge.example/private").await.unwrap();
    mirrors.register(&private, "https://forge.example/private").await.unwrap();
    mirrors.register(&private, "https://forge.example/other").await.unwrap_err();
}

#[tokio::test]
async fn a_place_that_was_taken_while_one_waited_stays_taken() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    let mirror = mirrors.mirror(&web);
    fs::remove_file(mirror.join("lamp-source")).unwrap();
    let alone = mirrors.alone_in(&web, &mirror).await.unwrap();
    let first = async {
        fs::write(mirror.join("lamp-source"), bench.source()).unwrap();
        fs::create_dir(mirror.join("objects/ab")).unwrap();
        drop(alone);
    };
    // The other one has looked, and found nobody, when the first one comes.
    let (refused, ()) = tokio::join!(mirrors.register(&web, "https://forge.example/web"), first);
    assert!(matches!(refused, Err(MirrorError::Elsewhere { .. })), "{refused:?}");
}

#[tokio::test]
async fn many_fetches_at_once_take_turns() {
    let bench = Bench::new();
    let web = name("web");
    let (one, other) = (bench.mirrors(), bench.mirrors());
    one.register(&web, &bench.source()).await.unwrap();
    let last = bench.commit("last");
    let all = (0..8).map(|number| {
        let mirrors = if number % 2 == 0 { &one } else { &other };
        mirrors.fetch(&web, None)
    });
    for fetched in futures_of(all).await {
        fetched.unwrap();
    }
    assert!(one.has(&web, &last).await.unwrap());
}

/// All of them, at the same time.
async fn futures_of<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = all.map(Box::pin).map(Some).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        for slot in &mut waiting {
            if let Some(future) = slot
                && let std::task::Poll::Ready(output) = future.as_mut().poll(context)
            {
                done.push(output);
                *slot = None;
            }
        }
        if waiting.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done
}

#[tokio::test]
async fn a_fetch_waits_for_whoever_writes_into_the_mirror() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    let alone = mirrors.alone(&web).await.unwrap();
    // Also one of another server.
    for mirrors in [mirrors, bench.mirrors()] {
        let early = tokio::time::timeout(Duration::from_millis(200), mirrors.fetch(&web, None));
        assert!(early.await.is_err(), "it has to wait");
    }
    drop(alone);
    bench.mirrors().fetch(&web, None).await.unwrap();
}

#[tokio::test]
async fn every_kind_of_address_is_reached_by_its_own_way_and_its_secret_is_known() {
    let bench = Bench::new();
    let mirrors = bench.mirrors();
    for (repository, address, transport, directory, secret) in [
        ("a", "file:///srv/a.git", Transport::File, Some("/srv/a.git"), None),
        ("b", "https://me:hunter2@forge.example/b", Transport::Https, None, Some("me:hunter2")),
        ("c", "ssh://git@forge.example/c", Transport::Ssh, None, None),
        ("d", "http://forge.example/d", Transport::Http, None, None),
    ] {
        let repository = name(repository);
        mirrors.register(&repository, address).await.unwrap();
        let source = mirrors.known(&repository).unwrap().source;
        assert_eq!(source.transport(), transport, "{address}");
        assert_eq!(source.directory(), directory.map(Path::new), "{address}");
        assert_eq!(source.secret(), secret, "{address}");
    }
}

#[tokio::test]
async fn progress_is_told() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    let (news, mut told) = mpsc::channel(1_000);
    mirrors.fetch(&web, Some(news)).await.unwrap();
    let mut lines = Vec::new();
    while let Some(line) = told.recv().await {
        lines.push(line);
    }
    assert!(lines.iter().any(|line| line.contains("objects")), "{lines:?}");
}

#[tokio::test]
async fn a_source_that_is_too_large_or_too_slow_leaves_nothing_torn() {
    let bench = Bench::new();
    let web = name("web");
    let mut noise = fs::File::open("/dev/urandom").unwrap().take(3_000_000);
    io::copy(&mut noise, &mut fs::File::create(bench.path("source/noise")).unwrap()).unwrap();
    bench.commit("large");
    let small = bench.limited(FetchLimits { bytes: 1 << 20, ..FetchLimits::default() });
    small.register(&web, &bench.source()).await.unwrap();
    let error = small.fetch(&web, None).await.unwrap_err();
    assert!(matches!(error, MirrorError::Large { .. }), "{error}");

    let hasty = bench.limited(FetchLimits { time: Duration::ZERO, ..FetchLimits::default() });
    let error = hasty.fetch(&web, None).await.unwrap_err();
    assert!(matches!(error, MirrorError::Slow { .. }), "{error}");
    assert_eq!(fs::read_dir(small.objects(&web).join("pack")).unwrap().count(), 0);

    bench.mirrors().fetch(&web, None).await.unwrap();
}

#[tokio::test]
async fn a_repository_with_longer_hashes_is_mirrored() {
    let bench = Bench::new();
    bench.git(&["init", "--quiet", "--object-format=sha256", "--initial-branch=main", "long"]);
    bench.git(&["-C", "long", "commit", "--quiet", "--allow-empty", "-m", "x"]);
    let (mirrors, long) = (bench.mirrors(), name("long"));
    let url = bench.path("long").display().to_string();
    mirrors.register(&long, &url).await.unwrap();
    mirrors.fetch(&long, None).await.unwrap();
    let commit = mirrors.resolve(&long, "main").await.unwrap();
    assert_eq!(commit.as_str().len(), 64);
    mirrors.register(&long, &url).await.unwrap();
    mirrors.fetch(&long, None).await.unwrap();
}

#[tokio::test]
async fn others_can_read_the_objects_and_nothing_else() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&bench.path("mirrors")), 0o700);
    assert_eq!(mode(&bench.path("mirrors/web.git/config")), 0o600);
    assert_eq!(mode(&bench.path("mirrors/web.git/lamp-source")), 0o600);
    for entry in fs::read_dir(mirrors.objects(&web).join("pack")).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o444);
    }
    assert_eq!(mode(&mirrors.objects(&web)) & 0o55, 0o55);
}

#[tokio::test]
async fn a_directory_of_another_user_is_read_with_the_rights_of_that_user() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("only root reads with the rights of another user");
    }
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    fs::set_permissions(bench.directory.path(), fs::Permissions::from_mode(0o711)).unwrap();
    // A repository that is only root's, and one of nobody that borrows its objects.
    bench.git(&["init", "--quiet", "--initial-branch=trunk", "theirs"]);
    git_in(&bench.path("theirs"), &["commit", "--quiet", "--allow-empty", "-m", "theirs"]);
    chown(&bench.path("theirs"), 65_534);
    mirrors.register(&web, &bench.path("theirs").display().to_string()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();

    fs::set_permissions(bench.path("source/.git"), fs::Permissions::from_mode(0o700)).unwrap();
    let secret = git_in(&bench.path("source"), &["rev-parse", "HEAD"]);
    let borrowed = bench.path("source/.git/objects").display().to_string();
    fs::write(bench.path("theirs/.git/objects/info/alternates"), format!("{borrowed}\n")).unwrap();
    fs::write(bench.path("theirs/.git/refs/heads/stolen"), format!("{secret}\n")).unwrap();
    chown(&bench.path("theirs"), 65_534);
    let _ = mirrors.fetch(&web, None).await;
    assert!(!mirrors.has(&web, &secret.parse().unwrap()).await.unwrap());
}

fn chown(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            chown(&entry.unwrap().path(), user);
        }
    }
}

#[tokio::test]
async fn a_mirror_of_a_mirror_is_found_by_the_next_server() {
    let bench = Bench::new();
    let web = name("web");
    bench.mirrors().register(&web, &bench.source()).await.unwrap();
    let next: Mirrors = bench.mirrors();
    next.fetch(&web, None).await.unwrap();
    assert_eq!(next.registered().unwrap(), [web]);
}
