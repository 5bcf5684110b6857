//! Git's requests: nothing of a push goes out before its updates are allowed, and a refusal is told as git prints it.

use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, refused};
use crate::ask::{Answer, Body, Grant, Outcome, RefusalCode};

const HOST: &str = "git.ok.test";
const OLD: &str = "1111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222";

fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

fn push(reference: &str) -> String {
    let update = format!("{OLD} {NEW} {reference}\0 report-status agent=git/2.43");
    format!("{}0000PACK", line(&update))
}

async fn stage(host: &Host, body: Body) -> Stage {
    let grant = host.grant(HOST);
    Stage::new(inspecting(HOST, move |request| match request.target.as_str() {
        path if path.starts_with("/other/") => refused(HOST),
        _ => Answer::Granted(Grant { body: body.clone(), ..grant.clone() }),
    }))
    .await
}

async fn post(stage: &Stage, path: &str, body: &str) -> String {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("body");
    std::fs::write(&file, body).unwrap();
    let data = format!("@{}", file.display());
    stage.curl(&["--data-binary", &data, &format!("https://{HOST}{path}")]).await.out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_another_branch_is_rejected_without_a_connection_to_the_host() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("taken")).await;
    let allowed = vec!["agent/fix".to_owned()];
    let body = Body::ReceivePack { branches: allowed, most_pack: 1 << 20 };
    let mut stage = stage(&host, body).await;
    let out = post(&stage, "/o/r.git/git-receive-pack", &push("refs/heads/main")).await;
    assert!(out.contains("ng refs/heads/main `main` is not this task's to push"), "{out}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Push);
    assert_eq!(host.connections(), 0);
    // What is no pack at all never arrives whole, and is told in the same way.
    let out = post(&stage, "/o/r.git/git-receive-pack", &push("refs/heads/agent/fix")).await;
    assert!(out.contains("ng refs/heads/agent/fix"), "{out}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Push);
    assert!(host.asked().is_empty(), "{:?}", host.asked());
    // The control: the question whether one may push at all goes through.
    assert_eq!(post(&stage, "/o/r.git/git-receive-pack", "0000").await, "taken");
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_carries_lines_of_git_and_nothing_else() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("packed")).await;
    let mut stage = stage(&host, Body::UploadPack).await;
    let fetch =
        format!("{}{}0000{}", line("command=fetch"), line("agent=git/2.43"), line("done\n"));
    assert_eq!(post(&stage, "/o/r.git/git-upload-pack", &fetch).await, "packed");
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    let out = post(&stage, "/o/r.git/git-upload-pack", &line("secret data that leaves")).await;
    assert!(out.contains("ERR "), "{out}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Push);
    assert_eq!(host.asked().len(), 1);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_repository_is_told_in_gits_own_words() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("x")).await;
    let mut stage = stage(&host, Body::Relay).await;
    let files = tempfile::tempdir().unwrap();
    let proxy = format!("http://{}", stage.proxy);
    let running = tokio::process::Command::new("git")
        .args(["ls-remote", &format!("https://{HOST}/other/repo.git")])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", files.path())
        .env("https_proxy", &proxy)
        .env("GIT_SSL_CAINFO", &stage.authority_file)
        .output();
    let done = tokio::time::timeout(super::stage::PATIENCE, running).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        said.contains("Lamplighter refused git.ok.test:443 in implement: no rule allows it"),
        "{said}"
    );
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    assert!(host.asked().is_empty());
    stage.no_more_reports().await;
}
