//! Which of several attempts at the same is best, by what the platform itself has seen of each (PL12).
//!
//! No word of an agent counts: only checks that were run, tests that were touched, files and money. Attempts are compared by one thing after
//! the other; the first in which two differ decides, and is told.

use std::cmp::{Ordering, Reverse};

use crate::money::Money;

/// What is known of an attempt that has a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merits {
    pub proof: Proof,
    /// Tests that it deleted, skipped or weakened.
    pub weakened: u64,
    /// Tests and checks that failed before it, and pass with it.
    pub mended: u64,
    /// Checks that failed before it, and still do.
    pub failing: u64,
    /// Files that a person should look at twice.
    pub flagged: u64,
    /// Changed lines that tests could run and do not.
    pub uncovered: u64,
    /// Files that it changed.
    pub files: u64,
    pub money: Money,
}

/// Whether anything was run that could have failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    Unproven,
    Proven,
}

/// The best attempt, and why it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Best {
    /// Which of those that were compared.
    pub index: usize,
    pub why: &'static str,
}

/// How two attempts compare in one thing: the better one is the greater.
type Criterion = (fn(&Merits, &Merits) -> Ordering, &'static str);

/// What matters, the most important first.
const CRITERIA: [Criterion; 8] = [
    (|a, b| a.proof.cmp(&b.proof), "its checks were run, and could have failed"),
    (|a, b| less(a.weakened, b.weakened), "it weakens fewer tests"),
    (|a, b| a.mended.cmp(&b.mended), "it mends more of what failed"),
    (|a, b| less(a.failing, b.failing), "it leaves fewer checks failing"),
    (|a, b| less(a.flagged, b.flagged), "fewer of its files need a second look"),
    (|a, b| less(a.uncovered, b.uncovered), "fewer of its lines are run by no test"),
    (|a, b| less(a.files, b.files), "it changes fewer files"),
    (|a, b| less(a.money, b.money), "it cost less"),
];

/// Said where nothing tells the best two apart.
const ALIKE: &str = "nothing that was checked tells it from the next best; it was begun first";

/// Said where there is no other.
const ALONE: &str = "no other attempt came to a pull request";

/// The best of them, in the order in which they were begun. None where there is none.
pub fn best(attempts: &[Merits]) -> Option<Best> {
    let mut ranked: Vec<(usize, &Merits)> = attempts.iter().enumerate().collect();
    // The sort is stable: of two that are alike, the one that was begun first comes first.
    ranked.sort_by(|(_, a), (_, b)| decided(b, a).0);
    let mut ranked = ranked.into_iter();
    let (index, first) = ranked.next()?;
    let why = ranked.next().map_or(ALONE, |(_, second)| decided(first, second).1);
    Some(Best { index, why })
}

/// How two compare, and by what.
fn decided(a: &Merits, b: &Merits) -> (Ordering, &'static str) {
    let compared = CRITERIA.iter().map(|(compare, why)| (compare(a, b), *why));
    let mut differing = compared.filter(|(order, _)| *order != Ordering::Equal);
    differing.next().unwrap_or((Ordering::Equal, ALIKE))
}

fn less<T: Ord>(a: T, b: T) -> Ordering {
    Reverse(a).cmp(&Reverse(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Merits {
        Merits {
            proof: Proof::Proven,
            weakened: 0,
            mended: 1,
            failing: 0,
            flagged: 0,
            uncovered: 0,
            files: 2,
            money: Money::from_dollars(1),
        }
    }

    #[test]
    fn each_thing_decides_where_all_before_it_are_alike() {
        let better = [
            (plain(), Merits { proof: Proof::Unproven, ..plain() }),
            (plain(), Merits { weakened: 1, mended: 9, ..plain() }),
            (Merits { mended: 2, failing: 3, ..plain() }, plain()),
            (plain(), Merits { failing: 1, files: 1, ..plain() }),
            (plain(), Merits { flagged: 1, files: 1, ..plain() }),
            (plain(), Merits { uncovered: 1, files: 1, ..plain() }),
            (Merits { files: 1, money: Money::from_dollars(9), ..plain() }, plain()),
            (Merits { money: Money::ZERO, ..plain() }, plain()),
        ];
        for ((good, bad), (_, why)) in better.into_iter().zip(CRITERIA) {
            assert_eq!(best(&[good.clone(), bad.clone()]), Some(Best { index: 0, why }));
            assert_eq!(best(&[bad, good]), Some(Best { index: 1, why }));
        }
    }

    #[test]
    fn of_those_that_are_alike_it_is_the_first_and_of_one_alone_it_is_that() {
        assert_eq!(best(&[plain(), plain()]), Some(Best { index: 0, why: ALIKE }));
        assert_eq!(best(&[plain()]), Some(Best { index: 0, why: ALONE }));
        assert_eq!(best(&[]), None);
    }
}
