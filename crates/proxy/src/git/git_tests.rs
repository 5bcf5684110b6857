//! Real git against the real `git http-backend`, with our reader between them.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::JoinHandle,
};

use super::{
    fetch::Fetch,
    push::{Allowed, Push, PushError},
    refusal::{self, Answer, Service},
};
use crate::readers::{
    framing::{ChunkReader, Chunked},
    head::{BodyLength, Expectation, RequestHead, RequestTarget, Scan, request},
};

const BRANCH: &str = "agent/fix";
const MOST_PACK: u64 = 8 * 1024 * 1024;

/// A server with one repository, and a clone of it.
struct House {
    directory: tempfile::TempDir,
    address: SocketAddr,
    server: Option<JoinHandle<()>>,
}

impl House {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(init: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let root = directory.path().join("srv");
        let bare = root.join("acme/api.git");
        std::fs::create_dir_all(&bare).unwrap();
        let mut house = Self { directory, address, server: None };
        let all = [&["init", "-q", "--bare", "-b", "main"][..], init].concat();
        succeeded(&house.git(&bare, &all));
        succeeded(&house.git(&bare, &["config", "http.receivepack", "true"]));
        succeeded(&house.git(&bare, &["config", "receive.advertisePushOptions", "true"]));
        house.server = Some(std::thread::spawn(move || serve(&listener, &root)));
        let seed = house.directory.path().join("seed");
        std::fs::create_dir(&seed).unwrap();
        succeeded(&house.git(&seed, &[&["init", "-q", "-b", "main"][..], init].concat()));
        house.commit(&seed, "first");
        let bare = bare.display().to_string();
        succeeded(&house.git(&seed, &["push", "-q", &bare, "main"]));
        let url = house.url();
        succeeded(&house.git(house.directory.path(), &["clone", "-q", &url, "work"]));
        succeeded(&house.run(&["checkout", "-q", "-b", BRANCH]));
        house
    }

