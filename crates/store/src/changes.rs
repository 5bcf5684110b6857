//! Who is waiting? Readers are told that a task has something new, and then read for themselves.
//!
//! Being told is a courtesy, not a promise: a reader that was too slow, or whose connection broke,
//! hears that it missed something ([`Heard::Missed`]), looks again from the last number that it has
//! seen, and misses nothing.
//!
//! Agents talk much more than tasks change. So their words have a channel of their own: whoever listens for events alone
//! is neither woken by them nor made to miss something because of them.

use domain::id::TaskId;
use tokio::sync::broadcast;

/// Task `task` now has `seq` events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub task: TaskId,
    pub seq: u64,
}

/// The transcript of `task` now goes up to `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    pub task: TaskId,
    pub number: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Changes {
    events: broadcast::Sender<Heard>,
    transcripts: broadcast::Sender<Heard>,
}

/// One reader's ear.
#[derive(Debug)]
pub struct Subscription {
    events: broadcast::Receiver<Heard>,
    transcripts: Option<broadcast::Receiver<Heard>>,
}

/// What a reader hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Change(Change),
    /// Only those who asked for it hear this: [`Store::subscribe_to_all`](crate::Store::subscribe_to_all).
    Transcript(Growth),
    /// Some were missed: look at everything you care about.
    Missed,
    /// Nothing more will come.
    Closed,
}

impl Change {
    pub(crate) fn message(self) -> String {
        format!("{} {}", self.task, self.seq)
    }
}

impl Growth {
    /// A lamp that knows no transcripts takes this for no message at all.
    pub(crate) fn message(self) -> String {
        format!("{} said {}", self.task, self.number)
    }
}

impl Heard {
    /// What a message between servers says, if it is one that this lamp knows.
    pub(crate) fn parse(message: &str) -> Option<Self> {
        let (task, news) = message.split_once(' ')?;
        let task = task.parse().ok()?;
        Some(match news.strip_prefix("said ") {
            Some(number) => Self::Transcript(Growth { task, number: number.parse().ok()? }),
            None => Self::Change(Change { task, seq: news.parse().ok()? }),
        })
    }
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self { events: broadcast::channel(1024).0, transcripts: broadcast::channel(1024).0 }
    }

    pub(crate) fn tell(&self, heard: Heard) {
        // No reader is no mistake.
        let _readers = match heard {
            Heard::Transcript(_) => self.transcripts.send(heard),
            Heard::Change(_) | Heard::Missed | Heard::Closed => self.events.send(heard),
        };
    }

    /// For a while nothing could be heard. Those who hear of transcripts hear of events too.
    pub(crate) fn tell_of_a_gap(&self) {
        self.tell(Heard::Missed);
    }

    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription { events: self.events.subscribe(), transcripts: None }
    }

    pub(crate) fn subscribe_to_all(&self) -> Subscription {
        let transcripts = Some(self.transcripts.subscribe());
        Subscription { events: self.events.subscribe(), transcripts }
    }
}

impl Subscription {
    pub async fn next(&mut self) -> Heard {
        let received = match &mut self.transcripts {
            None => self.events.recv().await,
            Some(transcripts) => tokio::select! {
                event = self.events.recv() => event,
                words = transcripts.recv() => words,
            },
        };
        match received {
            Ok(heard) => heard,
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: TaskId = TaskId::from_u128(7);

    #[test]
    fn a_message_between_servers_says_what_it_was_made_of() {
        let change = Change { task: TASK, seq: 3 };
        assert_eq!(Heard::parse(&change.message()), Some(Heard::Change(change)));
        let growth = Growth { task: TASK, number: 4 };
        assert_eq!(Heard::parse(&growth.message()), Some(Heard::Transcript(growth)));
        for unknown in ["", "x", "x 1", &format!("{TASK}"), &format!("{TASK} sang 4")] {
            assert_eq!(Heard::parse(unknown), None, "{unknown}");
        }
    }

    /// The lamp before this one read a message as a task and a number, and took no other.
    #[test]
    fn an_older_lamp_takes_no_transcript_for_an_event() {
        let message = Growth { task: TASK, number: 4 }.message();
        let (_, seq) = message.split_once(' ').unwrap();
        assert!(seq.parse::<u64>().is_err(), "{message}");
    }

    #[tokio::test]
    async fn many_words_make_nobody_miss_an_event() {
        let changes = Changes::new();
        let (mut events, mut all) = (changes.subscribe(), changes.subscribe_to_all());
        for number in 1..=5_000 {
            changes.tell(Heard::Transcript(Growth { task: TASK, number }));
        }
        let change = Heard::Change(Change { task: TASK, seq: 1 });
        changes.tell(change);
        assert_eq!(events.next().await, change);
        let mut heard = vec![all.next().await];
        while heard.last() != Some(&Heard::Transcript(Growth { task: TASK, number: 5_000 })) {
            heard.push(all.next().await);
        }
        let missed = heard.iter().filter(|it| **it == Heard::Missed).count();
        assert_eq!(missed, 1, "and who was too slow for the words is told so");
    }
}
