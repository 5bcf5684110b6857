//! What is wrong with an answer, in sentences that the agent which gave it can act on.
//!
//! **Invariant:** at most [`MOST`] sentences of at most [`LONGEST`] bytes each, without line breaks: they are made of what an agent
//! said, and go back into a prompt.

use std::fmt;

use domain::{transcript::shortened, visible::visible};

/// Sentences that are told. One more says that there are more.
const MOST: usize = 20;

/// Bytes of one sentence.
const LONGEST: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<String>);

impl Faults {
    pub(crate) fn one(sentence: String) -> Self {
        Self::all([sentence])
    }

    pub(super) fn all(sentences: impl IntoIterator<Item = String>) -> Self {
        let mut sentences = sentences.into_iter();
        let mut told: Vec<String> = sentences.by_ref().take(MOST).map(line).collect();
        if sentences.next().is_some() {
            told.push("and more of the kind".to_owned());
        }
        Self(told)
    }

    pub fn sentences(&self) -> &[String] {
        &self.0
    }
}

fn line(sentence: String) -> String {
    let short = shortened(sentence, LONGEST);
    visible(&short).split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for Faults {}