    fn url(&self) -> String {
        format!("http://localhost:{}/acme/api.git", self.address.port())
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Runs git in the clone.
    fn run(&self, arguments: &[&str]) -> Output {
        self.git(&self.work(), arguments)
    }

    fn git(&self, place: &Path, arguments: &[&str]) -> Output {
        let home = self.directory.path().display().to_string();
        Command::new("git")
            .args(["-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(place)
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env("no_proxy", "*")
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@a.test")])
            .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@a.test")])
            .output()
            .unwrap()
    }

    fn commit(&self, place: &Path, text: &str) {
        std::fs::write(place.join("file"), text.repeat(50)).unwrap();
        succeeded(&self.git(place, &["add", "file"]));
        succeeded(&self.git(place, &["commit", "-q", "-m", text]));
    }

    fn change(&self, text: &str) {
        self.commit(&self.work(), text);
    }

    /// What the server's branches are at.
    fn branches(&self) -> String {
        let bare = self.directory.path().join("srv/acme/api.git");
        String::from_utf8(self.git(&bare, &["for-each-ref"]).stdout).unwrap()
    }

    /// Pushes what has to be refused, and tells what git prints. The server must stay as it was.
    fn refused(&self, arguments: &[&str]) -> String {
        let before = self.branches();
        let output = self.run(&[&["push"][..], arguments].concat());
        assert!(!output.status.success());
        assert_eq!(self.branches(), before, "{arguments:?}");
        let printed = String::from_utf8(output.stderr).unwrap();
        let lines = printed.replace(&self.url(), "URL");
        let lines = lines.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.filter(|line| !line.starts_with("hint:")).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // An empty connection ends the server.
        drop(TcpStream::connect(self.address));
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One request for each connection, until one says nothing.
fn serve(listener: &TcpListener, root: &Path) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let Some((head, body)) = receive(&mut stream) else {
            return;
        };
        let answer = answer(&head, &body, root);
        stream.write_all(&answer).unwrap();
    }
}

fn receive(stream: &mut TcpStream) -> Option<(RequestHead, Vec<u8>)> {
    let mut scan = Scan::of_request();
    let mut buffer = Vec::new();
    let mut piece = [0; 16 * 1024];
    let (head, used) = loop {
        if let Some(found) = request(&mut scan, &buffer).unwrap() {
            break found;
        }
        match stream.read(&mut piece).unwrap() {
            0 => return None,
            count => buffer.extend_from_slice(&piece[..count]),
        }
    };
    if head.expectation == Expectation::Continue {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
    }
    let mut rest = buffer.split_off(used);
    let mut body = Vec::new();
    let mut chunks = ChunkReader::of_request();
    loop {
        match head.body {
            BodyLength::Nothing => return Some((head, body)),
            BodyLength::Exactly(length) if rest.len() as u64 == length => {
                return Some((head, rest));
            }
            BodyLength::Exactly(_) => {}
            BodyLength::Chunked => {
                let mut at = 0;
                while at < rest.len() {
                    match chunks.read(&rest[at..]).unwrap() {
                        Chunked::Between { used } => at += used,
                        Chunked::Bytes { bytes, used } => {
                            body.extend_from_slice(bytes);
                            at += used;
                        }
                        Chunked::Ended { .. } => return Some((head, body)),
                    }
                }
                rest.clear();
                if chunks.has_ended() {
                    return Some((head, body));
                }
            }
            BodyLength::UntilClose => unreachable!("a request has an end"),
        }
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0);
        rest.extend_from_slice(&piece[..count]);
    }
}

fn answer(head: &RequestHead, body: &[u8], root: &Path) -> Vec<u8> {
    let RequestTarget::Origin(target) = &head.target else { panic!("git asks a host") };
    let encoding = head.headers.text("content-encoding");
    let path = target.written_path();
    if path.contains("forbidden") {
        let service = match target.query() {
            Some("service=git-receive-pack") => Service::ReceivePack,
            _ => Service::UploadPack,
        };
        return written(refusal::of_references(service, "the task may not reach this repository"));
    }
    if path.ends_with("/git-upload-pack") {
        let mut fetch = Fetch::new(encoding).unwrap();
        let read =
            body.chunks(7).try_for_each(|piece| fetch.read(piece)).and_then(|()| fetch.finish());
        if let Err(error) = read {
            return written(refusal::of_fetch(&error.to_string()));
        }
        return backend(head, body, root);
    }
    if !path.ends_with("/git-receive-pack") {
        return backend(head, body, root);
    }
    let allowed = Allowed { branches: vec![BRANCH.to_owned()], most_pack: MOST_PACK };
    let mut push = Push::new(allowed, encoding).unwrap();
    let mut given = Vec::new();
    let mut read = body.chunks(999).try_for_each(|piece| {
        given.extend(push.read(piece)?);
        Ok::<_, PushError>(())
    });
    read = read.and_then(|()| {
        given.extend(push.finish()?);
        Ok(())
    });
    match read {
        Ok(()) => {
            assert_eq!(given, body);
            backend(head, &given, root)
        }
        Err(error) => {
            // The server gets what was given before the refusal, as it would over the network, and must not act on it.
            if !given.is_empty() {
                backend(head, &given, root);
            }
            written(refusal::of_push(push.list(), &error.to_string()))
        }
    }
}

fn written(answer: Answer) -> Vec<u8> {
    let Answer { content_type, body } = answer;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.into_bytes(), body].concat()
}

/// Git's own server, as a CGI program.
fn backend(head: &RequestHead, body: &[u8], root: &Path) -> Vec<u8> {
    let RequestTarget::Origin(target) = &head.target else { panic!("git asks a host") };
    let header = |name: &str| head.headers.text(name).unwrap_or_default().to_owned();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("REQUEST_METHOD", head.verb.as_str())
        .env("PATH_INFO", target.written_path())
        .env("QUERY_STRING", target.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let body = body.to_vec();
    let writer = std::thread::spawn(move || drop(input.write_all(&body)));
    let output = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(0, |at| at + 4);
    let (head, body) = output.split_at(end);
    let head = String::from_utf8(head.to_vec()).unwrap();
    let status =
        head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let length = body.len();
    let first =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{head}");
    [first.as_bytes(), body].concat()
}

#[test]
fn a_task_pushes_its_branch_forwards() {
    let house = House::new();
    house.change("one");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    house.change("two");
    house.change("three");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    // A merge has the branch's old commit as one of its parents.
    succeeded(&house.run(&["checkout", "-q", "-b", "side", "HEAD~2"]));
    std::fs::write(house.work().join("other"), "x").unwrap();
    succeeded(&house.run(&["add", "other"]));
    succeeded(&house.run(&["commit", "-q", "-m", "side"]));
    succeeded(&house.run(&["checkout", "-q", BRANCH]));
    succeeded(&house.run(&["merge", "-q", "--no-edit", "side"]));
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    let head = String::from_utf8(house.run(&["rev-parse", "HEAD"]).stdout).unwrap();
    assert!(house.branches().contains(head.trim()));
}

#[test]
fn commits_that_are_stored_as_differences_are_put_together() {
    let house = House::new();
    let long =
        "A message that is the same in every commit, and long enough to be worth a difference. "
            .repeat(40);
    house.change("one");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    for number in 0..40 {
        let text = format!("{long}{number}");
        succeeded(&house.run(&["commit", "-q", "--allow-empty", "-m", &text]));
    }
    succeeded(&house.run(&["repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50"]));
    let listed = house.run(&["verify-pack", "-v", &pack_name(&house)]).stdout;
    let listed = String::from_utf8(listed).unwrap();
    let deltas = listed
        .lines()
        .filter(|line| line.contains(" commit ") && line.split(' ').count() > 6)
        .count();
    assert!(deltas > 0, "no commit is a difference:\n{listed}");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
}

fn pack_name(house: &House) -> String {
    let directory = house.work().join(".git/objects/pack");
    let mut entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .find(|path| path.extension().is_some_and(|it| it == "idx"))
        .unwrap()
        .display()
        .to_string()
}

#[test]
fn a_refused_push_is_printed_as_gits_own_rejection() {
    let house = House::new();
    house.change("one");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    succeeded(&house.run(&["tag", "v1"]));
    house.change("two");
    let many: Vec<String> = (0..17).map(|number| format!("HEAD:refs/heads/x{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut told = vec![
        house.refused(&["origin", "HEAD:main"]),
        house.refused(&["origin", "v1"]),
        house.refused(&["origin", "HEAD:refs/heads/agent/other"]),
        house.refused(&["origin", "HEAD:refs/notes/x"]),
        house.refused(&["origin", &format!(":{BRANCH}")]),
        house.refused(&["origin", BRANCH, "HEAD:main"]),
        house.refused(&["-o", "merge_request.create", "origin", BRANCH]),
        house.refused(&[&["origin"][..], &many].concat()),
    ];
    succeeded(&house.run(&["commit", "-q", "--amend", "-m", "rewritten"]));
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    succeeded(&house.run(&["commit", "-q", "--amend", "-m", "rewritten again"]));
    told.push(house.refused(&["--force", "origin", BRANCH]));
    succeeded(&house.run(&["reset", "-q", "--hard", "HEAD~1"]));
    told.push(house.refused(&["--force", "origin", BRANCH]));
    succeeded(&house.run(&["checkout", "-q", "--orphan", "unrelated"]));
    succeeded(&house.run(&["commit", "-q", "-m", "unrelated"]));
    told.push(house.refused(&["--force", "origin", &format!("HEAD:{BRANCH}")]));
    insta::assert_snapshot!(told.join("\n---\n"));
}

#[test]
fn a_pack_that_is_too_large_is_refused_and_a_large_one_comes_in_chunks() {
    let house = House::new();
    let noise = |seed: u64, size: usize| -> Vec<u8> {
        let mut state = seed;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[2]
        })
        .take(size)
        .collect()
    };
    std::fs::write(house.work().join("large"), noise(1, 3 << 20)).unwrap();
    succeeded(&house.run(&["add", "large"]));
    succeeded(&house.run(&["commit", "-q", "-m", "large"]));
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    std::fs::write(house.work().join("large"), noise(2, 9 << 20)).unwrap();
    succeeded(&house.run(&["commit", "-q", "-a", "-m", "larger"]));
    let told = house.refused(&["origin", BRANCH]);
    assert!(told.contains("(the pack is larger than 8388608 bytes)"), "{told}");
}

#[test]
fn a_repository_with_the_longer_hash_is_pushed_to_and_guarded_too() {
    let house = House::with(&["--object-format=sha256"]);
    house.change("one");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    house.change("two");
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    succeeded(&house.run(&["commit", "-q", "--amend", "-m", "rewritten"]));
    let told = house.refused(&["--force", "origin", BRANCH]);
    assert!(told.contains("only moves forwards"), "{told}");
}

#[test]
fn fetching_speaks_gits_lines_in_all_versions() {
    let house = House::new();
    for number in 0..30 {
        let text = format!("commit {number}");
        succeeded(&house.run(&["commit", "-q", "--allow-empty", "-m", &text]));
    }
    succeeded(&house.run(&["push", "-q", "origin", BRANCH]));
    let url = house.url();
    for version in ["0", "1", "2"] {
        let setting = format!("protocol.version={version}");
        let place = format!("clone{version}");
        let all = ["-c", &setting, "clone", "-q", "--depth=5", "-b", BRANCH, &url, &place];
        succeeded(&house.git(house.directory.path(), &all));
        let clone = house.directory.path().join(&place);
        house.commit(&clone, "mine");
        succeeded(&house.git(&clone, &["-c", &setting, "fetch", "-q", "--unshallow"]));
        succeeded(&house.git(&clone, &["-c", &setting, "fetch", "-q", "origin", "main"]));
        succeeded(&house.git(&clone, &["-c", &setting, "ls-remote", "-q"]));
    }
}

#[test]
fn a_refusal_before_anything_is_printed_as_an_error_of_the_remote() {
    let house = House::new();
    let url = house.url().replace("acme", "forbidden");
    for arguments in [
        &["ls-remote", &url][..],
        &["push", &url, "HEAD:x"],
        &["-c", "protocol.version=0", "fetch", &url],
    ] {
        let output = house.run(arguments);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(
            printed.starts_with("fatal: remote error: the task may not reach this repository"),
            "{printed}"
        );
    }
}
