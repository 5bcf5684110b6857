//! Killed first processes and launchers, and what outlives whom.

use std::time::{Duration, Instant};

use contracts::sandbox::{SandboxError, Sandboxes as _, State, User};
use domain::agent::Tier;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    fixture::{Fixture, PROBE, command},
    host::{self, Inside},
    table::Tally,
};

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_killed_are_missed_and_the_others_go_on() {
    let mut fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in fixture.tiers() {
        killed_guest(&fixture, tier, &mut tally).await;
    }
    killed_launcher(&fixture, &mut tally).await;
    fixture = restarted_server(fixture, &mut tally).await;
    fixture.end().await;
    tally.finish("faults", 14);
}

/// Its first process is killed from outside while a command runs.
async fn killed_guest(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    let (id, neighbour) = (fixture.open(tier).await, fixture.open(tier).await);
    let inside = Inside::of(fixture, id);
    let running = command(User::Agent, &["/bin/sleep", "60"]);
    let killing = async {
        host::until(Duration::from_secs(5), || inside.processes() > 1).await;
        kill(i32::try_from(inside.first).unwrap());
    };
    let began = Instant::now();
    let (ended, ()) = tokio::join!(fixture.exec(id, &running), killing);
    let lost = matches!(ended, Err(SandboxError::Lost { .. }))
        && began.elapsed() < Duration::from_secs(10);
    tally.check(&format!("81 {tier} a killed first process"), &format!("{ended:?}"), lost.into());
    inside.emptied(Duration::from_secs(5)).await;
    let left = inside.processes();
    tally.check(&format!("81 {tier} what it leaves"), &left.to_string(), (left == 0).into());
    let again = fixture.run(id, User::Agent, &["/bin/true"]).await;
    let told = matches!(again, Err(SandboxError::Lost { .. }));
    tally.check(&format!("65 {tier} asked again"), &format!("{again:?}"), told.into());
    let answers = fixture.answers(neighbour).await;
    tally.check(&format!("81 {tier} its neighbour"), "answers", answers.into());
    let listed = fixture.provider.list().await.unwrap();
    let found = listed.iter().find(|one| one.id == id).map(|one| one.state);
    tally.check(
        &format!("81 {tier} its state"),
        &format!("{found:?}"),
        (found == Some(State::Resting)).into(),
    );
    for id in [id, neighbour] {
        fixture.provider.destroy(id).await.unwrap();
    }
}

/// The launcher is nobody's parent that matters: the next order starts another.
async fn killed_launcher(fixture: &Fixture, tally: &mut Tally) {
    let old = fixture.open(Tier::Verified).await;
    let running = command(User::Agent, &[PROBE, "spin", "1500"]);
    let launcher = host::launcher_of(&Inside::of(fixture, old));
    let killing = async {
        launcher.into_iter().for_each(kill);
        let fresh = fixture.spec(Tier::Verified);
        // One order may meet the dying; it is told to try again.
        let opened = match fixture.provider.open(&fresh).await {
            Err(SandboxError::Busy { .. }) => fixture.provider.open(&fresh).await,
            other => other,
        };
        (opened, fixture.answers(fresh.id).await)
    };
    let (ended, (opened, answers)) = tokio::join!(fixture.exec(old, &running), killing);
    let shown = format!("{launcher:?} killed, opened: {opened:?}");
    let is_whole = launcher.is_some() && opened.is_ok() && answers;
    tally.check("81 after the launcher was killed, the next opens", &shown, is_whole.into());
    let went_on = ended.is_ok_and(|said| said.text() == "allowed") && fixture.answers(old).await;
    tally.check("81 and the older ones go on", "yes", went_on.into());
}

/// A server that ends leaves its sandboxes as they are, and the next one finds them.
async fn restarted_server(fixture: Fixture, tally: &mut Tally) -> Fixture {
    let id = fixture.open(Tier::Verified).await;
    let inside = Inside::of(&fixture, id);
    fixture.shell(id, "echo kept > /home/lamp/kept; (setsid sleep 600 >/dev/null 2>&1 &)").await;
    let before = inside.processes();
    let fixture = fixture.restart().await;
    let after = inside.processes();
    let kept = fixture.shell(id, "cat /home/lamp/kept").await;
    let shown = format!("{before} processes before, {after} after, file {kept}");
    let holds = kept == "kept" && before == after && Inside::of(&fixture, id).first == inside.first;
    tally.check("81 a sandbox outlives its server", &shown, holds.into());
    let out = fixture.probe(id, User::Agent, &["tcp", "192.0.2.1:80"]).await;
    tally.check("81 and stays contained", &out, (out == "denied ENETUNREACH").into());
    fixture.provider.destroy(id).await.unwrap();
    fixture
}
