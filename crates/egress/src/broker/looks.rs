//! How often one sandbox's commands may be looked for.

use domain::time::Timestamp;

/// How many looks a sandbox has in a minute.
const LOOKS_A_MINUTE: u32 = 30;

/// How many looks are left.
#[derive(Debug, Default)]
pub(super) struct Looks {
    minute: i64,
    taken: u32,
}

impl Looks {
    /// Whether there is one more.
    pub(super) fn take(&mut self, now: Timestamp) -> bool {
        let minute = now.as_millis().div_euclid(60_000);
        if minute != self.minute {
            *self = Self { minute, taken: 0 };
        }
        self.taken += 1;
        self.taken <= LOOKS_A_MINUTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_counted_by_the_minute() {
        let mut looks = Looks::default();
        let taken = |looks: &mut Looks, at| {
            (0..100).filter(|_| looks.take(Timestamp::from_millis(at))).count()
        };
        assert_eq!(taken(&mut looks, 60_000), 30);
        assert_eq!(taken(&mut looks, 119_999), 0);
        assert_eq!(taken(&mut looks, 120_000), 30);
    }
}
