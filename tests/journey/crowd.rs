//! Many tasks at once on two cores: those that came first go first, a repository with many waits for the others, and all end well.

use futures::future::join_all;
use wire::{task::event::TaskEvent, time::Time};

use crate::{house::House, play::Play, repository::Repository};

const TASKS: usize = 10;

/// Tasks of one repository that come before all of them.
const BUSY: usize = 4;

/// So that those who came first still have their places when the last comes.
const SLOWLY: &str = "Mend the sum.\n#research\nsleep 8\n";

pub(crate) async fn ten_tasks_at_once_take_turns_and_all_end_well(house: &House) {
    let busy = Repository::make(&house.repositories(), "crowd-busy");
    let mut many = Vec::new();
    for number in 0..BUSY {
        many.push(Play::begin_another(house, &busy, number, SLOWLY).await);
    }
    let mut plays = Vec::new();
    for number in 0..TASKS {
        let repository = Repository::make(&house.repositories(), &format!("crowd-{number}"));
        plays.push(Play::begin(house, repository, SLOWLY).await);
    }
    let queue = house.client.queue().await.unwrap();
    assert!(!queue.waiting.is_empty(), "not all of them have a place");
    for (waiting, place) in queue.waiting.iter().zip(1..) {
        assert_eq!(waiting.place, place);
        assert!(!waiting.reason.is_empty(), "{waiting:#?}");
    }
    let all = join_all(plays.iter_mut().map(|play| async {
        play.finish().await;
    }));
    // They would make the same change, so one plan each is enough.
    let planned = join_all(many.iter_mut().map(|play| async {
        play.plan().await;
        play.cancel().await;
    }));
    futures::join!(all, planned);
    // By turns of arrival alone, the last of the busy repository would go before anybody else.
    let (last, first) = (admitted(many.last().unwrap()), admitted(plays.first().unwrap()));
    assert!(first < last, "a repository with many waits for one with none: {first:?}, {last:?}");
    let admitted: Vec<Time> = plays.iter().map(admitted).collect();
    let mut in_turn = admitted.clone();
    in_turn.sort();
    assert_eq!(admitted, in_turn, "who came first goes first");
}

fn admitted(play: &Play<'_>) -> Time {
    let event = play.events.iter().find(|it| matches!(it.event, TaskEvent::Admitted {})).unwrap();
    event.at
}
