//! Sandboxes that an OCI runtime hosts keep the same contract: gVisor, and `runc` to compare with.

#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]
#![allow(clippy::print_stdout, reason = "what could not be shown is told")]

mod world;

use contracts::sandbox::Sandboxes as _;
use domain::{agent::Tier, id::SandboxId};
use sandbox::{Runtime, Walls};

use world::World;

/// Plays the promises on `tier`, where the host gives it.
async fn play(walls: Walls, tier: Tier, runtime: Runtime) {
    let world = World::with_walls(walls).await;
    let capabilities = world.provider.capabilities();
    if let Some(reason) = capabilities.missing.get(&tier) {
        let is_root = rustix::process::geteuid().is_root();
        let program = runtime.program();
        println!("unsupported: {program}, tier {tier}: {reason}");
        world.end().await;
        // Where it is installed, and we are root, it has to work.
        assert!(!is_root || runtime.find().is_none(), "{program} does not work: {reason}");
        return;
    }
    let first = SandboxId::from_u128(100);
    let kept = contracts::promises::sandbox::kept_on(&world.provider, first, "host", tier).await;
    world.end().await;
    println!("{:#?}", kept.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_of_gvisor_keep_their_promises() {
    play(Walls::ByTier, Tier::Untrusted, Runtime::Runsc).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_of_runc_keep_their_promises() {
    play(Walls::All(Runtime::Runc), Tier::Standard, Runtime::Runc).await;
}
