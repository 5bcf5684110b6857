//! Killed between any two steps, and two servers at once: in the end there is one branch, one pull request, and nothing lost.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use contracts::forge::{
    Author, Comment, Delivery, Forges as _, Merge, PullRequests as _, PullState,
};
use domain::{code::PullRequestNumber, time::Timestamp};

use crate::{
    delivering::commit,
    fixture::{Fixture, delivery, key, repository},
    reverting::{merged, revert},
};

const ONE: PullRequestNumber = PullRequestNumber(1);

/// More calls than anything takes.
const NEVER: usize = 999;

/// When a git that was told to die does so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    /// Before it has done anything.
    Before,
    /// When it has done all, but nobody hears of it.
    After,
}

/// A git that works until its call of this number, and from then on is dead, as is whoever called it. It writes down its calls.
fn mortal(fixture: &Fixture, last: usize, dies: Dies) -> PathBuf {
    let (program, calls) = (fixture.path("mortal"), fixture.path("calls"));
    let _ = fs::remove_file(&calls);
    let after = match dies {
        Dies::Before => "",
        // One that answers questions has done nothing before it is asked.
        Dies::After => "case \"$*\" in *--batch-command*) ;; *) git \"$@\" >/dev/null 2>&1;; esac;",
    };
    let calls = calls.display();
    // The other side of a push is started by this name too, without `--git-dir`: only our own calls count.
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --git-dir ] || exec git \"$@\"\n\
         echo \"$*\" >>{calls}\n\
         n=$(wc -l <{calls})\n\
         [ $n -lt {last} ] && exec git \"$@\"\n\
         [ $n -eq {last} ] && {{ {after} kill -9 $$; }}\n\
         kill -9 $$\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Every way in which something that takes these calls can be cut off: before each, and after each that changes something.
fn deaths(fixture: &Fixture) -> Vec<(usize, Dies)> {
    let calls = fs::read_to_string(fixture.path("calls")).unwrap();
    let changes = |call: &str| {
        [" push ", " fetch ", " update-ref ", " commit-tree ", " hash-object ", " init "]
            .iter()
            .any(|name| call.contains(name))
    };
    let numbered = calls.lines().zip(1..);
    numbered
        .flat_map(|(call, number)| {
            let after = changes(call).then_some((number, Dies::After));
            [Some((number, Dies::Before)), after]
        })
        .flatten()
        .collect()
}

#[tokio::test]
async fn work_is_taken_once_wherever_the_first_taking_ended() {
    let first = Fixture::new();
    first.change("a", "work");
    let whole = first.forge_named("host", &mortal(&first, NEVER, Dies::Before));
    let expected = whole.take(key(1), &first.taking()).await.unwrap();
    let deaths = deaths(&first);
    assert!(deaths.len() > 12, "{deaths:?}");
    for (last, dies) in deaths {
        let fixture = Fixture::like(&first);
        let dying = fixture.forge_named("host", &mortal(&fixture, last, dies));
        dying.take(key(1), &fixture.taking()).await.unwrap_err();
        let taken = fixture.forge().take(key(1), &fixture.taking()).await.unwrap();
        assert_eq!(taken, expected, "{dies:?} {last}");
        let refs = fixture.git("host/acme+web.git", &["for-each-ref", "refs/lamp"]);
        assert_eq!(refs.lines().count(), 1, "{dies:?} {last}");
    }
}

#[tokio::test]
async fn a_delivery_is_one_pull_request_wherever_the_first_one_ended() {
    delivered_once(Fixture::new()).await;
}

#[tokio::test]
async fn a_delivery_is_one_pull_request_also_where_refs_change_one_by_one() {
    let fixture = Fixture::new();
    fixture.git("remote.git", &["config", "receive.advertiseAtomic", "false"]);
    delivered_once(fixture).await;
}

async fn delivered_once(first: Fixture) {
    let commit_one = commit(&first, &first.forge(), 1).await;
    let pristine = Fixture::like(&first);
    let whole = first.forge_named("host", &mortal(&first, NEVER, Dies::Before));
    whole.deliver(key(2), &delivery(&commit_one)).await.unwrap();
    let deaths = deaths(&first);
    assert!(deaths.iter().filter(|(_, dies)| *dies == Dies::After).count() >= 3, "{deaths:?}");
    for (last, dies) in deaths {
        let fixture = Fixture::like(&pristine);
        let forge = fixture.forge();
        let commit = commit(&fixture, &forge, 1).await;
        let dying = fixture.forge_named("host", &mortal(&fixture, last, dies));
        dying.deliver(key(2), &delivery(&commit)).await.unwrap_err();
        let delivered = forge.deliver(key(2), &delivery(&commit)).await.unwrap();
        assert_eq!(delivered.number, ONE, "{dies:?} {last}");
        assert_eq!(
            fixture.refs(),
            ["refs/heads/agent/x", "refs/heads/trunk", "refs/lamp/pulls/1"],
            "{dies:?} {last}"
        );
        let records = fixture.git("remote.git", &["rev-list", "--count", "refs/lamp/pulls/1"]);
        assert_eq!(records, "1", "it was opened once: {dies:?} {last}");
    }
}

