//! How commands ended, by name: a repeated command gets the first answer.

use std::collections::{BTreeMap, VecDeque};

use contracts::sandbox::{CommandName, Finished};

/// How many are remembered; the oldest go first.
const MOST: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Answers {
    by_name: BTreeMap<CommandName, Finished>,
    by_age: VecDeque<CommandName>,
}

impl Answers {
    pub(crate) fn get(&self, name: &CommandName) -> Option<&Finished> {
        self.by_name.get(name)
    }

    pub(crate) fn add(&mut self, name: CommandName, answer: Finished) {
        if self.by_name.insert(name.clone(), answer).is_none() {
            self.by_age.push_back(name);
        }
        if self.by_age.len() > MOST
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.by_name.remove(&oldest);
        }
    }

    pub(crate) fn all(&self) -> BTreeMap<CommandName, Finished> {
        self.by_name.clone()
    }
}

impl From<BTreeMap<CommandName, Finished>> for Answers {
    fn from(by_name: BTreeMap<CommandName, Finished>) -> Self {
        let by_age = by_name.keys().cloned().collect();
        Self { by_name, by_age }
    }
}

#[cfg(test)]
mod tests {
    use contracts::sandbox::{Cut, Ended};
    use domain::cost::Cost;

    use super::*;

    #[test]
    fn the_oldest_answers_are_forgotten_first() {
        let answer = || Finished { ending: Ended::Exited(0), cut: Cut::Whole, cost: Cost::ZERO };
        let mut answers = Answers::default();
        answers.add(CommandName::new("z"), answer());
        for number in 0..MOST {
            answers.add(CommandName::new(format!("a{number}")), answer());
        }
        assert!(answers.get(&CommandName::new("z")).is_none());
        assert!(answers.get(&CommandName::new("a0")).is_some());
        assert_eq!(answers.all().len(), MOST);
    }
}
