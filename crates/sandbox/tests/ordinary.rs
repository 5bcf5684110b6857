//! What holds for a server of an ordinary user to whom no control groups were given: processes by the kernel, memory and disk by
//! watching. Run as root, each test runs itself again as nobody.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin fails")]
#![allow(clippy::print_stdout, reason = "what could not be shown is told")]

mod world;

use std::time::Duration;

use contracts::sandbox::{
    Compute, Ended, Finished, Hooks, Owner, SandboxError, Sandboxes as _, Spec, Use,
    WorkspaceAccess,
};
use domain::{
    agent::Tier,
    id::{SandboxId, TaskId},
    task::Purpose,
};
use testkit::{nobody, shell};
use unsupported::supported;

use world::World;

/// Fails, with the reason, where this host lets us limit after all, or gives us no sandbox.
async fn world() -> Result<World, String> {
    let world = World::new().await;
    let told = world.provider.capabilities();
    if told.weaker.iter().any(|sentence| sentence.contains("held by a limit of its user"))
        && told.tiers.contains(&Tier::Verified)
    {
        return Ok(world);
    }
    world.end().await;
    Err(format!("this host is not one without control groups: {told:?}"))
}

async fn open(world: &World, number: u128, compute: Compute) -> SandboxId {
    let id = SandboxId::from_u128(number);
    let spec = Spec {
        id,
        name: None,
        owner: Owner::Task(TaskId::from_u128(5)),
        purpose: Use::Phase(Purpose::Research),
        image: "host".to_owned(),
        tier: Tier::Verified,
        compute,
        sources: Vec::new(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network: None,
        hooks: Hooks::default(),
    };
    world.provider.open(&spec).await.unwrap();
    id
}

async fn run(
    world: &World,
    id: SandboxId,
    name: &str,
    script: &str,
) -> Result<(Finished, String), SandboxError> {
    let script = shell::script(script, "/workspace");
    shell::run(&world.provider, id, name, &script).await
}

const SMALL: Compute = Compute {
    cpu_millis: 2_000,
    memory_mib: 128,
    disk_mib: 16,
    processes: 24,
    lifetime: Duration::from_mins(5),
};

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_limited_without_control_groups() {
    if !nobody::has_shown("processes_are_limited_without_control_groups").unwrap() {
        processes_are_limited(supported!(world().await)).await;
    }
}

async fn processes_are_limited(world: World) {
    let many = "n=0; while [ $n -lt 100 ]; do sleep 60 & n=$((n+1)); done; echo all; kill 0";
    let few = open(&world, 1, SMALL).await;
    let roomy = open(&world, 2, Compute { processes: 1_024, ..SMALL }).await;
    let (finished, said) = run(&world, few, "storm", many).await.unwrap();
    assert!(said.contains("fork") && !said.contains("all"), "{finished:?} {said}");
    // The control, and a neighbour of the same user who does not notice.
    let (_, said) = run(&world, roomy, "storm", many).await.unwrap();
    assert!(said.contains("all"), "{said}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_limited_without_control_groups() {
    if !nobody::has_shown("memory_is_limited_without_control_groups").unwrap() {
        memory_is_limited(supported!(world().await)).await;
    }
}

async fn memory_is_limited(world: World) {
    let id = open(&world, 1, SMALL).await;
    // No process alone is above the limit: four that hold 60 MiB each are.
    let hold = r#"x=$(head -c 31457280 /dev/zero | tr "\000" x); x=$x$x; sleep 60"#;
    let script = format!(
        "for n in 1 2 3 4; do (sh -c '{hold}'; echo died >> log) & done
         while [ ! -s log ]; do sleep 0.1; done; exit 137"
    );
    let answer = run(&world, id, "hold", &script).await;
    match &answer {
        Ok((finished, _)) => {
            assert!(matches!(finished.ending, Ended::OutOfMemory { .. }), "{finished:?}");
        }
        Err(error) => {
            let lost = matches!(error, SandboxError::Lost { .. });
            assert!(lost && error.to_string().contains("memory"), "{error}");
        }
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_in_a_closed_directory_counts_against_the_disk() {
    if !nobody::has_shown("what_is_hidden_in_a_closed_directory_counts_against_the_disk").unwrap() {
        what_is_hidden_counts(supported!(world().await)).await;
    }
}

async fn what_is_hidden_counts(world: World) {
    let id = open(&world, 1, SMALL).await;
    let hide = "mkdir secret && head -c 33554432 /dev/zero > secret/file && chmod 0300 secret";
    run(&world, id, "hide", hide).await.unwrap();
    world.provider.tend().await;
    // Whoever was in the middle of something is told that it ended; whoever asks after that, why.
    let mut answer = Ok(());
    for number in 0..100 {
        answer = run(&world, id, &format!("after-{number}"), "sleep 0.1").await.map(drop);
        if matches!(&answer, Err(SandboxError::Lost { reason }) if reason.contains("disk")) {
            break;
        }
    }
    let Err(SandboxError::Lost { reason }) = answer else { panic!("{answer:?}") };
    assert!(reason.contains("its disk is full"), "{reason}");
    world.end().await;
}