#[tokio::test]
async fn a_merge_is_one_merge_wherever_the_first_one_ended() {
    let first = Fixture::new();
    let forge = first.forge();
    let head = commit(&first, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    first.person_pushes("trunk", "b", "meanwhile");
    let pristine = Fixture::like(&first);
    let wanted = Merge {
        head: head.clone(),
        base: "trunk".to_owned(),
        by: Author::Person("ann".to_owned()),
    };
    let whole = first.forge_named("host", &mortal(&first, NEVER, Dies::Before));
    whole.merge(&repository(), ONE, &wanted).await.unwrap();
    for (last, dies) in deaths(&first) {
        let fixture = Fixture::like(&pristine);
        let dying = fixture.forge_named("host", &mortal(&fixture, last, dies));
        // What was done is done, even when nobody heard of it: the push is asked for again, and found.
        let _ = dying.merge(&repository(), ONE, &wanted).await;
        let forge = fixture.forge();
        let joined = forge.merge(&repository(), ONE, &wanted).await.unwrap();
        assert_eq!(fixture.far("refs/heads/trunk").as_deref(), Some(joined.as_str()));
        let merges = fixture.git("remote.git", &["rev-list", "--count", "--merges", "trunk"]);
        assert_eq!(merges, "1", "{dies:?} {last}");
        let pull = forge.pull(&repository(), ONE).await.unwrap();
        assert!(matches!(pull.state, PullState::Merged { .. }));
    }
}

#[tokio::test]
async fn a_revert_is_one_pull_request_wherever_the_first_one_ended() {
    reverted_once(Fixture::new()).await;
}

#[tokio::test]
async fn a_revert_is_one_pull_request_also_where_refs_change_one_by_one() {
    let fixture = Fixture::new();
    fixture.git("remote.git", &["config", "receive.advertiseAtomic", "false"]);
    reverted_once(fixture).await;
}

async fn reverted_once(first: Fixture) {
    merged(&first, &first.forge()).await;
    let pristine = Fixture::like(&first);
    let whole = first.forge_named("host", &mortal(&first, NEVER, Dies::Before));
    let expected = whole.revert(&repository(), ONE, &revert(&first)).await.unwrap();
    let deaths = deaths(&first);
    assert!(deaths.iter().filter(|(_, dies)| *dies == Dies::After).count() >= 3, "{deaths:?}");
    for (last, dies) in deaths {
        let fixture = Fixture::like(&pristine);
        let dying = fixture.forge_named("host", &mortal(&fixture, last, dies));
        let _ = dying.revert(&repository(), ONE, &revert(&fixture)).await;
        let again = fixture.forge().revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
        assert_eq!(again, expected, "{dies:?} {last}");
        let refs = [
            "refs/heads/agent/revert-1",
            "refs/heads/agent/x",
            "refs/heads/trunk",
            "refs/lamp/pulls/1",
            "refs/lamp/pulls/2",
        ];
        assert_eq!(fixture.refs(), refs, "{dies:?} {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_at_once_open_one_pull_request_for_each_branch() {
    let fixture = Fixture::new();
    let git = std::path::Path::new("git");
    let servers = [fixture.forge_named("one", git), fixture.forge_named("two", git)];
    fixture.change("a", "work");
    let mut commits = Vec::new();
    for server in &servers {
        commits.push(server.take(key(1), &fixture.taking()).await.unwrap().commit);
    }
    assert_eq!(commits[0], commits[1], "the same work is the same commit on both");
    let ask = |server: usize, branch: &str| {
        let delivery = Delivery { branch: branch.parse().unwrap(), ..delivery(&commits[0]) };
        let server = &servers[server];
        async move { server.deliver(key(2), &delivery).await.unwrap().number.0 }
    };
    let (first, second, others) = tokio::join!(
        async { tokio::join!(ask(0, "agent/one"), ask(1, "agent/one")) },
        async { tokio::join!(ask(0, "agent/two"), ask(1, "agent/two")) },
        async { tokio::join!(ask(0, "agent/three"), ask(1, "agent/four")) },
    );
    assert_eq!((first.0, second.0), (first.1, second.1), "a branch has one");
    let all = BTreeSet::from([first.0, second.0, others.0, others.1]);
    assert_eq!(all, BTreeSet::from([1, 2, 3, 4]), "and each its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_comment_is_lost_when_two_servers_write_at_once() {
    let fixture = Fixture::new();
    let git = std::path::Path::new("git");
    let servers = [fixture.forge_named("one", git), fixture.forge_named("two", git)];
    fixture.change("a", "work");
    let commit = servers[0].take(key(1), &fixture.taking()).await.unwrap().commit;
    servers[0].deliver(key(2), &delivery(&commit)).await.unwrap();
    let both = async |number: usize| {
        for round in 0..4 {
            let comment = Comment {
                name: format!("{number}-{round}"),
                author: Author::Platform,
                at: Timestamp::from_millis(1),
                text: String::new(),
                place: None,
            };
            servers[number % 2].comment(&repository(), ONE, &comment).await.unwrap();
        }
    };
    tokio::join!(both(0), both(1), both(2));
    let pull = servers[1].pull(&repository(), ONE).await.unwrap();
    let names: BTreeSet<String> = pull.comments.into_iter().map(|comment| comment.name).collect();
    assert_eq!(names.len(), 12);
    let records = fixture.git("remote.git", &["rev-list", "--count", "refs/lamp/pulls/1"]);
    assert_eq!(records, "13", "nothing that was written is ever replaced");
}
