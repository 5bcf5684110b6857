//! Files that a sandbox has in common with the host and with its neighbours must not tell it what these do, and must not
//! be a way to tell them something: watches and locks end at the sandbox.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use contracts::sandbox::User;
use domain::{agent::Tier, id::SandboxId};

use crate::{
    fixture::{Fixture, is_root, outside, program, users},
    table::Tally,
};

/// Everybody has these. No program that the suite runs inside meanwhile uses them, or opens anything in the directory.
const FILE: &str = "/usr/bin/true";
const OTHER_FILE: &str = "/usr/lib/os-release";
const DIRECTORY: &str = "/usr/lib";

const UNSEEN: &str = "value others unseen, own seen";
const SEEN: &str = "value others seen, own seen";

#[tokio::test(flavor = "multi_thread")]
async fn watches_and_locks_end_at_the_sandbox() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    let controls =
        [notices_on_the_host(&fixture, FILE).await, notices_on_the_host(&fixture, DIRECTORY).await];
    let lock_control = locks_on_the_host(&fixture).await;
    for tier in fixture.tiers() {
        let pair = (fixture.open(tier).await, fixture.open(tier).await);
        for user in users() {
            for (watched, control) in [FILE, DIRECTORY].into_iter().zip(&controls) {
                notices(&fixture, (tier, user, watched), pair, control, &mut tally).await;
            }
            locks(&fixture, (tier, user), pair, &lock_control, &mut tally).await;
        }
        mounts(&fixture, tier, pair.0, &mut tally).await;
    }
    fixture.end().await;
    tally.finish("watches", 14);
}

/// Runs the one file and reads both, on the host and in a neighbour.
async fn use_them(fixture: &Fixture, neighbour: Option<SandboxId>) {
    assert!(Command::new(FILE).status().unwrap().success());
    assert!([FILE, OTHER_FILE].iter().all(|file| !std::fs::read(file).unwrap().is_empty()));
    if let Some(neighbour) = neighbour {
        let script = format!("{FILE} && cat {FILE} {OTHER_FILE} | wc -c");
        let said = fixture.shell(neighbour, &script).await;
        assert!(said.parse::<u64>().is_ok_and(|bytes| bytes > 0), "{said}");
    }
}

async fn notices(
    fixture: &Fixture,
    (tier, user, watched): (Tier, User, &str),
    (one, other): (SandboxId, SandboxId),
    control: &str,
    tally: &mut Tally,
) {
    let place = meeting(fixture, one).await;
    let words = ["notices", watched, &place];
    let what = format!("45 {tier} {user:?} notices of {watched}");
    let acting = async || use_them(fixture, Some(other)).await;
    let (found, Some(())) = beside(fixture, (one, user), &words, acting).await else {
        return tally.unsupported(&what, "it cannot watch");
    };
    let both = format!("{found}; outside: {control}");
    match found.as_str() {
        _ if control != SEEN => tally.unsupported(&what, &both),
        UNSEEN => tally.passed(&what, &both),
        _ if is_shared() => tally.unsupported(&what, &format!("{both}: {SHARED}")),
        _ => tally.failed(&what, &both),
    }
}

async fn locks(
    fixture: &Fixture,
    (tier, user): (Tier, User),
    (one, other): (SandboxId, SandboxId),
    control: &str,
    tally: &mut Tally,
) {
    let place = meeting(fixture, one).await;
    let taking = async || {
        let own = fixture.probe(one, user, &["take-lock", FILE]).await;
        let neighbour = fixture.probe(other, user, &["take-lock", FILE]).await;
        (own, neighbour, outside(&["take-lock", FILE]))
    };
    let what = format!("45 {tier} {user:?} locks on {FILE}");
    let words = ["hold-lock", FILE, &place];
    let (held, taken) = beside(fixture, (one, user), &words, taking).await;
    let Some((own, neighbour, host)) = taken else {
        return tally.unsupported(&what, &format!("it can hold none: {held}"));
    };
    let all = format!(
        "held: {held}; itself {own}, a neighbour {neighbour}, the host {host}; \
         on the host, of the host's own: {control}"
    );
    let holds = held == "allowed" && neighbour == "allowed" && host == "allowed";
    let is_shown = own == "denied EAGAIN" && control == "denied EAGAIN";
    match (holds, is_shown) {
        (true, true) => tally.passed(&what, &all),
        (true, false) => tally.unsupported(&what, &all),
        (false, _) if is_shared() => tally.unsupported(&what, &format!("{all}: {SHARED}")),
        (false, _) => tally.failed(&what, &all),
    }
}

