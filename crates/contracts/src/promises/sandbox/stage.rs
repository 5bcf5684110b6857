//! Where the promises are played: sandboxes by number, commands by a counter, and short ways to run them.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use domain::{agent::Tier, id::SandboxId, task::Purpose};
use tokio::sync::mpsc;

use super::super::{Broken, TASK, succeed};
use crate::sandbox::{
    CommandName, Compute, Ended, Exec, FileAsk, Finished, Hooks, Input, Output, Owner,
    SandboxError, SandboxName, Sandboxes, Spec, State, Streams, Transfer, Use, User,
    WorkspaceAccess,
};

/// How many sandboxes the suite may use, and therefore removes at the end.
const MOST: u128 = 64;

pub(super) struct Stage<'s, S> {
    pub(super) sandboxes: &'s S,
    first: SandboxId,
    image: String,
    owner: Owner,
    tier: Tier,
    commands: AtomicU64,
    used: AtomicU64,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) finished: Finished,
    pub(super) out: Vec<u8>,
    pub(super) error: Vec<u8>,
}

impl Said {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    pub(super) fn exited(&self, code: i32) -> bool {
        self.finished.ending == Ended::Exited(code)
    }
}

impl<'s, S: Sandboxes> Stage<'s, S> {
    pub(super) fn new(sandboxes: &'s S, first: SandboxId, image: &str, tier: Tier) -> Self {
        Self {
            sandboxes,
            first,
            image: image.to_owned(),
            owner: Owner::Task(TASK),
            tier,
            commands: AtomicU64::new(0),
            used: AtomicU64::new(0),
        }
    }

    /// An id that this suite has not used yet.
    pub(super) fn new_id(&self) -> SandboxId {
        let number = u128::from(self.used.fetch_add(1, Ordering::Relaxed)).min(MOST - 1);
        SandboxId::from_u128(self.first.as_u128() + number)
    }

    pub(super) fn new_name(&self) -> CommandName {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        CommandName::new(format!("promise-{number}"))
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner.clone()
    }

    pub(super) fn spec(&self, id: SandboxId) -> Spec {
        Spec {
            id,
            name: None,
            owner: self.owner(),
            purpose: Use::Phase(Purpose::Research),
            image: self.image.clone(),
            tier: self.tier,
            compute: Compute { memory_mib: 512, disk_mib: 256, ..Compute::default() },
            sources: Vec::new(),
            hooks: Hooks::default(),
            workspace: WorkspaceAccess::Writable,
            conditions: None,
            network: None,
        }
    }

    /// A fresh one, open.
    pub(super) async fn open(&self) -> Result<SandboxId, Broken> {
        let id = self.new_id();
        succeed("a sandbox opens", self.sandboxes.open(&self.spec(id)).await)?;
        Ok(id)
    }

    pub(super) async fn destroy(&self, id: SandboxId) -> Result<(), Broken> {
        succeed("a sandbox is destroyed", self.sandboxes.destroy(id).await)
    }

    /// Removes whatever a broken promise left.
    pub(super) async fn clear(&self) {
        for number in 0..MOST {
            let id = SandboxId::from_u128(self.first.as_u128() + number);
            // Whoever cannot even be destroyed has already broken a promise.
            drop(self.sandboxes.destroy(id).await);
        }
    }

    pub(super) async fn state(&self, id: SandboxId) -> Result<Vec<State>, Broken> {
        let listed = succeed("sandboxes can be listed", self.sandboxes.list().await)?;
        Ok(listed.into_iter().filter(|it| it.id == id).map(|it| it.state).collect())
    }

    pub(super) async fn access(&self, id: SandboxId) -> Result<Vec<WorkspaceAccess>, Broken> {
        let listed = succeed("sandboxes can be listed", self.sandboxes.list().await)?;
        Ok(listed.into_iter().filter(|it| it.id == id).map(|it| it.workspace).collect())
    }

    /// Runs a script of the shell, without input.
    pub(super) async fn run(&self, id: SandboxId, script: &str) -> Result<Said, SandboxError> {
        self.exec(id, &self.new_name(), &shell(script), &[]).await
    }

