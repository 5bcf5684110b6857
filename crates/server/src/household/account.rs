//! What a receipt says of a task's sandboxes: what they were given, and what they reached, from the task's book of exchanges.

use std::{collections::BTreeMap, io};

use contracts::outfit::{Account, Models, OutfitError, Reached, Refused};
use domain::{digest::Digest, id::TaskId, policy::EgressPhase, task::Purpose, time::Timestamp};

use super::wardrobe::{Given, Kept};
use crate::trail::books::{Books, Line};

/// Hosts that are told one by one. An agent can try as many names as it likes.
const MOST_HOSTS: usize = 1_000;

/// Models that are told.
const MOST_MODELS: usize = 50;

/// How the rest is called.
const OTHERS: &str = "others";

/// What was asked for, by host, and the hash of the lines that say so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    hosts: BTreeMap<String, Count>,
    log: Option<Digest>,
    models: Models,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    requests: u64,
    refused: u64,
    bytes: u64,
}

/// Why its host may not be asked, if that is why it was refused. What is malformed or too dear is allowed in itself.
fn not_allowed(line: &Line) -> Option<&str> {
    const BY_RULE: [&str; 3] = ["not_allowed", "forbidden", "address"];
    let refusal = line.refusal.as_ref()?;
    BY_RULE.contains(&refusal.code.as_str()).then_some(&refusal.reason)
}

/// Whether we said no. Where the other side does not answer, nobody left what is allowed.
fn is_refused(line: &Line) -> bool {
    const NOBODY_ANSWERS: &str = "upstream";
    line.refusal.as_ref().is_some_and(|refusal| refusal.code != NOBODY_ANSWERS)
}

/// What all sandboxes of `task` did and tried.
pub(super) fn count(books: &Books, task: TaskId) -> io::Result<Traffic> {
    let (mut traffic, mut lines) = (Traffic::default(), Vec::new());
    books.each(task, |seen, line| {
        add(&mut traffic.hosts, seen);
        add_model(&mut traffic.models, seen);
        // Their hashes are enough, so that a long book needs little room.
        lines.extend_from_slice(Digest::of(line).as_bytes());
    })?;
    traffic.log = (!lines.is_empty()).then(|| Digest::of(&lines));
    Ok(traffic)
}

/// The hosts that `task` asked for since then and may not, each with the newest reason.
pub(super) fn refused(books: &Books, task: TaskId, since: Timestamp) -> io::Result<Vec<Refused>> {
    let mut hosts: BTreeMap<String, String> = BTreeMap::new();
    books.each(task, |seen, _| {
        let has_room = hosts.len() < MOST_HOSTS || hosts.contains_key(&seen.host);
        if let Some(reason) = not_allowed(seen)
            && seen.at >= since.as_millis()
            && has_room
        {
            hosts.insert(seen.host.clone(), reason.to_owned());
        }
    })?;
    Ok(hosts.into_iter().map(|(host, reason)| Refused { host, reason }).collect())
}

/// The model that answered, as its provider called it.
fn add_model(models: &mut Models, seen: &Line) {
    let Some(model) = &seen.model else { return };
    let names = if seen.phase == EgressPhase::Review.as_str() {
        &mut models.of_review
    } else {
        &mut models.of_work
    };
    if names.len() < MOST_MODELS {
        names.insert(model.clone());
    }
}

fn add(hosts: &mut BTreeMap<String, Count>, seen: &Line) {
    let is_new = !hosts.contains_key(&seen.host);
    let name = if is_new && hosts.len() >= MOST_HOSTS { OTHERS } else { &seen.host };
    let count = hosts.entry(name.to_owned()).or_default();
    count.requests += 1;
    count.refused += u64::from(is_refused(seen));
    count.bytes = count.bytes.saturating_add(seen.bytes);
}

