//! A workspace that is read-only, and everything that would change it all the same.
//!
//! What counts is what a command that comes afterwards finds there, not what an attempt says of itself: its own view may be
//! another. Attempts on files have their control in a sandbox of the same tier whose workspace can be written. Attempts on mounts, which no
//! sandbox lets anybody make, have theirs on the host, against a directory that is read-only there.

use std::process::Command;

use contracts::sandbox::{FileAsk, Hooks, Sandboxes as _, Spec, Transfer, User, WorkspaceAccess};
use domain::{agent::Tier, id::SandboxId};

use crate::{
    fixture::{Fixture, is_root, users},
    table::Tally,
};

/// What is in it. `$W` is the workspace, `$T` a directory that can be written.
const FILL: &str = r#"
rm -rf $W/* $W/.git* 2>/dev/null
mkdir -p $W/web/.git/refs && cd $W/web
echo kept > file; echo "ref: refs/heads/main" > .git/HEAD; echo tool > tool; chmod 755 tool
"#;

/// Everything there is: names, kinds, sizes, modes, owners, times and contents. As an archive, because an old gVisor refuses what `ls` and
/// `stat` ask.
const LOOK: &str = "cd $W && tar c --sort=name --numeric-owner --format=posix \\
    --pax-option=delete=atime,exthdr.name=%d/%f . | cksum; find . | sort";

/// Attempts of which each changes a workspace that can be written.
const FILES: &[(&str, &str)] = &[
    ("write", "echo x > $W/web/file"),
    ("append", "echo x >> $W/web/file"),
    ("create", "echo x > $W/web/new"),
    ("create at the top", "echo x > $W/new"),
    ("truncate", "truncate -s 0 $W/web/file"),
    ("overwrite in place", "echo y | dd of=$W/web/file conv=notrunc"),
    ("remove", "rm -f $W/web/file"),
    ("remove all", "rm -rf $W/web"),
    ("rename", "mv $W/web/file $W/web/other"),
    ("rename over", "echo x > $T/mine; mv -f $T/mine $W/web/file"),
    ("move out", "mv $W/web/file $T/moved"),
    ("directory", "mkdir $W/web/directory"),
    ("mode", "chmod 700 $W/web/file"),
    ("time", "touch -d 2001-01-01 $W/web/file"),
    ("symbolic link", "ln -s / $W/web/link"),
    ("pipe", "mkfifo $W/web/pipe"),
    ("hard link out, written through", "ln $W/web/file $T/out && echo x > $T/out"),
    ("hard link in", "echo x > $T/mine; ln $T/mine $W/web/mine"),
    ("link to it, written through", "ln -s $W/web/file $T/link; echo x > $T/link"),
    ("/proc/self/root", "echo x > /proc/self/root$W/web/file"),
    ("/proc/self/cwd", "cd $W/web && echo x > /proc/self/cwd/file"),
    ("reopen a descriptor", "exec 9< $W/web/file; echo x > /proc/self/fd/9"),
    ("the directory's descriptor", "exec 9< $W/web; echo x > /proc/self/fd/9/file"),
    ("unpack", "cd $T && mkdir -p a && echo x > a/file && tar cf - a | tar xf - -C $W/web"),
    ("copy", "cp -r /etc/passwd $W/web/"),
    ("git's head", "echo x > $W/web/.git/HEAD"),
    ("git init", "git init -q $W/web/fresh"),
    ("git config", "git init -q $W/other && git -C $W/other config user.name x"),
];

/// The same, where only root inside can do it even in one that can be written.
const OF_ROOT: &[(&str, &str)] = &[
    ("owner", "chown 4242 $W/web/file"),
    ("in a root of its own", "chroot / /bin/sh -c \"echo x > $W/web/file\""),
    ("the workspace renamed", "mv $W ${W}-gone && mkdir $W"),
];

/// Attempts to get rid of the mount, or to get around it.
const MOUNTS: &[(&str, &str)] = &[
    ("remount", "mount -o remount,bind,rw $W; echo x > $W/web/file"),
    ("unmount", "umount $W; echo x > $W/web/file"),
    ("unmount lazily", "umount -l $W; echo x > $W/web/file"),
    (
        "new mount namespace",
        "unshare -m --propagation unchanged sh -c \"umount $W; echo x > $W/web/file\"",
    ),
    (
        "a second view of it",
        "mkdir -p $T/view; mount --bind $W $T/view; mount -o remount,bind,rw $T/view; echo x > $T/view/web/file",
    ),
];

/// The same by ways that do not help on the host either, where the kernel locks what a user namespace did not mount itself, or that show
/// something else only to whoever made it.
const LOCKED: &[(&str, &str)] = &[
    (
        "unmount in a user namespace",
        "unshare -Urm --propagation unchanged sh -c \"umount $W; echo x > $W/web/file\"",
    ),
    (
        "remount in a user namespace",
        "unshare -Urm --propagation unchanged sh -c \"mount -o remount,bind,rw $W; echo x > $W/web/file\"",
    ),
    ("the first process's namespace", "nsenter -t 1 -m sh -c \"umount $W; echo x > $W/web/file\""),
    ("the first process's root", "echo x > /proc/1/root$W/web/file"),
    ("something over it", "mount -t tmpfs none $W; echo x > $W/web/file"),
    (
        "an overlay over it",
        "mkdir -p $T/u $T/w; mount -t overlay overlay -o lowerdir=$W,upperdir=$T/u,workdir=$T/w $W; echo x > $W/web/file",
    ),
    ("the file system itself", "mount -o remount,rw /; echo x > $W/web/file"),
    ("the root turned around", "cd / && pivot_root . tmp; echo x > $W/web/file"),
];

fn with_places(script: &str) -> String {
    format!("W=/workspace; T=/home/lamp/scratch; {script}")
}

async fn shell(fixture: &Fixture, id: SandboxId, user: User, script: &str) -> String {
    let script = with_places(script);
    match fixture.run(id, user, &["/bin/sh", "-c", &script]).await {
        Ok(said) => said.text(),
        Err(error) => format!("refused {error}"),
    }
}

async fn look(fixture: &Fixture, id: SandboxId) -> String {
    let seen = shell(fixture, id, User::Agent, LOOK).await;
    assert!(seen.contains("./web/file"), "{seen}");
    seen
}

fn sealed(spec: Spec) -> Spec {
    let hooks = Hooks { post_clone: with_places(FILL), ..Hooks::default() };
    Spec { hooks, workspace: WorkspaceAccess::ReadOnly, ..spec }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_inside_changes_a_read_only_workspace() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in fixture.tiers() {
        let target = fixture.open_as(&sealed(fixture.spec(tier))).await;
        let control = fixture.open(tier).await;
        let before = look(&fixture, target).await;
        for user in users() {
            files(&fixture, tier, user, (target, control), &mut tally).await;
            mounts(&fixture, tier, user, target, &mut tally).await;
            archive(&fixture, tier, user, (target, control), &mut tally).await;
        }
        let scratch = "for d in /tmp /home/lamp /dev/shm; do echo x > $d/x || exit; done; echo all";
        let wrote = shell(&fixture, target, User::Agent, scratch).await;
        tally.check(&format!("45 {tier} all else is written"), &wrote, (wrote == "all").into());
        let after = look(&fixture, target).await;
        tally.check(&format!("45 {tier} after all of it"), "looked", (after == before).into());
        fixture.provider.destroy(control).await.unwrap();
        fixture.provider.destroy(target).await.unwrap();
    }
    fixture.end().await;
    tally.finish("a read-only workspace", 178);
}

/// Makes each attempt in a shell of its own, and says how each ended, with the last thing that it said; and in the end, whether the
/// workspace is as it was. What is given to `$RENEW` is done before each.
const TRY: &str = r#"
export W T; before=$(eval "$LOOK" 2>&1); line='
'
for attempt; do
  rm -rf $T; mkdir -p -m 777 $T; eval "$RENEW" >/dev/null 2>&1
  said=$(cd / && sh -c "$attempt" 2>&1 </dev/null)
  echo "$? ${said##*$line}"
done
if [ "$(eval "$LOOK" 2>&1)" = "$before" ]; then echo same; else echo changed; fi
"#;

/// So many at once, because a command has a minute.
const AT_ONCE: usize = 8;

/// What came of an attempt.
struct Came {
    /// It said so itself.
    succeeded: bool,
    /// The workspace is as it was before it and a few others.
    unchanged: bool,
    said: String,
}

async fn tries(
    fixture: &Fixture,
    id: SandboxId,
    user: User,
    renew: &str,
    attempts: &[(&str, &str)],
) -> Vec<Came> {
    let script = with_places(&format!("RENEW='{renew}'; LOOK='{LOOK}'; {TRY}"));
    let mut came = Vec::new();
    for chunk in attempts.chunks(AT_ONCE) {
        let head = ["/bin/sh", "-c", &script, "sh"].into_iter();
        let argv: Vec<&str> = head.chain(chunk.iter().map(|(_, attempt)| *attempt)).collect();
        let said = fixture.run(id, user, &argv).await.unwrap().text();
        let mut lines: Vec<&str> = said.lines().collect();
        let unchanged = lines.pop() == Some("same");
        assert_eq!(lines.len(), chunk.len(), "{said}");
        came.extend(lines.iter().map(|line| {
            let (status, said) = line.split_once(' ').unwrap_or((line, "said nothing"));
            Came { succeeded: status == "0", unchanged, said: said.to_owned() }
        }));
    }
    came
}

async fn files(
    fixture: &Fixture,
    tier: Tier,
    user: User,
    (target, control): (SandboxId, SandboxId),
    tally: &mut Tally,
) {
    let own = match user {
        User::Agent => &[],
        User::Root => OF_ROOT,
    };
    let attempts = [FILES, own].concat();
    // By whoever owns what is there, so that it is not the modes that refuse.
    let renew = format!("[ -d ${{W}}-gone ] && rm -rf $W && mv ${{W}}-gone $W; {FILL}");
    shell(fixture, control, User::Root, "rm -rf $W/* $W/.git").await;
    shell(fixture, control, User::Agent, "rm -rf $W/* $W/.git").await;
    let worked = tries(fixture, control, user, &renew, &attempts).await;
    let found = tries(fixture, target, user, ":", &attempts).await;
    for (((name, _), came), control) in attempts.iter().zip(found).zip(worked) {
        let what = format!("45 {tier} {user:?} {name}");
        let works = control.succeeded && !control.unchanged;
        settle(tally, &what, &came.said, came.unchanged && !came.succeeded, works);
    }
}

async fn mounts(fixture: &Fixture, tier: Tier, user: User, target: SandboxId, tally: &mut Tally) {
    let found = tries(fixture, target, user, ":", MOUNTS).await;
    for ((name, attempt), came) in MOUNTS.iter().zip(found) {
        let works = works_outside(attempt);
        settle(tally, &format!("55 {tier} {user:?} {name}"), &came.said, came.unchanged, works);
    }
    let found = tries(fixture, target, user, ":", LOCKED).await;
    for ((name, _), came) in LOCKED.iter().zip(found) {
        tally.check(&format!("55 {tier} {user:?} {name}"), &came.said, came.unchanged.into());
    }
}

/// An archive that the host unpacks for a user.
async fn archive(
    fixture: &Fixture,
    tier: Tier,
    user: User,
    (target, control): (SandboxId, SandboxId),
    tally: &mut Tally,
) {
    shell(fixture, control, User::Agent, FILL).await;
    let ask = FileAsk::TarOut { path: "/etc/passwd".to_owned(), user };
    let (done, bytes) = fixture.file(control, &ask, &[]).await.unwrap();
    assert_eq!(done, Transfer::Done);
    let before = look(fixture, target).await;
    let mut outcomes = Vec::new();
    for id in [target, control] {
        let path = "/workspace/web".to_owned();
        outcomes.push(fixture.file(id, &FileAsk::TarIn { path, user }, &bytes).await.unwrap().0);
    }
    let unchanged = look(fixture, target).await == before;
    let refused = matches!(outcomes[0], Transfer::Failed { .. });
    let what = format!("44 {tier} {user:?} archive from outside");
    let works = outcomes[1] == Transfer::Done;
    settle(tally, &what, &format!("{:?}", outcomes[0]), unchanged && refused, works);
}

fn settle(tally: &mut Tally, what: &str, said: &str, unchanged: bool, works: bool) {
    let said = said.lines().last().unwrap_or("said nothing");
    match (unchanged, works) {
        (true, true) => tally.passed(what, said),
        (true, false) => {
            tally.unsupported(what, &format!("it does not work elsewhere either: {said}"));
        }
        (false, _) => tally.failed(what, said),
    }
}

/// Whether an attempt on a mount changes a directory that is read-only on the host, in a mount namespace of its own.
fn works_outside(attempt: &str) -> bool {
    if !is_root() {
        return false;
    }
    let at = tempfile::tempdir().unwrap();
    let script = format!(
        "W={at}/w; T={at}/t; mkdir $W $T; {FILL} cd /; mount --bind $W $W && mount -o remount,bind,ro $W || exit; {attempt}",
        at = at.path().display()
    );
    let ran = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    let found = std::fs::read_to_string(at.path().join("w/web/file"));
    drop(ran);
    found.is_ok_and(|found| found == "x\n")
}

/// What was got hold of while it could still be written: names elsewhere, open files, processes, mappings.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_from_before_reaches_into_a_read_only_workspace() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in fixture.tiers() {
        for user in users() {
            let spec = fixture.spec(tier);
            let target = fixture.open_as(&spec).await;
            let control = fixture.open(tier).await;
            let grab = "ln $W/web/file /home/lamp/name; ln $W/web/tool /var/tmp/name; \
                (exec 9>> $W/web/file; while :; do echo x >&9; sleep 0.05; done) >/dev/null 2>&1 & \
                (cd $W/web; while :; do echo x > ./busy; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.3";
            let change = "echo by name > /home/lamp/name; echo by name > /var/tmp/name; sleep 0.3";
            for id in [target, control] {
                shell(&fixture, id, user, FILL).await;
                // Where the agent may make links in, and so may root.
                shell(&fixture, id, User::Root, "chmod 1777 /var/tmp /home/lamp").await;
                shell(&fixture, id, user, grab).await;
            }
            let sealed = Spec { workspace: WorkspaceAccess::ReadOnly, ..spec };
            fixture.provider.open(&sealed).await.unwrap();
            let (before, of_control) =
                (look(&fixture, target).await, look(&fixture, control).await);
            for id in [target, control] {
                shell(&fixture, id, user, change).await;
            }
            let unchanged = look(&fixture, target).await == before;
            let works = look(&fixture, control).await != of_control;
            let names = shell(&fixture, target, user, "cat /home/lamp/name /var/tmp/name").await;
            let what = format!("45 {tier} {user:?} names, files and processes from before");
            settle(&mut tally, &what, &names, unchanged && names == "by name\nby name", works);
            for id in [target, control] {
                fixture.provider.destroy(id).await.unwrap();
            }
        }
    }
    fixture.end().await;
    tally.finish("what was there before a workspace was read-only", 4);
}

/// A place that is not what it seems is refused, and never opened as if it could not be written.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_was_made_something_else_is_refused() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in fixture.tiers() {
        for (name, trick) in [
            ("a link", "rm -rf $W; ln -s /tmp $W"),
            ("a file", "rm -rf $W; echo x > $W"),
            ("gone", "rm -rf $W"),
        ] {
            let what = format!("45 {tier} the workspace is {name}");
            if !is_root() {
                tally.unsupported(&what, "needs a root inside");
                continue;
            }
            let spec = fixture.spec(tier);
            let id = fixture.open_as(&spec).await;
            shell(&fixture, id, User::Root, trick).await;
            let sealed = Spec { workspace: WorkspaceAccess::ReadOnly, ..spec };
            let answer = fixture.provider.open(&sealed).await;
            let said = answer.as_ref().map_or_else(ToString::to_string, |()| "opened".to_owned());
            tally.check(&what, &said, answer.is_err().into());
            fixture.provider.destroy(id).await.unwrap();
        }
    }
    fixture.end().await;
    tally.finish("workspaces that are something else", 6);
}