    /// Runs it, and takes it for a broken promise when it cannot.
    pub(super) async fn must(&self, id: SandboxId, script: &str) -> Result<Said, Broken> {
        succeed("a command runs", self.run(id, script).await)
    }

    /// Runs a command that is sent `input`, which then ends.
    pub(super) async fn exec(
        &self,
        id: SandboxId,
        name: &CommandName,
        command: &Exec,
        input: &[u8],
    ) -> Result<Said, SandboxError> {
        let (streams, sending, hearing) = pipes(input);
        let running = self.sandboxes.exec(id, name, command, streams);
        let (finished, (), (out, error)) = tokio::join!(running, sending, hearing);
        Ok(Said { finished: finished?, out, error })
    }

    /// Does something with a file. The bytes are what came out.
    pub(super) async fn file(
        &self,
        id: SandboxId,
        ask: &FileAsk,
        input: &[u8],
    ) -> Result<(Transfer, Vec<u8>), SandboxError> {
        let (streams, sending, hearing) = pipes(input);
        let moving = self.sandboxes.file(id, ask, streams);
        let (transfer, (), (out, _)) = tokio::join!(moving, sending, hearing);
        Ok((transfer?, out))
    }

    /// A directory on the sandbox's disk that the agent can write.
    pub(super) async fn disk(&self, id: SandboxId) -> Result<String, Broken> {
        let script = "for d in /workspace /home/lamp /var/tmp; do \
                      if test -w $d; then echo $d; exit; fi; done; exit 1";
        let said = self.must(id, script).await?;
        let path = said.text().trim().to_owned();
        super::super::keep("the agent has a directory on the disk", said.exited(0))?;
        Ok(path)
    }
}

/// The streams of a command; what sends its input; and what hears its output.
fn pipes(
    input: &[u8],
) -> (Streams, impl Future<Output = ()> + '_, impl Future<Output = (Vec<u8>, Vec<u8>)>) {
    let (to_command, from_us) = mpsc::channel(4);
    let (to_us, mut from_command) = mpsc::channel(16);
    let sending = async move {
        for chunk in input.chunks(16 * 1024) {
            // A command that has ended hears nothing more.
            if to_command.send(Input::Bytes(chunk.to_vec())).await.is_err() {
                return;
            }
        }
    };
    let hearing = async move {
        let (mut out, mut error) = (Vec::new(), Vec::new());
        while let Some(chunk) = from_command.recv().await {
            match chunk {
                Output::Out(bytes) => out.extend(bytes),
                Output::Error(bytes) => error.extend(bytes),
            }
        }
        (out, error)
    };
    (Streams { input: from_us, output: to_us }, sending, hearing)
}

/// A script of the shell, as the agent, with room to breathe.
pub(super) fn shell(script: &str) -> Exec {
    Exec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]),
        path: Vec::new(),
        sweeps: false,
        directory: "/".to_owned(),
        user: User::Agent,
        terminal: None,
        limit: Duration::from_secs(30),
        output_limit: 1 << 20,
    }
}

pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The same name for one sandbox that people know.
pub(super) fn sandbox_name(name: &str) -> Result<SandboxName, Broken> {
    succeed("a plain word is a name", name.parse())
}

/// Waits inside until no `sleep NUMBER` is left, and says `gone` or `left`.
///
/// The number is cut in two, so that the script does not find itself.
pub(super) fn wait_for_the_end_of_sleep(number: &str) -> String {
    let (head, tail) = number.split_at(number.len() / 2);
    format!(
        "n=0; while test $n -lt 100; do found=; \
         for p in /proc/[0-9]*; do read -r line < $p/cmdline 2>/dev/null; \
         case $line in sleep{head}\"{tail}\"|*/sleep{head}\"{tail}\") found=1;; esac; line=; done; \
         if test -z \"$found\"; then echo gone; exit; fi; n=$((n+1)); sleep 0.05; done; echo left"
    )
}
