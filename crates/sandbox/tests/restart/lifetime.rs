//! Lifetimes that pass, and what becomes of a sandbox that nobody uses.

use std::time::Duration;

use contracts::sandbox::{
    Base, CommandName, Output, Recipe, SandboxError, Sandboxes as _, Spec, State, Streams,
};
use sandbox::Retention;
use tokio::sync::mpsc;

use crate::house::{House, shell, spec, until};

const LIFETIME: Duration = Duration::from_hours(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_lifetime_that_passes_ends_a_sandbox_and_is_named() {
    let house = House::new().await;
    let id = house.open(1).await;
    house.says(id, "echo kept > file").await;
    let (output, mut saying) = mpsc::channel(4);
    let (_open, input) = mpsc::channel(1);
    let (name, command) = (CommandName::new("endless"), shell("echo ready; sleep 1000"));
    let running = house.provider.exec(id, &name, &command, Streams { input, output });
    let passing = async {
        assert_eq!(saying.recv().await, Some(Output::Out(b"ready\n".to_vec())));
        house.advance(LIFETIME);
        house.provider.tend().await;
    };
    let (ended, ()) = tokio::join!(running, passing);
    let lost = SandboxError::Lost { reason: "its lifetime has passed".to_owned() };
    assert_eq!(ended.as_ref(), Err(&lost));
    until("its end", || house.bodies() == 0).await;
    assert_eq!(house.state(id).await, Some(State::Resting));
    assert_eq!(house.run(id, "true").await.unwrap_err(), lost, "whoever asks next is told");
    house.provider.open(&spec(1)).await.unwrap();
    house.provider.tend().await;
    assert_eq!(house.says(id, "cat file").await, "kept\n", "it has a new lifetime");
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lifetime_also_passes_while_no_server_runs() {
    let house = House::new().await;
    let id = house.open(1).await;
    let house = house.while_down(|away| away.advance(LIFETIME)).await;
    house.provider.tend().await;
    until("its end", || house.bodies() == 0).await;
    assert_eq!(house.state(id).await, Some(State::Resting));
    let lost = SandboxError::Lost { reason: "its lifetime has passed".to_owned() };
    assert_eq!(house.run(id, "true").await.unwrap_err(), lost);
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_uses_is_frozen_then_rests_then_goes() {
    let Retention { freeze_after, rest_after, delete_after, .. } = Retention::default();
    let house = House::new().await;
    let id = house.open(1).await;
    house.says(id, "echo kept > file").await;
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Open));
    house.advance(freeze_after);
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Frozen));
    assert_eq!(house.says(id, "cat file").await, "kept\n", "whoever needs it wakes it");
    assert_eq!(house.state(id).await, Some(State::Open));
    house.advance(freeze_after);
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Frozen));
    let house = house.restart().await;
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Frozen), "a restart is no use of it");
    house.advance(rest_after.saturating_sub(freeze_after));
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Resting));
    house.until_bodies(0).await;
    house.advance(delete_after.saturating_sub(Duration::from_secs(1)));
    house.provider.tend().await;
    let house = house.restart().await;
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Resting));
    house.advance(Duration::from_secs(1));
    house.provider.tend().await;
    assert_eq!(house.state(id).await, None);
    assert_eq!(house.provider.open(&spec(1)).await, Err(SandboxError::Destroyed { id }));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_nobody_uses_goes_in_its_time() {
    let Retention { forget_images_after, .. } = Retention::default();
    let house = House::new().await;
    let recipe = Recipe {
        base: Base::Host,
        sources: Vec::new(),
        setup: Some("echo made > /home/lamp/made".to_owned()),
        compute: spec(1).compute,
        network: None,
    };
    let (news, mut heard) = mpsc::channel(8);
    let listening = async { while heard.recv().await.is_some() {} };
    let (image, ()) = tokio::join!(house.provider.prepare_image(&recipe, news), listening);
    let image = format!("image:{}", image.unwrap().key);
    let used = Spec { image, ..spec(2) };
    house.provider.open(&used).await.unwrap();
    house.advance(forget_images_after + Duration::from_secs(1));
    house.provider.tend().await;
    assert_eq!(house.provider.images().await.unwrap().len(), 1, "a sandbox stands on it");
    house.provider.destroy(used.id).await.unwrap();
    house.advance(Duration::from_hours(1));
    house.provider.tend().await;
    assert!(house.provider.images().await.unwrap().is_empty());
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_a_command_is_not_put_to_sleep() {
    let house = House::new().await;
    let id = house.open(1).await;
    let (output, mut saying) = mpsc::channel(4);
    let (stop, input) = mpsc::channel(1);
    let (name, command) = (CommandName::new("waits"), shell("echo ready; read line"));
    let running = house.provider.exec(id, &name, &command, Streams { input, output });
    let passing = async {
        assert_eq!(saying.recv().await, Some(Output::Out(b"ready\n".to_vec())));
        house.advance(Retention::default().rest_after);
        house.provider.tend().await;
        assert_eq!(house.state(id).await, Some(State::Open));
        drop(stop);
    };
    let (ended, ()) = tokio::join!(running, passing);
    ended.unwrap();
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_does_not_put_to_sleep_what_was_in_use() {
    let house = House::new().await;
    let id = house.open(1).await;
    house.advance(Retention::default().rest_after);
    house.says(id, "echo used").await;
    let house = house.restart().await;
    house.provider.tend().await;
    assert_eq!(house.state(id).await, Some(State::Open));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_come_while_it_falls_asleep_are_not_lost() {
    let Retention { freeze_after, .. } = Retention::default();
    let house = House::new().await;
    let mut spec = spec(1);
    spec.compute.lifetime = Duration::from_hours(24);
    house.provider.open(&spec).await.unwrap();
    for _ in 0..30 {
        house.advance(freeze_after);
        let (said, ()) = tokio::join!(house.says(spec.id, "echo here"), house.provider.tend());
        assert_eq!(said, "here\n");
    }
    house.end().await;
}
