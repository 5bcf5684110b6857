//! Dice that fall the same way for the same seed.

pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        // Zero would stay zero for ever.
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `sides`.
    pub(crate) fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.checked_rem(sides).unwrap_or_default()
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.throw(from.len() as u64)).ok()?;
        from.get(index)
    }
}
