//! The provider keeps its contract, as root and as an ordinary user.

#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]
#![allow(clippy::print_stdout, reason = "what could not be shown is told")]

mod world;

use contracts::sandbox::Sandboxes as _;
use domain::id::SandboxId;
use unsupported::unsupported;

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_of_this_host_keep_their_promises() {
    let world = world::World::new().await;
    println!("{:#?}", world.provider.capabilities());
    let first = SandboxId::from_u128(100);
    let kept = contracts::promises::sandbox::kept(&world.provider, first, "host").await;
    world.end().await;
    for sentence in kept.unwrap().not_shown {
        unsupported::part(&sentence, "a promise that this host cannot show");
    }
}

/// Run as root, it runs the test above again as nobody.
#[test]
fn sandboxes_of_an_ordinary_user_keep_their_promises() {
    let shown = testkit::nobody::shown("sandboxes_of_this_host_keep_their_promises").unwrap();
    let Some(complained) = shown else {
        unsupported!("it is run again as nobody by root; here the other test shows it");
    };
    // Whoever has no control groups lacks a tier, so that it is seen to be refused on every machine.
    assert!(!complained.contains("none could be refused"), "{complained}");
}
