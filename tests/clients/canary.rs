//! A secret that is used for everything a task uses one for is found nowhere: not inside, and outside only sealed (CR1, CR2).

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tests::internet::{House, Internet, Reply, Request};
use unsupported::supported;

use crate::{
    git_server::{Gate, GitServer},
    github,
    scan::{self, KINDS, Needles},
    stage::{Right, grant},
};

/// With what has other spellings in addresses and in base64.
const VALUE: &str = "ghs+Canary/7yB2qLw9TzKx4Vd~Rn8Jf=";
/// The same kind of thing, which is planted on purpose.
const DECOY: &str = "ghs+Decoy/3mNcX8uHs1GbZ5Pe~Wt6Lk=";

const GIT: &str = "git.example.com";
const ECHO: &str = "echo.example.com";
const REPOSITORY: &str = "acme/api";
const BRANCH: &str = "agent/fix";

/// Uses it in every way, and stays: what it has read is still in its memory, and its variables are those of every program.
const RUN: &str = r#"set -e
export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@example.com GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@example.com
export GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1
cd /workspace
git clone --quiet "https://agent:$GH_TOKEN@git.example.com/acme/api" api
cd api
git checkout --quiet -b agent/fix
git commit --quiet --allow-empty -m Fix
git push --quiet origin agent/fix
if test -x /usr/bin/gh; then gh pr create -R acme/api --title x --body x --base main --head agent/fix; gh api user; fi
for place in "-H Authorization:Bearer\ $GH_TOKEN" "-u agent:$GH_TOKEN" "-G --data-urlencode token=$GH_TOKEN"; do
  eval curl -sS -i $place https://echo.example.com/all >> /tmp/echoed
done
cp /tmp/echoed "$HOME/kept"
exec /usr/bin/python3 -c '
import os, sys, urllib.request as u
ask = u.Request("https://echo.example.com/all", headers={"Authorization": "Bearer " + os.environ["GH_TOKEN"]})
kept = u.urlopen(ask).read()
print("ready", len(kept), flush=True)
sys.stdin.read()
'"#;

/// Leaves the decoy in each kind of place. Its memory has it whole only once it runs.
const PLANT: &str = r#"
mkdir -p /workspace/planted/.git
echo "url = https://agent:DECOY@git.example.com/acme/api" > /workspace/planted/.git/config
echo DECOY | base64 -w0 > /tmp/planted
export PLANTED=DECOY
exec /usr/bin/python3 -c '
import sys
kept = bytes.fromhex("HEX"); kept = [bytes([b]) for b in kept]; whole = b"".join(kept)
print("ready", len(whole), flush=True)
sys.stdin.read()
' DECOY"#;

/// Says back all that it was told, in the head and in the body.
fn echo(internet: &Internet) {
    internet.site(ECHO, |request| {
        let told = request.header("authorization").unwrap_or("-");
        let body = request.all();
        let head = format!(
            "HTTP/1.1 200 Toy\r\nX-Told: {told}\r\nSet-Cookie: told={told}\r\nLocation: {}\r\nContent-Length: {}\r\n\r\n",
            request.target,
            body.len()
        );
        Reply::Bytes([head.into_bytes(), body.into_bytes()].concat())
    });
}

/// Starts a script that stays until its input ends, and waits until it is ready.
fn staying(house: &House<'_>, sandbox: &str, script: &str) -> Child {
    let mut command = house.command(&["sandbox", "exec", sandbox, "--", "sh", "-c", script]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("ready ") {
        if lines.read_line(&mut said).unwrap() == 0 {
            let output = child.wait_with_output().unwrap();
            panic!("it did not come to its end: {said}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    child
}

fn begin(internet: &Internet) -> House<'_> {
    let policy = "version: 1
egress:
  implement: { allow: [github, 'git:git.example.com/acme/api', { host: echo.example.com, methods: [GET, POST] }] }
";
    let mut house = House::start(internet, policy);
    let hosts = [github::API, GIT, ECHO].map(|host| ["--host", host]).concat();
    let places = ["--header", "Authorization", "--basic", "--query", "token"];
    let words = [&["secret", "set", "GH_TOKEN"][..], &hosts, &places].concat();
    let said = house.lamp_reading(&words, VALUE.as_bytes());
    assert!(said.succeeded(), "{said}");
    house.sandbox(
        "dev",
        &[
            "--allow",
            "github",
            "--allow",
            "git:git.example.com/acme/api",
            "--allow",
            "{ host: echo.example.com, methods: [GET, POST] }",
            "--secret",
            "GH_TOKEN",
        ],
    );
    let right = |host| Right { host, repository: REPOSITORY, branch: BRANCH };
    grant(&mut house, "dev", &[right(GIT), right("github.com")]);
    house
}

#[test]
fn a_secret_that_was_used_is_found_nowhere_but_sealed() {
    let internet = supported!(Internet::build());
    let server = GitServer::new(&[REPOSITORY]);
    let basic = STANDARD.encode(format!("agent:{VALUE}"));
    server.serve(&internet, GIT, &Gate::Header(format!("Basic {basic}")));
    github::serve(&internet, VALUE);
    echo(&internet);
    let house = begin(&internet);
    let mark = internet.mark();
    let run = staying(&house, "dev", RUN);

    // It was really used: every host got the value, and the push is there.
    for host in [github::API, GIT, ECHO] {
        let has_it = |request: &Request| {
            let all = request.all();
            request.host() == host && scan::spellings(VALUE).iter().any(|it| all.contains(it))
        };
        let arrived = internet.since(mark);
        let used = arrived.iter().filter_map(|it| it.request()).filter(|it| has_it(it)).count();
        assert!(used > 0 || (host == github::API && !Path::new("/usr/bin/gh").exists()), "{host}");
    }
    assert!(server.tip(REPOSITORY, BRANCH).is_some());
    let echoed = house.shell("dev", "cat /tmp/echoed");
    assert!(
        echoed.out.contains("***") && echoed.out.matches("HTTP/1.1 200").count() >= 3,
        "{echoed}"
    );
    assert!(house.path().join("data/secrets/values/GH_TOKEN").is_file(), "its sealed form");
    let gateway = house.gateway().unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{gateway}/limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert!(core.split_whitespace().nth(4) == Some("0"), "the gateway leaves no core file: {core}");

    let mut said = house.complaints();
    let found = scan::everywhere(&internet, &house, &Needles::of(VALUE), &said);
    let places: BTreeSet<&String> = found.values().flatten().collect();
    assert!(places.is_empty(), "it was left here: {found:#?}");

    // The control: the same look finds what was planted, in every kind of place.
    let hex = scan::hexadecimal(DECOY);
    let split: String = hex
        .as_bytes()
        .chunks(2)
        .map(|it| String::from_utf8_lossy(it))
        .collect::<Vec<_>>()
        .join(" ");
    let planted = staying(&house, "dev", &PLANT.replace("DECOY", DECOY).replace("HEX", &split));
    house.write("data/planted.log", &format!("{{\"token\":\"{hex}\"}}\n"));
    house.write("core.planted", DECOY);
    said.push(format!("WARN a token: {DECOY}"));
    let found = scan::everywhere(&internet, &house, &Needles::of(DECOY), &said);
    for kind in KINDS {
        if kind == "disk" && !scan::has_disk(&house) {
            unsupported::part("a look at the disk of all sandboxes", "there is none here");
            continue;
        }
        assert!(!found[kind].is_empty(), "{kind}: {found:#?}");
    }
    assert_eq!(found["files inside"].len(), 2, "{found:#?}");
    for mut child in [run, planted] {
        drop(child.stdin.take());
        let _ = child.wait();
    }
}
