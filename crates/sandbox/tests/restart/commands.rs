//! Commands that go on without a server, and are asked for again by their names.

use contracts::sandbox::{CommandName, Ended, Output, Sandboxes as _, State, Streams};
use domain::id::SandboxId;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::house::{House, shell};

/// Begins a command, and takes its output until `enough`; then its caller goes away with the server.
async fn begin_and_leave(
    house: House,
    id: SandboxId,
    name: &CommandName,
    script: &str,
    enough: usize,
) -> (House, String) {
    let (output, mut saying) = mpsc::channel(1);
    let (provider, called, command) = (house.provider.clone(), name.clone(), shell(script));
    let work = tokio_util::task::TaskTracker::new();
    let running = AbortOnDropHandle::new(work.spawn(async move {
        let (_open, input) = mpsc::channel(1);
        provider.exec(id, &called, &command, Streams { input, output }).await
    }));
    let mut heard = Vec::new();
    while heard.len() < enough {
        match saying.recv().await.unwrap() {
            Output::Out(bytes) => heard.extend(bytes),
            Output::Error(bytes) => panic!("{}", String::from_utf8_lossy(&bytes)),
        }
    }
    house.provider.stop().await;
    drop(running);
    work.close();
    work.wait().await;
    (house.restart().await, String::from_utf8(heard).unwrap())
}

fn lines(numbers: std::ops::Range<u32>, before: &str) -> String {
    let lines: Vec<_> = numbers.map(|number| format!("{before}{number}\n")).collect();
    lines.concat()
}

/// `rest` goes on where `heard` stopped or before, and reaches the end of `all`: nothing is lost, nothing is there twice.
fn goes_on(all: &str, heard: &str, rest: &str) {
    assert!(all.starts_with(heard), "what was heard first is the beginning");
    assert!(all.ends_with(rest), "what was heard then is the end");
    assert!(heard.len() + rest.len() >= all.len(), "nothing between them is missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_on_without_a_server_and_its_name_finds_it_again() {
    let house = House::new().await;
    let id = house.open(1).await;
    let name = CommandName::new("long");
    let script = "echo begun >> begun; i=0; while test $i -lt 100; do echo line $i; i=$((i+1)); sleep 0.01; done; exit 7";
    let (house, heard) = begin_and_leave(house, id, &name, script, 20).await;
    assert_eq!(house.state(id).await, Some(State::Open));
    let said = house.run_as(id, &name, script).await.unwrap();
    assert_eq!(said.finished.ending, Ended::Exited(7));
    goes_on(&lines(0..100, "line "), &heard, &said.out);
    assert_eq!(house.says(id, "cat begun").await, "begun\n", "it did not begin again");
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_output_than_is_kept_waits_for_the_next_server() {
    let house = House::new().await;
    let id = house.open(1).await;
    let name = CommandName::new("much");
    // Far more than the guest keeps, so it must have stopped the command meanwhile.
    let (house, heard) = begin_and_leave(house, id, &name, "seq 1 200000", 400_000).await;
    let said = house.run_as(id, &name, "seq 1 200000").await.unwrap();
    assert_eq!(said.finished.ending, Ended::Exited(0));
    let all = lines(1..200_001, "");
    goes_on(&all, &heard, &said.out);
    assert!(said.out.len() < all.len(), "what was taken long ago is not sent again");
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ended_gives_its_first_answer_to_the_next_server() {
    let house = House::new().await;
    let id = house.open(1).await;
    let name = CommandName::new("once");
    let script = "echo once >> count; echo said; exit 3";
    let first = house.run_as(id, &name, script).await.unwrap();
    let house = house.restart().await;
    let again = house.run_as(id, &name, script).await.unwrap();
    assert_eq!(first.finished.ending, Ended::Exited(3));
    assert_eq!(again.finished.ending, first.finished.ending);
    assert_eq!(house.says(id, "cat count").await, "once\n");
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_a_command_while_it_runs_gets_its_answer_and_it_runs_once() {
    let house = House::new().await;
    let id = house.open(1).await;
    let name = CommandName::new("both");
    let script = "echo x >> ran; while test ! -e go; do sleep 0.05; done; exit 6";
    let both =
        async { tokio::join!(house.run_as(id, &name, script), house.run_as(id, &name, script)) };
    let going = async {
        // The first runs, and the second has had every chance to.
        house.says(id, "while test ! -e ran; do sleep 0.05; done; sleep 0.3; touch go").await;
    };
    let ((one, two), ()) = tokio::join!(both, going);
    let (one, two) = (one.unwrap().finished.ending, two.unwrap().finished.ending);
    assert_eq!((one, two), (Ended::Exited(6), Ended::Exited(6)));
    assert_eq!(house.says(id, "cat ran").await, "x\n");
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_one_sandbox_are_found_again_side_by_side() {
    let mut house = House::new().await;
    let id = house.open(1).await;
    let names = ["one", "two", "three", "four"].map(CommandName::new);
    let script = |name: &CommandName| {
        format!("echo x >> {name}; echo {name}; while test ! -e go; do sleep 0.05; done; exit 5")
    };
    for name in &names {
        (house, _) = begin_and_leave(house, id, name, &script(name), 3).await;
    }
    house.says(id, "touch go").await;
    let again = async |name: &CommandName| {
        let said = house.run_as(id, name, &script(name)).await.unwrap();
        assert_eq!(said.finished.ending, Ended::Exited(5));
        assert_eq!(said.out, format!("{name}\n"));
        assert_eq!(house.says(id, &format!("cat {name}")).await, "x\n", "{name} ran once");
    };
    let [one, two, three, four] = &names;
    tokio::join!(again(one), again(two), again(three), again(four));
    house.end().await;
}
