//! Who is next? (TR10)
//!
//! Places are few. They are given one at a time, each to the repository with the fewest running
//! tasks, within it to the person with the fewest, within those to work that was begun (an approved
//! plan, an answered question), then to the task that waits longest. So one person's fifty tasks,
//! begun or not, delay a colleague's single one by one place at most.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    code::RepositoryName,
    id::{PersonId, TaskId},
    time::Timestamp,
};

/// A task that needs a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub task: TaskId,
    pub repository: RepositoryName,
    pub person: PersonId,
    pub since: Timestamp,
    pub begun: Begun,
}

/// Whether the task has had a place before. The first sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Begun {
    Yes,
    No,
}

/// A task that holds a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub repository: RepositoryName,
    pub person: PersonId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub total: usize,
    pub per_repository: usize,
    pub per_person: usize,
}

/// Where a waiting task stands, for the person who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub task: TaskId,
    /// 1 is next.
    pub place: usize,
    pub reason: WaitReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// A place is free; it starts now.
    StartsNow,
    AllPlacesTaken {
        total: usize,
    },
    RepositoryBusy {
        limit: usize,
    },
    PersonBusy {
        limit: usize,
    },
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartsNow => write!(f, "starts now"),
            Self::AllPlacesTaken { total } => write!(f, "all {total} places are taken"),
            Self::RepositoryBusy { limit } => {
                write!(f, "its repository already has {limit} running")
            }
            Self::PersonBusy { limit } => write!(f, "its requester already has {limit} running"),
        }
    }
}

/// The order in which `waiting` get their places, with the reason why each still waits.
///
/// Each position costs a look at everyone who still waits, so take only as many as you need: those
/// that start now come first.
pub fn order(
    waiting: &[Waiting],
    running: &[Running],
    places: Places,
) -> impl Iterator<Item = Position> {
    let mut load = Load::of(running);
    let mut left: BTreeSet<usize> = (0..waiting.len()).collect();
    (1..).map_while(move |place| {
        let next = next(waiting, &left, &load, places)?;
        left.remove(&next);
        let task = waiting.get(next)?;
        let reason = load.obstacle(task, places);
        load.add(&task.repository, task.person);
        Some(Position { task: task.task, place, reason })
    })
}

/// Those who can go first; among them the least loaded, then the longest waiting.
fn next(waiting: &[Waiting], left: &BTreeSet<usize>, load: &Load, places: Places) -> Option<usize> {
    left.iter().copied().min_by_key(|index| {
        waiting.get(*index).map(|task| {
            (
                load.is_at_its_limit(task, places),
                load.of_repository(&task.repository),
                load.of_person(task.person),
                task.begun,
                task.since,
                task.task,
            )
        })
    })
}

struct Load {
    total: usize,
    repositories: BTreeMap<RepositoryName, usize>,
    people: BTreeMap<PersonId, usize>,
}

impl Load {
    fn of(running: &[Running]) -> Self {
        let mut load = Self { total: 0, repositories: BTreeMap::new(), people: BTreeMap::new() };
        for task in running {
            load.add(&task.repository, task.person);
        }
        load
    }

    fn add(&mut self, repository: &RepositoryName, person: PersonId) {
        self.total += 1;
        *self.repositories.entry(repository.clone()).or_default() += 1;
        *self.people.entry(person).or_default() += 1;
    }

    fn of_repository(&self, name: &RepositoryName) -> usize {
        self.repositories.get(name).copied().unwrap_or_default()
    }

    fn of_person(&self, person: PersonId) -> usize {
        self.people.get(&person).copied().unwrap_or_default()
    }

    fn is_at_its_limit(&self, task: &Waiting, places: Places) -> bool {
        self.of_repository(&task.repository) >= places.per_repository
            || self.of_person(task.person) >= places.per_person
    }