/// The account, from what was given to the implementing sandbox and what all of them did.
pub(super) fn account(kept: &Kept, traffic: Traffic) -> Result<Account, OutfitError> {
    let refused = |reason: &str| OutfitError::Refused { reason: reason.to_owned() };
    let given = kept.given(Purpose::Implement);
    let Given { image, policy, allowed } = given
        .ok_or_else(|| refused("nothing is known of a sandbox in which the change was made"))?;
    let hash = |text: &str| text.parse::<Digest>().map_err(|error| refused(&error.to_string()));
    let reached = traffic.hosts.into_iter().map(|(host, count)| Reached {
        host,
        requests: count.requests,
        refused: count.refused,
        bytes: count.bytes,
    });
    Ok(Account {
        image: hash(image)?,
        policy: hash(policy)?,
        allowed: allowed.clone(),
        reached: reached.collect(),
        log: traffic.log,
        models: traffic.models,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::trail::books::{
        Refusal,
        tests::{books, line},
    };

    fn refused_as(code: &str, line: Line) -> Line {
        let refusal = Refusal { code: code.to_owned(), reason: "no rule".to_owned() };
        Line { refusal: Some(refusal), ..line }
    }

    #[test]
    fn hosts_and_models_of_a_task_are_counted_and_those_of_no_other() {
        let place = tempfile::tempdir().unwrap();
        let asked = |phase: &str, model: &str| Line {
            phase: phase.to_owned(),
            model: Some(model.to_owned()),
            ..line(2, "model.lamp")
        };
        let books = books(
            place.path(),
            &[
                (1, line(1, "a.example.com")),
                (2, line(1, "b.example.com")),
                (1, refused_as("not_allowed", line(2, "a.example.com"))),
                (1, refused_as("upstream", line(2, "down.example.com"))),
                (1, asked("implement", "big")),
                (1, asked("review", "small")),
            ],
        );
        let traffic = count(&books, TaskId::from_u128(1)).unwrap();
        assert_eq!(traffic, count(&books, TaskId::from_u128(1)).unwrap(), "it is the same again");
        let told: Vec<String> = traffic
            .hosts
            .iter()
            .map(|(host, it)| format!("{host} {} {} {}", it.requests, it.refused, it.bytes))
            .collect();
        assert_eq!(told, ["a.example.com 2 1 14", "down.example.com 1 0 7", "model.lamp 2 0 14"]);
        let names =
            |models: &BTreeSet<String>| models.iter().cloned().collect::<Vec<_>>().join(" ");
        let Models { of_work, of_review } = &traffic.models;
        assert_eq!((names(of_work), names(of_review)), ("big".to_owned(), "small".to_owned()));
        assert_eq!(count(&books, TaskId::from_u128(3)).unwrap(), Traffic::default());
    }

    #[test]
    fn hosts_that_no_rule_allows_are_told_once_and_only_since_then() {
        let place = tempfile::tempdir().unwrap();
        let lines = [
            refused_as("not_allowed", line(1, "early.example.com")),
            refused_as("not_allowed", line(2, "a.example.com")),
            refused_as("forbidden", line(3, "a.example.com")),
            refused_as("upstream", line(3, "down.example.com")),
            refused_as("budget", line(3, "model.example.com")),
            line(3, "fine.example.com"),
        ];
        let books = books(place.path(), &lines.map(|line| (1, line)));
        let told = refused(&books, TaskId::from_u128(1), Timestamp::from_millis(2)).unwrap();
        let only = Refused { host: "a.example.com".to_owned(), reason: "no rule".to_owned() };
        assert_eq!(told, [only]);
        let other = refused(&books, TaskId::from_u128(2), Timestamp::from_millis(0)).unwrap();
        assert_eq!(other, []);
    }

    #[test]
    fn an_account_is_of_the_sandbox_in_which_the_change_was_made() {
        let mut kept = Kept::default();
        let given = |letter: &str| Given {
            image: letter.repeat(64),
            policy: "0".repeat(64),
            allowed: BTreeSet::from(["github".to_owned()]),
        };
        kept.give(Purpose::Research, given("a"));
        assert!(account(&kept, Traffic::default()).is_err());
        kept.give(Purpose::Implement, given("b"));
        let told = account(&kept, Traffic::default()).unwrap();
        assert_eq!(told.image.to_string(), "b".repeat(64));
    }
}