/// What is mounted inside tells nothing of where things lie outside.
async fn mounts(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    let shown = fixture.shell(id, "cat /proc/self/mountinfo").await;
    let data = fixture.at.path().display().to_string();
    let what = format!("45 {tier} paths of the host among the mounts");
    let outside = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let of_usr = shown.lines().find(|line| line.split(' ').nth(4) == Some("/usr"));
    let root = of_usr.and_then(|line| line.split(' ').nth(3)).unwrap_or("/");
    let tells = shown.contains(&data) || root != "/" || shown.contains("lowerdir=/");
    let found = format!("{} mounts, /usr from `{root}`", shown.lines().count());
    match (shown.is_empty() || tells, outside.contains(&data)) {
        (false, true) => tally.passed(&what, &found),
        (false, false) => tally.unsupported(&what, &format!("{found}, and outside, too")),
        (true, _) if is_shared() => tally.unsupported(&what, SHARED),
        (true, _) => tally.failed(&what, &shown),
    }
}

const SHARED: &str = "something is mounted below /usr, and an ordinary user cannot leave it out";

/// Whether the kernel makes no overlay of the host's directory here.
fn is_shared() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let is_below = |line: &str| line.split(' ').nth(4).is_some_and(|at| at.starts_with("/usr/"));
    !is_root() && mounts.lines().any(is_below)
}

/// A new directory inside, for the probe and those that act.
async fn meeting(fixture: &Fixture, id: SandboxId) -> String {
    let made = fixture.shell(id, "d=$(mktemp -d) && chmod 777 $d && echo $d").await;
    assert!(made.starts_with("/tmp/"), "{made}");
    made
}

/// Does something while the probe waits. Gives what the probe said, and what came of the other, if it came to that. The last
/// of the words is where they meet.
async fn beside<T>(
    fixture: &Fixture,
    (id, user): (SandboxId, User),
    words: &[&str],
    act: impl AsyncFnOnce() -> T,
) -> (String, Option<T>) {
    let place = words.last().unwrap();
    let mut probing = std::pin::pin!(fixture.probe(id, user, words));
    let mut again = tokio::time::interval(Duration::from_millis(20));
    let ready = async {
        while fixture.shell(id, &format!("test -e {place}/ready && echo yes")).await != "yes" {
            again.tick().await;
        }
    };
    tokio::select! {
        said = &mut probing => return (said, None),
        () = ready => {}
    }
    let acting = async {
        let done = act().await;
        fixture.shell(id, &format!("touch {place}/others")).await;
        done
    };
    let (said, done) = tokio::join!(probing, acting);
    (said, Some(done))
}

/// The control: without a sandbox in between, everything is noticed.
async fn notices_on_the_host(fixture: &Fixture, watched: &str) -> String {
    let place = fixture.at.path().join(format!("meeting{}", watched.replace('/', "-")));
    with_probe(&place, &["notices", watched], || use_them(fixture, None)).await.1
}

async fn locks_on_the_host(fixture: &Fixture) -> String {
    let file = fixture.at.path().join("locked");
    std::fs::write(&file, "of the host").unwrap();
    let file = file.display().to_string();
    let place = fixture.at.path().join("meeting-of-locks");
    let take = async || outside(&["take-lock", &file]);
    with_probe(&place, &["hold-lock", &file], take).await.0
}

/// Runs the probe outside, and does something meanwhile. Gives what came of that, and what the probe said.
async fn with_probe<T>(place: &Path, words: &[&str], act: impl AsyncFnOnce() -> T) -> (T, String) {
    std::fs::create_dir(place).unwrap();
    let mut command = Command::new(program());
    let running = command.args(words).arg(place).stdout(Stdio::piped()).spawn().unwrap();
    let mut again = tokio::time::interval(Duration::from_millis(20));
    while !place.join("ready").exists() {
        again.tick().await;
    }
    let done = act().await;
    std::fs::write(place.join("others"), "").unwrap();
    let said = running.wait_with_output().unwrap();
    (done, String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
