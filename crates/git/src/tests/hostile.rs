//! Repositories and names that mean harm. A file that must not appear tells whether something ran.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{Bench, name};
use crate::MirrorError;

#[tokio::test]
async fn nothing_of_a_hostile_repository_runs_on_the_host() {
    let bench = Bench::new();
    let ran = bench.path("ran");
    let script = bench.path("script");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\nexec \"$@\"\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let run = script.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n\thooksPath = {hooks}\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\
         \talternateRefsCommand = {run}\n\tpager = {run}\n\tgitProxy = {run}\n\taskPass = {run}\n\
         [uploadpack]\n\tpackObjectsHook = {run}\n[credential]\n\thelper = {run}\n\
         [extensions]\n\tpartialClone = evil\n\
         [remote \"evil\"]\n\turl = ext::{run}\n\tpromisor = true\n\tuploadpack = {run}\n\
         [protocol]\n\tallow = always\n[filter \"x\"]\n\tsmudge = {run}\n\tprocess = {run}\n\
         [diff]\n\texternal = {run}\n[gc]\n\trecentObjectsHook = {run}\n[alias]\n\tupload-pack = !{run}\n",
        hooks = bench.path("source/.git/hooks").display()
    );
    fs::write(bench.path("source/.gitattributes"), "* filter=x\n").unwrap();
    bench.commit("hostile");
    let hooks = [
        "post-update",
        "reference-transaction",
        "post-checkout",
        "pre-receive",
        "post-upload-pack",
        "update",
    ];
    fs::create_dir_all(bench.path("source/.git/hooks")).unwrap();
    for hook in hooks {
        fs::copy(&script, bench.path("source/.git/hooks").join(hook)).unwrap();
    }
    fs::write(bench.path("source/.git/config"), config).unwrap();

    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    let fetched = mirrors.fetch(&web, None).await;
    assert!(!ran.exists(), "a program of the repository ran");
    fetched.unwrap();

    // A missing object would be fetched on the way, by a program of the repository's choice.
    let pack = bench.path("source/.git/objects");
    for entry in fs::read_dir(&pack).unwrap().map(Result::unwrap) {
        if entry.file_name().len() == 2 {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    let other = name("other");
    mirrors.register(&other, &bench.source()).await.unwrap();
    mirrors.fetch(&other, None).await.unwrap_err();
    assert!(!ran.exists(), "a program of the repository ran");

    // The trap works: whoever uses such a repository with a plain git falls into it.
    let _ =
        std::process::Command::new("git").arg("status").current_dir(bench.path("source")).output();
    assert!(ran.exists());
}

#[tokio::test]
async fn a_revision_is_never_an_option() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    mirrors.fetch(&web, None).await.unwrap();
    for wrong in
        ["--help", "-h", "--git-dir=/etc", "--output=x", "-", "--", "--all", "--end-of-options"]
    {
        let error = mirrors.resolve(&web, wrong).await.unwrap_err();
        assert!(matches!(error, MirrorError::Revision { .. }), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_hostile_address_is_not_even_registered() {
    let bench = Bench::new();
    let (mirrors, web) = (bench.mirrors(), name("web"));
    for url in ["ext::sh -c touch% x", "--upload-pack=x", "ssh://-oProxyCommand=x/y", "relative"] {
        let error = mirrors.register(&web, url).await.unwrap_err();
        assert!(matches!(error, MirrorError::Address(_)), "{error}");
    }
    assert!(mirrors.registered().unwrap().is_empty());
    assert!(!bench.path("mirrors/web.git").exists());
}

#[tokio::test]
async fn a_tree_that_would_overwrite_git_is_refused_at_the_door() {
    let bench = Bench::new();
    let blob = bench.git(&["-C", "source", "rev-parse", "HEAD:file"]);
    fs::write(bench.path("tree"), format!("100644 blob {blob}\t.GIT\n")).unwrap();
    let made = std::process::Command::new("git")
        .args(["-C", "source", "mktree"])
        .stdin(fs::File::open(bench.path("tree")).unwrap())
        .current_dir(bench.directory.path())
        .output()
        .unwrap();
    let tree = String::from_utf8(made.stdout).unwrap();
    let commit = bench.git(&["-C", "source", "commit-tree", "-m", "x", tree.trim()]);
    bench.git(&["-C", "source", "update-ref", "refs/heads/trunk", &commit]);
    let (mirrors, web) = (bench.mirrors(), name("web"));
    mirrors.register(&web, &bench.source()).await.unwrap();
    let error = mirrors.fetch(&web, None).await.unwrap_err();
    assert!(error.to_string().contains("hasDotgit"), "{error}");
}
