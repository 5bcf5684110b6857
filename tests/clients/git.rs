//! Git itself against a real git server: it clones, fetches and pushes the task's branch, and every other push is rejected in its own words.

use tests::internet::{House, Internet, Said};
use unsupported::supported;

use crate::{
    git_server::{Gate, GitServer},
    stage::{Right, grant},
};

const HOST: &str = "git.example.com";
const SHOP: &str = "team/shop";
const OTHER: &str = "team/other";
const BRANCH: &str = "agent/fix";

const POLICY: &str = "version: 1
egress:
  research: { allow: ['git:git.example.com/team/shop'] }
  implement: { allow: ['git:git.example.com/team/shop', 'git:git.example.com/team/other'] }
";

/// What every script begins with: who commits, and where.
const BEGIN: &str = "set -e
export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@example.com GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@example.com
mkdir -p /workspace && cd /workspace
commit() { git commit --quiet --allow-empty -m \"$1\"; }
";

fn script(house: &House<'_>, sandbox: &str, rest: &str) -> Said {
    house.shell(sandbox, &format!("{BEGIN}{rest}"))
}

fn works(house: &House<'_>, sandbox: &str, rest: &str) -> String {
    let said = script(house, sandbox, rest);
    assert!(said.succeeded(), "{rest}: {said}");
    said.out.trim().to_owned()
}

/// A house with two repositories outside, and one sandbox that may push one branch of the first.
fn begin<'a>(internet: &'a Internet, server: &GitServer) -> House<'a> {
    server.serve(internet, HOST, &Gate::Open);
    let mut house = House::start(internet, POLICY);
    let (shop, other) = (format!("git:{HOST}/{SHOP}"), format!("git:{HOST}/{OTHER}"));
    house.sandbox("dev", &["--allow", &shop, "--allow", &other]);
    grant(&mut house, "dev", &[Right { host: HOST, repository: SHOP, branch: BRANCH }]);
    house
}

#[test]
fn git_clones_fetches_and_pushes_the_branch_of_the_task() {
    let internet = supported!(Internet::build());
    let server = GitServer::new(&[SHOP, OTHER]);
    let house = begin(&internet, &server);
    works(&house, "dev", &format!("git clone --quiet https://{HOST}/{SHOP}.git shop"));
    server.grow(SHOP);
    let seen = works(&house, "dev", "cd shop; git fetch --quiet; git log --format=%s origin/main");
    assert_eq!(seen, "Grow\nBegin");
    for message in ["First", "Second"] {
        let push = format!(
            "cd shop; git checkout --quiet -B {BRANCH}; commit {message}; git push --quiet origin {BRANCH}; git rev-parse HEAD"
        );
        let made = works(&house, "dev", &push);
        assert_eq!(server.tip(SHOP, BRANCH), Some(made), "{message}");
    }
    // With the name that the clone of another program would use, and with a history that is cut off.
    works(&house, "dev", &format!("git clone --quiet --depth 1 https://{HOST}/{SHOP} shallow"));
    // Without a proxy, names lead to the doors.
    let bare = "unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY";
    works(&house, "dev", &format!("{bare}; git ls-remote https://{HOST}/{SHOP} | grep {BRANCH}"));
    // A push that is larger than git keeps in memory goes in chunks.
    let large = format!(
        "cd shop; head -c 3000000 /dev/urandom > large; git add large; commit Large; git push --quiet origin {BRANCH}; git rev-parse HEAD"
    );
    let made = works(&house, "dev", &large);
    assert_eq!(server.tip(SHOP, BRANCH), Some(made));
}

