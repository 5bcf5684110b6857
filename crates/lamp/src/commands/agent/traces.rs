//! Whether a run has left something in the workspace that somebody may want.

use terminal::refusal::Explained as _;
use wire::{
    client::{Client, ExecEvent},
    exec::StartExec,
};

/// Made before the agent starts. Whoever is inside can change it, and only fools themselves.
const MARK: &str = "/tmp/.lamp-began";

/// Longer than looking through a large tree takes.
const LIMIT_MILLIS: u64 = 60_000;

/// Notes when a run begins.
pub(super) async fn mark(client: &Client, sandbox: &str) -> anyhow::Result<()> {
    run(client, sandbox, &format!("touch {MARK}")).await.map(drop)
}

/// Whether anything in the workspace is newer than the mark. Where that cannot be known, there may be.
pub(super) async fn has_changes(client: &Client, sandbox: &str) -> bool {
    let look = format!("find /workspace -newer {MARK} -print -quit || echo unknown");
    run(client, sandbox, &look).await.is_ok_and(|said| !said.is_empty())
}

async fn run(client: &Client, sandbox: &str, script: &str) -> anyhow::Result<Vec<u8>> {
    let start = StartExec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        limit_millis: Some(LIMIT_MILLIS),
        output_limit: Some(1024),
        ..StartExec::default()
    };
    let (_talking, mut hearing) = client.exec(sandbox, &start).await.explained()?;
    let mut said = Vec::new();
    loop {
        match hearing.next().await.explained()? {
            ExecEvent::Out(bytes) => said.extend_from_slice(&bytes),
            ExecEvent::Error(_) => {}
            ExecEvent::Finished(_) => return Ok(said),
        }
    }
}
