//! Remotes of every kind that needs no account: a path, `file://`, git over HTTP and over SSH; and one that means harm.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use contracts::forge::{
    Author, Comment, ForgeError, Forges as _, Merge, PullRequests as _, PullState,
};
use domain::{code::PullRequestNumber, time::Timestamp};
use testkit::ssh::Ssh;
use unsupported::unsupported;

use crate::{
    delivering::commit,
    fixture::{Fixture, Forge, delivery, key, repository},
};

const ONE: PullRequestNumber = PullRequestNumber(1);

/// Everything that a pull request can go through.
async fn whole_life(fixture: &Fixture, forge: &Forge) {
    assert_eq!(forge.head(&repository()).await.unwrap(), fixture.base);
    let head = commit(fixture, forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let comment = Comment {
        name: "1".to_owned(),
        author: Author::Platform,
        at: Timestamp::from_millis(1),
        text: "hello".to_owned(),
        place: None,
    };
    forge.comment(&repository(), ONE, &comment).await.unwrap();
    forge.note(&repository(), &head, b"why").await.unwrap();
    let merge = Merge { head: head.clone(), base: "trunk".to_owned(), by: Author::Platform };
    forge.merge(&repository(), ONE, &merge).await.unwrap();
    let pull = forge.pull(&repository(), ONE).await.unwrap();
    assert!(matches!(pull.state, PullState::Merged { .. }));
    assert_eq!(forge.head(&repository()).await.unwrap(), head);
    assert_eq!(fixture.far("refs/heads/trunk").as_deref(), Some(head.as_str()));
}

#[tokio::test]
async fn a_path_is_a_remote() {
    let fixture = Fixture::new();
    whole_life(&fixture, &fixture.forge()).await;
}

#[tokio::test]
async fn a_repository_may_name_its_objects_by_sha_256() {
    let fixture = Fixture::named_by("sha256");
    assert_eq!(fixture.base.as_str().len(), 64);
    whole_life(&fixture, &fixture.forge()).await;
}

#[tokio::test]
async fn a_file_address_is_a_remote() {
    let fixture = Fixture::new();
    let remote = fixture.path("remote.git");
    let address = format!("file://{}", remote.display());
    let forge = fixture.forge_at("host", &address);
    whole_life(&fixture, &forge).await;
}

#[tokio::test]
async fn git_over_http_is_a_remote() {
    let fixture = Fixture::new();
    fixture.git("remote.git", &["config", "http.receivepack", "true"]);
    let address = serve(fixture.path(""));
    let address = format!("http://{address}/remote.git");
    let forge = fixture.forge_at("host", &address);
    whole_life(&fixture, &forge).await;
}

#[tokio::test]
async fn git_over_ssh_is_a_remote() {
    let (fixture, ssh) = (Fixture::new(), Ssh::set_up().unwrap());
    whole_life(&fixture, &fixture.forge_over(&ssh)).await;
}

#[tokio::test]
async fn a_host_that_does_not_let_us_in_over_ssh_is_told_and_nobody_is_asked() {
    let (fixture, ssh) = (Fixture::new(), Ssh::set_up().unwrap());
    let forge = fixture.forge_over(&ssh);
    let head = commit(&fixture, &forge, 1).await;
    ssh.turn_away().unwrap();
    let error = forge.deliver(key(2), &delivery(&head)).await.unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    assert_eq!(fixture.far("refs/heads/agent/x"), None);
    ssh.admit().unwrap();
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    assert_eq!(fixture.far("refs/heads/agent/x").as_deref(), Some(head.as_str()));
}

#[tokio::test]
async fn a_remote_that_is_away_is_busy_and_one_that_forbids_says_no() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let head = commit(&fixture, &forge, 1).await;
    fixture.git("remote.git", &["config", "receive.denyNonFastForwards", "true"]);
    let remote = fixture.path("remote.git");
    #[expect(clippy::disallowed_methods, reason = "a repository")]
    fs::rename(&remote, fixture.path("away")).unwrap();
    let error = forge.deliver(key(2), &delivery(&head)).await.unwrap_err();
    assert!(matches!(error, ForgeError::Busy { .. }), "{error}");
    #[expect(clippy::disallowed_methods, reason = "a repository")]
    fs::rename(fixture.path("away"), &remote).unwrap();

    // A server over HTTP that does not take pushes.
    fixture.git("remote.git", &["config", "http.receivepack", "false"]);
    let address = format!("http://{}/remote.git", serve(fixture.path("")));
    let forge = fixture.forge_at("http", &address);
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap_err();
    assert_eq!(fixture.far("refs/lamp/pulls/1"), None);
}

