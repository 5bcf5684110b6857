//! How much of what one sandbox does becomes rows of the audit log, one by one.
//!
//! Whoever is inside can be refused as often as they like. The first few of a minute are a row each; what follows in that minute is counted, and
//! becomes one row that says how often what happened. So nothing is left out, and nobody fills a disk by trying.
//!
//! **Invariant:** of everything that was offered, either it is admitted or it is in a sum.

use std::collections::BTreeMap;

use domain::time::Timestamp;

/// How many of a minute are a row each.
pub(super) const EACH: u32 = 60;
/// How many kinds a sum tells apart.
const KINDS: usize = 20;
const MINUTE: i64 = 60_000;

#[derive(Debug, Default)]
pub(super) struct Windows(BTreeMap<String, Window>);

/// One minute of one sandbox.
#[derive(Debug)]
struct Window {
    since: Timestamp,
    each: u32,
    more: BTreeMap<(String, String), u64>,
    others: u64,
}

/// What becomes of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admitted {
    /// It is a row of its own.
    Each,
    /// It is counted.
    InSum,
}

/// What was counted, when its minute is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) sandbox: String,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    pub(super) count: u64,
    /// By what was done and to what, those that happened most first.
    pub(super) by: Vec<(String, String, u64)>,
    pub(super) others: u64,
}

impl Windows {
    /// Whether one more of `sandbox` is a row, and the sum of its last minute if that is over.
    pub(super) fn admit(
        &mut self,
        sandbox: &str,
        (action, subject): (&str, &str),
        now: Timestamp,
    ) -> (Admitted, Option<Sum>) {
        let is_over = self.0.get(sandbox).is_some_and(|window| window.is_over(now));
        let sum = if is_over { self.close(sandbox, now) } else { None };
        let window = self.0.entry(sandbox.to_owned()).or_insert_with(|| Window::new(now));
        if window.each < EACH {
            window.each += 1;
            return (Admitted::Each, sum);
        }
        window.count(action, subject);
        (Admitted::InSum, sum)
    }

    /// It was admitted, and could not be written: it is counted.
    pub(super) fn count(&mut self, sandbox: &str, (action, subject): (&str, &str), now: Timestamp) {
        let window = self.0.entry(sandbox.to_owned()).or_insert_with(|| Window::new(now));
        window.count(action, subject);
    }

    /// The sums of all minutes that are over.
    pub(super) fn over(&mut self, now: Timestamp) -> Vec<Sum> {
        let over = self.0.iter().filter(|(_, window)| window.is_over(now));
        let over: Vec<String> = over.map(|(sandbox, _)| sandbox.clone()).collect();
        over.iter().filter_map(|sandbox| self.close(sandbox, now)).collect()
    }

    /// The sums of all, because the server ends.
    pub(super) fn all(&mut self, now: Timestamp) -> Vec<Sum> {
        let all: Vec<String> = self.0.keys().cloned().collect();
        all.iter().filter_map(|sandbox| self.close(sandbox, now)).collect()
    }

    fn close(&mut self, sandbox: &str, until: Timestamp) -> Option<Sum> {
        let Window { since, more, others, .. } = self.0.remove(sandbox)?;
        let count = more.values().sum::<u64>() + others;
        let mut by: Vec<(String, String, u64)> =
            more.into_iter().map(|((action, subject), count)| (action, subject, count)).collect();
        by.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        let sum = Sum { sandbox: sandbox.to_owned(), since, until, count, by, others };
        (count > 0).then_some(sum)
    }
}

impl Window {
    const fn new(since: Timestamp) -> Self {
        Self { since, each: 0, more: BTreeMap::new(), others: 0 }
    }

    const fn is_over(&self, now: Timestamp) -> bool {
        now.as_millis() - self.since.as_millis() >= MINUTE
    }

    fn count(&mut self, action: &str, subject: &str) {
        let key = (action.to_owned(), subject.to_owned());
        if self.more.len() >= KINDS && !self.more.contains_key(&key) {
            self.others += 1;
            return;
        }
        *self.more.entry(key).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_minute_are_rows_and_the_rest_is_counted() {
        let mut windows = Windows::default();
        let at = Timestamp::from_millis;
        let mut rows = 0;
        for number in 0..1_000_u32 {
            let subject = format!("h{}.example.com:443", number % 30);
            let (admitted, sum) = windows.admit("s_1", ("egress.refused", &subject), at(5));
            assert_eq!(sum, None);
            rows += u32::from(admitted == Admitted::Each);
        }
        assert_eq!(rows, EACH);
        assert_eq!(windows.admit("s_2", ("egress.refused", "x:443"), at(5)).0, Admitted::Each);
        assert_eq!(windows.over(at(60_004)), []);
        let (admitted, sum) = windows.admit("s_1", ("egress.refused", "x:443"), at(60_005));
        let sum = sum.unwrap();
        assert_eq!((admitted, sum.count, sum.by.len()), (Admitted::Each, 940, 20));
        let told: u64 = sum.by.iter().map(|(_, _, count)| count).sum();
        assert_eq!(told + sum.others, 940, "nothing is left out");
        assert_eq!(windows.over(at(200_000)), [], "there was nothing more");
        windows.count("s_3", ("credential.used", "TOKEN"), at(200_000));
        assert_eq!(windows.all(at(200_001)).len(), 1);
    }
}
