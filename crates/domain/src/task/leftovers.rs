//! What an image's setup or a hook had done to a checkout before the agent got it: told to people once, and nobody's change.

/// Some names, and how many more there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Files of the commit that were changed, and are as in the commit again.
    pub restored: Vec<String>,
    /// What is there beside the commit, or otherwise than in it. It is the agent's only where the agent changes it.
    pub left: Vec<String>,
    /// Those that are not named.
    pub more: u64,
}

/// Names of each kind.
const NAMED: usize = 10;

/// Of one name. Whoever made it could make it long.
const LONGEST: usize = 200;

impl Leftovers {
    /// Of all names: a few are told, the others are counted.
    pub fn told<'a>(
        restored: impl Iterator<Item = &'a str>,
        left: impl Iterator<Item = &'a str>,
        uncounted: u64,
    ) -> Self {
        let (restored, unnamed) = some(restored);
        let (left, also_unnamed) = some(left);
        let more = uncounted.saturating_add(unnamed).saturating_add(also_unnamed);
        Self { restored, left, more }
    }

    pub const fn is_empty(&self) -> bool {
        self.restored.is_empty() && self.left.is_empty() && self.more == 0
    }
}

/// A few of the names, and how many there are besides.
fn some<'a>(mut names: impl Iterator<Item = &'a str>) -> (Vec<String>, u64) {
    let told = names.by_ref().take(NAMED).map(plain).collect();
    (told, u64::try_from(names.count()).unwrap_or(u64::MAX))
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_and_the_others_counted() {
        let names: Vec<String> = (0..25).map(|number| format!("file {number}")).collect();
        let all = || names.iter().map(String::as_str);
        let told = Leftovers::told(all().take(2), all(), 5);
        assert_eq!((told.restored.len(), told.left.len(), told.more), (2, NAMED, 20));
        assert!(Leftovers::told(all().take(0), all().take(0), 0).is_empty());
        let long = "\u{1b}[2J".to_owned() + &"x".repeat(900);
        let told = Leftovers::told(std::iter::once(long.as_str()), all().take(0), 0);
        assert!(told.restored[0].len() == LONGEST && told.restored[0].starts_with("[2Jx"));
    }
}