    fn obstacle(&self, task: &Waiting, places: Places) -> WaitReason {
        if self.of_repository(&task.repository) >= places.per_repository {
            return WaitReason::RepositoryBusy { limit: places.per_repository };
        }
        if self.of_person(task.person) >= places.per_person {
            return WaitReason::PersonBusy { limit: places.per_person };
        }
        if self.total >= places.total {
            return WaitReason::AllPlacesTaken { total: places.total };
        }
        WaitReason::StartsNow
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLACES: Places = Places { total: 4, per_repository: 3, per_person: 3 };

    fn waiting(number: u128, repository: &str, person: u128) -> Waiting {
        Waiting {
            task: TaskId::from_u128(number),
            repository: repository.parse().unwrap(),
            person: PersonId::from_u128(person),
            since: Timestamp::from_millis(i64::try_from(number).unwrap()),
            begun: Begun::No,
        }
    }

    fn all(waiting: &[Waiting], running: &[Running], places: Places) -> Vec<Position> {
        order(waiting, running, places).collect()
    }

    fn told(positions: &[Position]) -> String {
        let line = |at: &Position| format!("{}. {}: {}", at.place, at.task.as_u128(), at.reason);
        positions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn one_persons_many_tasks_delay_a_colleague_by_one_place() {
        let mut queue: Vec<Waiting> = (1..=5).map(|number| waiting(number, "web", 1)).collect();
        queue.push(waiting(6, "web", 2));
        queue.push(waiting(7, "api", 3));
        insta::assert_snapshot!(told(&all(&queue, &[], PLACES)), @r"
        1. 1: starts now
        2. 7: starts now
        3. 6: starts now
        4. 2: starts now
        5. 3: its repository already has 3 running
        6. 4: its repository already has 3 running
        7. 5: its repository already has 3 running
        ");
    }

    #[test]
    fn begun_work_goes_first_within_a_share() {
        let mut approved = waiting(9, "web", 1);
        approved.begun = Begun::Yes;
        let order = all(&[waiting(1, "web", 2), approved], &[], PLACES);
        assert_eq!(order[0].task, TaskId::from_u128(9));
    }

    #[test]
    fn begun_work_does_not_starve_a_newcomer() {
        let begun = |number| Waiting { begun: Begun::Yes, ..waiting(number, "web", 1) };
        let mut queue: Vec<Waiting> = (10..60).map(begun).collect();
        queue.push(waiting(5, "web", 2));
        let places = Places { total: 9, per_repository: 9, per_person: 9 };
        let order = all(&queue, &[], places);
        let newcomer = order.iter().find(|at| at.task == TaskId::from_u128(5)).unwrap();
        assert_eq!(newcomer.place, 2);
    }

    proptest! {
        #[test]
        fn no_limit_is_ever_passed_and_nobody_is_forgotten(
            tasks in prop::collection::vec((0u8..4, 0u128..4), 0..20),
            busy in prop::collection::vec((0u8..4, 0u128..4), 0..6),
            total in 0usize..6, per_repository in 1usize..4, per_person in 1usize..4,
        ) {
            let name = |repository: u8| format!("r{repository}");
            let queue: Vec<Waiting> = tasks.iter().enumerate()
                .map(|(n, (r, p))| waiting(n as u128, &name(*r), *p)).collect();
            let running: Vec<Running> = busy.iter().map(|(r, p)| Running {
                repository: name(*r).parse().unwrap(), person: PersonId::from_u128(*p),
            }).collect();
            let places = Places { total, per_repository, per_person };
            let order = all(&queue, &running, places);
            prop_assert_eq!(order.len(), queue.len());
            let starting: Vec<&Waiting> = order.iter()
                .filter(|at| at.reason == WaitReason::StartsNow)
                .map(|at| queue.iter().find(|it| it.task == at.task).unwrap()).collect();
            prop_assert!(starting.is_empty() || running.len() + starting.len() <= total);
            for one in &starting {
                let same = starting.iter().filter(|it| it.repository == one.repository).count()
                    + running.iter().filter(|it| it.repository == one.repository).count();
                prop_assert!(same <= per_repository);
            }
        }

        #[test]
        fn a_free_place_is_used(tasks in prop::collection::vec((0u8..4, 0u128..4), 1..20)) {
            let queue: Vec<Waiting> = tasks.iter().enumerate()
                .map(|(n, (r, p))| waiting(n as u128, &format!("r{r}"), *p)).collect();
            prop_assert_eq!(all(&queue, &[], PLACES)[0].reason, WaitReason::StartsNow);
        }
    }
}
