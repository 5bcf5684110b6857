//! A workspace that is read-only: held by the mount, for everybody inside, from one opening to the next.

use super::{
    super::{Broken, Kept, keep, succeed},
    stage::{Stage, shell},
};
use crate::sandbox::{
    Exec, FileAsk, Hooks, Sandboxes, Spec, State, Transfer, User, WORKSPACE, WorkspaceAccess,
};
use domain::id::SandboxId;

/// Everything that would change a file, each in a shell of its own; says which of them did.
const ATTEMPTS: &str = "cd /workspace || exit 1; \
    (echo x >> note) 2>/dev/null && echo append; \
    (echo x > new) 2>/dev/null && echo new; \
    (rm -f note) 2>/dev/null && echo remove; \
    (mv note moved) 2>/dev/null && echo rename; \
    (mkdir directory) 2>/dev/null && echo directory; \
    (chmod 777 note) 2>/dev/null && echo mode; \
    (ln -s / link) 2>/dev/null && echo link; \
    (ln note /tmp/out) 2>/dev/null && echo hard link out; \
    (echo x > /proc/1/root/workspace/note) 2>/dev/null && echo by the first process; \
    cat note";

const SCRATCH: &str = "for d in /tmp /home/lamp /dev/shm; do echo x > $d/scratch || exit 1; done; \
    cat /home/lamp/scratch";

fn read_only(spec: Spec) -> Spec {
    Spec { workspace: WorkspaceAccess::ReadOnly, ..spec }
}

/// Root inside, where there is one.
async fn as_root<S: Sandboxes>(
    stage: &Stage<'_, S>,
    id: SandboxId,
    script: &str,
) -> Option<Vec<u8>> {
    let command = Exec { user: User::Root, ..shell(script) };
    let said = stage.exec(id, &stage.new_name(), &command, &[]).await;
    said.ok().map(|said| said.out)
}

fn unchanged(promise: &'static str, said: &[u8]) -> Kept {
    if said == b"kept\n" {
        return Ok(());
    }
    let what = format!("this was done: {}", String::from_utf8_lossy(said));
    Err(Broken { promise, what })
}

async fn nothing_can_be_written<S: Sandboxes>(stage: &Stage<'_, S>, id: SandboxId) -> Kept {
    let said = stage.must(id, ATTEMPTS).await?;
    unchanged("the agent changes nothing in a read-only workspace", &said.out)?;
    if let Some(out) = as_root(stage, id, ATTEMPTS).await {
        unchanged("nor does root inside", &out)?;
    }
    let ask = FileAsk::Write { path: format!("{WORKSPACE}/new"), user: User::Agent, mode: 0o644 };
    let (told, _) = succeed("a file that is refused is told", stage.file(id, &ask, b"x").await)?;
    keep("and nor does the host for a user", matches!(told, Transfer::Failed { .. }))?;
    let said = stage.must(id, SCRATCH).await?;
    keep("all else can be written", said.exited(0) && said.out == b"x\n")
}

pub(super) async fn a_read_only_workspace_is_written_by_nobody(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.new_id();
    let hooks = Hooks {
        post_clone: "echo kept > /workspace/note".to_owned(),
        post_start: "if (echo x > /workspace/started) 2>/dev/null; then exit 7; fi; \
                     echo started > /home/lamp/started"
            .to_owned(),
        ..Hooks::default()
    };
    let spec = Spec { hooks, ..read_only(stage.spec(id)) };
    succeed("a read-only sandbox opens", stage.sandboxes.open(&spec).await)?;
    succeed("opening it again changes nothing", stage.sandboxes.open(&spec).await)?;
    keep("it is open", stage.state(id).await? == [State::Open])?;
    keep("it is told as read-only", stage.access(id).await? == [WorkspaceAccess::ReadOnly])?;
    let said = stage.must(id, "cat /home/lamp/started").await?;
    keep("what is run after the start runs under it", said.out == b"started\n")?;
    nothing_can_be_written(stage, id).await?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    // A command wakes it, as it was.
    nothing_can_be_written(stage, id).await?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    succeed("a read-only sandbox wakes", stage.sandboxes.open(&spec).await)?;
    nothing_can_be_written(stage, id).await?;
    stage.destroy(id).await
}

pub(super) async fn each_opening_says_what_can_be_written(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    // By a name that is outside of the workspace, too.
    let script = "echo kept > /workspace/note && ln /workspace/note /home/lamp/note; \
                  sleep 27182 >/dev/null 2>&1 & exec cat /workspace/note";
    keep("a file is made", stage.must(id, script).await?.out == b"kept\n")?;
    let sealed = read_only(stage.spec(id));
    succeed("an open sandbox becomes read-only", stage.sandboxes.open(&sealed).await)?;
    keep("and is told so", stage.access(id).await? == [WorkspaceAccess::ReadOnly])?;
    let by_name = stage.must(id, "echo changed > /home/lamp/note; cat /workspace/note").await?;
    keep("a name outside changes nothing inside", by_name.out == b"kept\n")?;
    nothing_can_be_written(stage, id).await?;
    let copy = stage.new_id();
    let forked = stage.sandboxes.fork(id, &read_only(stage.spec(copy))).await;
    succeed("a read-only fork opens", forked)?;
    nothing_can_be_written(stage, copy).await?;
    stage.destroy(copy).await?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    succeed("it is opened writable", stage.sandboxes.open(&stage.spec(id)).await)?;
    keep("and is told so", stage.access(id).await? == [WorkspaceAccess::Writable])?;
    let said = stage.must(id, "echo changed >> /workspace/note; cat /workspace/note").await?;
    keep("it can be written again", said.out == b"kept\nchanged\n")?;
    stage.destroy(id).await
}