#[test]
fn every_other_push_is_rejected_in_gits_own_words_and_changes_nothing() {
    let internet = supported!(Internet::build());
    let server = GitServer::new(&[SHOP, OTHER]);
    let house = begin(&internet, &server);
    house.sandbox("reader", &["--allow", &format!("git:{HOST}/{SHOP}"), "--phase", "research"]);
    let clone = format!(
        "git clone --quiet https://{HOST}/{SHOP} shop; cd shop; git checkout --quiet -b {BRANCH}"
    );
    works(&house, "dev", &format!("{clone}; commit First; git push --quiet origin {BRANCH}"));
    works(&house, "reader", &format!("{clone}; commit First"));
    let before = [server.state(SHOP), server.state(OTHER)];
    let not_ours = |what: &str| format!("`{what}` is not this task's to push; push to `{BRANCH}`");
    let attempts = [
        (
            "dev",
            "another branch",
            "git push origin HEAD:refs/heads/main".to_owned(),
            not_ours("main"),
        ),
        (
            "dev",
            "a new branch beside it",
            "git push origin HEAD:refs/heads/agent/fix2".to_owned(),
            not_ours("agent/fix2"),
        ),
        ("dev", "a tag", "git tag v1; git push origin v1".to_owned(), not_ours("refs/tags/v1")),
        (
            "dev",
            "both at once",
            format!("git push origin HEAD:{BRANCH} HEAD:refs/heads/main"),
            not_ours("main"),
        ),
        (
            "dev",
            "an option",
            format!("commit More; git push -o merge origin {BRANCH}"),
            "push options are not carried; push without them".to_owned(),
        ),
        (
            "dev",
            "force",
            format!(
                "git reset --quiet --hard origin/{BRANCH}; git commit --quiet --amend --allow-empty -m Other; git push --force origin {BRANCH}"
            ),
            format!(
                "`{BRANCH}` only moves forwards: commit on top of what the server has, and push without force"
            ),
        ),
        (
            "dev",
            "deletion",
            format!("git push origin :{BRANCH}"),
            format!("`{BRANCH}` may not be deleted"),
        ),
        (
            "dev",
            "another repository",
            format!("git push https://{HOST}/{OTHER} HEAD:{BRANCH}"),
            format!(
                "`{OTHER}` is for reading; this task pushes to `{BRANCH}` of `{HOST}/{SHOP}` only"
            ),
        ),
        (
            "reader",
            "another phase",
            format!("git push origin {BRANCH}"),
            format!("nothing may be pushed while `research`; `{SHOP}` is for reading"),
        ),
        (
            "reader",
            "a repository that no rule names",
            format!("git push https://{HOST}/{OTHER} HEAD:{BRANCH}"),
            "Lamplighter refused git.example.com:443 in research: ".to_owned(),
        ),
    ];
    for (sandbox, what, words, sentence) in attempts {
        let said = script(&house, sandbox, &format!("cd shop; {words}"));
        assert!(!said.succeeded() && said.err.contains(&sentence), "{what}: {said}");
        assert_eq!([server.state(SHOP), server.state(OTHER)], before, "{what}");
    }
}

#[test]
fn a_pack_that_is_larger_than_any_task_needs_never_becomes_a_commit() {
    let internet = supported!(Internet::build());
    let server = GitServer::new(&[SHOP, OTHER]);
    let house = begin(&internet, &server);
    let begin = format!(
        "git clone --quiet https://{HOST}/{SHOP} shop; cd shop; git checkout --quiet -b {BRANCH}"
    );
    works(&house, "dev", &format!("{begin}; commit Small; git push --quiet origin {BRANCH}"));
    let before = server.state(SHOP);
    // Not compressed, so it is as large as it looks. Nothing of it is on the disk, and git keeps it as the pack that it sends.
    let large = "cd shop; git config core.compression 0; git config core.bigFileThreshold 1m; \
                 truncate -s 513M large; git add large; commit Large";
    let said = script(&house, "dev", &format!("{large}; git push origin {BRANCH}"));
    assert!(
        !said.succeeded() && said.err.contains("the pack is larger than 536870912 bytes"),
        "{said}"
    );
    assert_eq!(server.state(SHOP), before);
}