#[tokio::test]
async fn nothing_of_a_hostile_remote_runs() {
    let fixture = Fixture::new();
    let (ran, script) = (fixture.path("ran"), fixture.path("script"));
    fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat >/dev/null\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let run = script.display().to_string();
    let remote = fixture.path("remote.git");
    fs::create_dir_all(remote.join("hooks")).unwrap();
    for hook in [
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "reference-transaction",
        "proc-receive",
        "push-to-checkout",
    ] {
        fs::copy(&script, remote.join("hooks").join(hook)).unwrap();
    }
    for setting in [
        "core.fsmonitor",
        "core.alternateRefsCommand",
        "uploadpack.packObjectsHook",
        "core.sshCommand",
        "credential.helper",
        "gc.recentObjectsHook",
    ] {
        fixture.git("remote.git", &["config", setting, &run]);
    }
    whole_life(&fixture, &fixture.forge()).await;
    assert!(!ran.exists(), "a program of the remote ran");
    // The trap works.
    let mut push = crate::fixture::person(&fixture.path("work"));
    let remote = remote.display().to_string();
    let _ = push.args(["push", "--quiet", &remote, "HEAD:refs/heads/x"]).output();
    assert!(ran.exists());
}

/// What a push writes into somebody's directory belongs to them, and is written with their rights.
#[tokio::test]
async fn a_remote_of_somebody_else_is_written_as_them() {
    let fixture = Fixture::new();
    if !rustix::process::geteuid().is_root() {
        whole_life(&fixture, &fixture.forge()).await;
        unsupported!("without root everything belongs to whoever runs this: there is nobody else");
    }
    let nobody = 65_534;
    let forge = fixture.forge();
    // They have to be able to get there.
    fs::set_permissions(fixture.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let remote = fixture.path("remote.git");
    for path in below(&remote) {
        chown(&path, Some(nobody), Some(nobody)).unwrap();
    }
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let strangers: Vec<PathBuf> = below(&remote)
        .into_iter()
        .filter(|path| std::os::unix::fs::MetadataExt::uid(&fs::metadata(path).unwrap()) != nobody)
        .collect();
    assert_eq!(strangers, Vec::<PathBuf>::new());
}

fn below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() {
        all.extend(fs::read_dir(path).unwrap().flat_map(|entry| below(&entry.unwrap().path())));
    }
    all
}

/// Git's own HTTP backend behind a door of a few lines, until the test ends.
fn serve(root: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let root = root.clone();
            std::thread::spawn(move || answer(&stream.unwrap(), &root));
        }
    });
    address
}

fn answer(stream: &TcpStream, root: &Path) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (mut length, mut chunked) = (0, false);
    let mut backend = Command::new("git");
    backend.arg("http-backend");
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "transfer-encoding" => chunked = true,
            "content-type" => drop(backend.env("CONTENT_TYPE", value)),
            "content-encoding" => drop(backend.env("HTTP_CONTENT_ENCODING", value)),
            "git-protocol" => drop(backend.env("GIT_PROTOCOL", value)),
            _ => {}
        }
    }
    let body = if chunked { unchunked(&mut reader) } else { exactly(&mut reader, length) };
    let mut child = backend
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut sink = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        let _ = sink.write_all(&body);
    });
    let said = child.wait_with_output().unwrap().stdout;
    let end = said.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(said[..end].to_vec()).unwrap();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let body = &said[end + 4..];
    let answer = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    let _ = stream.write_all(answer.as_bytes());
    let _ = stream.write_all(body);
}

fn exactly(reader: &mut BufReader<&TcpStream>, length: usize) -> Vec<u8> {
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    body
}

fn unchunked(reader: &mut BufReader<&TcpStream>) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        body.extend(exactly(reader, length));
        reader.read_line(&mut line).unwrap();
        if length == 0 {
            return body;
        }
    }
}
