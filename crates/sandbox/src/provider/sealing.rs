//! Makes a workspace read-only, and sees that it is.
//!
//! ```text
//!   something to bring in:  boot ─▶ repositories, post_clone ─▶ end it ─▶ untie ─▶ boot sealed ─▶ prove ─▶ post_start
//!   nothing to bring in:                                                           boot sealed ─▶ prove ─▶ post_start
//! ```
//!
//! The body that brought things in ends, with all that it started: a process, a descriptor or a mapping that could write is not carried
//! over. The next one stands on the same disk, and its mounts are made before anything of its owner's runs in it.
//! `post_start` runs in that one, because what it starts is to live, and because it runs again after every rest.
//!
//! Every body that is to be sealed is tried from inside before it is given to anybody: on whatever tier, whoever built its walls,
//! a file cannot be made there because the file system is read-only, and for no other reason.

use std::sync::Arc;

use contracts::sandbox::{SandboxError, Spec, WORKSPACE, WorkspaceAccess};
use guest::protocol::Ending;

use super::{
    DEATH, Inner, Sandbox,
    boot::{Blueprint, Disk},
    busy, errand, sources,
};
use crate::{body::Body, meter::Standing, stack::Stack};

const EROFS: i32 = 30;

/// What the first body of a sandbox is made as: sealed at once, where nothing is to be brought in. Such a one may wait in
/// the pool.
pub(super) fn first_body(spec: &Spec, stack: Stack) -> Blueprint {
    let brings_nothing = spec.hooks.post_clone.trim().is_empty()
        && sources::steps(&spec.sources, &stack.sources).iter().all(|(_, steps)| steps.is_empty());
    let workspace = match spec.workspace {
        WorkspaceAccess::ReadOnly if brings_nothing => WorkspaceAccess::ReadOnly,
        WorkspaceAccess::ReadOnly | WorkspaceAccess::Writable => WorkspaceAccess::Writable,
    };
    Blueprint { stack, tier: spec.tier, compute: spec.compute, workspace }
}

impl Inner {
    /// The body that the sandbox is opened with: this one, or another on the same disk. The caller has the turn.
    pub(super) async fn sealed(
        self: &Arc<Self>,
        sandbox: &Arc<Sandbox>,
        body: Arc<Body>,
        spec: &Spec,
    ) -> Result<Arc<Body>, SandboxError> {
        let is_right = sandbox.lock().workspace == spec.workspace;
        let body = if is_right { body } else { self.exchange(sandbox, body, spec).await? };
        self.prove(sandbox, &body, spec.workspace).await?;
        Ok(body)
    }

    /// Ends what runs, and boots again on the same disk.
    async fn exchange(
        self: &Arc<Self>,
        sandbox: &Arc<Sandbox>,
        body: Arc<Body>,
        spec: &Spec,
    ) -> Result<Arc<Body>, SandboxError> {
        {
            // Its end is ours, and not one that is to be told.
            let mut entry = sandbox.lock();
            entry.body = None;
            self.read_last(&mut entry, &body, Standing::Live);
        }
        let _ = body.kill();
        if tokio::time::timeout(DEATH, body.death()).await.is_err() {
            // Its disk is not free before it has ended.
            sandbox.lock().body = Some(body);
            return Err(busy("its processes do not end"));
        }
        let (disk, stack) = {
            let mut entry = sandbox.lock();
            self.read_last(&mut entry, &body, Standing::Live);
            entry.meter.settle();
            (entry.record.disk.clone(), entry.record.stack.clone())
        };
        self.leave_now(sandbox).await;
        self.discard(body, None);
        let Spec { tier, compute, workspace, .. } = *spec;
        let blueprint = Blueprint { stack, tier, compute, workspace };
        let disk = Disk::Kept(disk.parse().map_err(busy)?);
        let body = Arc::new(self.boot_for(&blueprint, disk).await?.body);
        {
            let mut entry = sandbox.lock();
            entry.record.body = Some(body.record.clone());
            entry.body = Some(Arc::clone(&body));
            entry.workspace = workspace;
            entry.meter.begin(&body.record.name, self.now());
        }
        self.watch(sandbox, &body);
        self.join(sandbox, &body, spec.network.as_ref()).await?;
        Ok(body)
    }

    /// Sees from inside that nothing can be written where nothing may be. One that fails is ended.
    pub(super) async fn prove(
        &self,
        sandbox: &Sandbox,
        body: &Body,
        workspace: WorkspaceAccess,
    ) -> Result<(), SandboxError> {
        match workspace {
            WorkspaceAccess::Writable => return Ok(()),
            WorkspaceAccess::ReadOnly => {}
        }
        let path = format!("{WORKSPACE}/.lamp-read-only");
        let outcome = errand::write_as(body, self.own_user(), &path, b"", 0o600).await;
        let reason = match outcome {
            Ok(outcome) => match outcome.ending {
                Ending::Failed { errno: EROFS, .. } => return Ok(()),
                Ending::Exited(_)
                | Ending::Signaled(_)
                | Ending::TimedOut
                | Ending::Killed
                | Ending::Failed { .. } => {
                    let found = outcome.trouble().unwrap_or_else(|| "a file was made".to_owned());
                    format!("its workspace is not read-only: {found}")
                }
            },
            Err(error) => format!("its workspace cannot be tried: {error}"),
        };
        sandbox.lock().ending = Some("its workspace is not read-only");
        let _ = body.kill();
        Err(SandboxError::Unsupported { reason })
    }
}
