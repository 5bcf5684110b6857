//! What of a record came through our own doors.
//!
//! Whoever may push to a repository may write its records, in any name. So what is said through us gets the seal of the house, over all that it
//! says and where, and a name is believed only with the right seal. A seal that is copied to other words, another pull request or another
//! name is a wrong one. Without the right one it is somebody who calls themselves that.
//!
//! ```text
//!  comment, review, merge, close ──▶ sealed ──▶ record ──▶ read by anybody's leave ──▶ believed ──▶ Person, or Unproven
//! ```

use contracts::forge::{Author, Comment, Opinion, PullState, Review};
use domain::{
    code::{CommitId, PullRequestNumber},
    digest::Digest,
};
use serde::Serialize;

use super::{
    ledger::Ledger,
    record::{Record, Sealed},
};

/// What a seal is over. Each field has a place of its own, so that no two that differ are written the same.
#[derive(Serialize)]
struct Words<'a> {
    version: u32,
    repository: &'a str,
    number: u64,
    kind: &'static str,
    name: &'a str,
    author: (&'static str, &'a str),
    at_millis: i64,
    place: Option<(&'a str, u32)>,
    opinion: Option<&'static str>,
    commits: Vec<&'a str>,
    branches: Vec<&'a str>,
    text: &'a str,
}

impl Ledger<'_> {
    /// What a person says through us.
    pub(super) fn sealed_comment(
        &self,
        number: PullRequestNumber,
        comment: &Comment,
    ) -> Sealed<Comment> {
        let seal = self.seal(&comment.author, self.comment_words(number, comment));
        Sealed { said: comment.clone(), seal }
    }

    pub(super) fn sealed_review(
        &self,
        number: PullRequestNumber,
        review: &Review,
    ) -> Sealed<Review> {
        let seal = self.seal(&review.author, self.review_words(number, review));
        Sealed { said: review.clone(), seal }
    }

    /// Seals how a record ended, and with it all that a revert needs to know.
    pub(super) fn seal_state(&self, record: &mut Record) {
        record.state_seal =
            self.state_words(record).and_then(|(by, words)| self.seal(&by, Some(words)));
    }

    /// The record, with each name as it can be believed.
    pub(super) fn believed(&self, mut record: Record) -> Record {
        let number = record.number;
        for sealed in &mut record.comments {
            let words = self.comment_words(number, &sealed.said);
            self.judge(&mut sealed.said.author, words, sealed.seal);
        }
        for sealed in &mut record.reviews {
            let words = self.review_words(number, &sealed.said);
            self.judge(&mut sealed.said.author, words, sealed.seal);
        }
        let words = self.state_words(&record).map(|(_, words)| words);
        match &mut record.state {
            PullState::Draft | PullState::Open => {}
            PullState::Merged { by, .. } | PullState::Closed { by } => {
                self.judge(by, words, record.state_seal);
            }
        }
        record
    }

    /// Whether we ended it ourselves, as it says.
    pub(super) fn has_ended(&self, record: &Record) -> bool {
        let (Some((_, words)), Some(seal)) = (self.state_words(record), record.state_seal) else {
            return false;
        };
        self.host.seal.has_sealed(&words, seal)
    }

    /// None for somebody whom we do not know ourselves.
    fn seal(&self, author: &Author, words: Option<Vec<u8>>) -> Option<Digest> {
        match author {
            Author::Platform | Author::Person(_) => words.map(|words| self.host.seal.seal(&words)),
            Author::Unproven(_) => None,
        }
    }

    fn judge(&self, author: &mut Author, words: Option<Vec<u8>>, seal: Option<Digest>) {
        let is_right = match (words, seal) {
            (Some(words), Some(seal)) => self.host.seal.has_sealed(&words, seal),
            (Some(_) | None, Some(_) | None) => false,
        };
        let claims = std::mem::replace(author, Author::Platform);
        *author = match (claims, is_right) {
            (claims @ Author::Platform, true) => claims,
            (Author::Person(name) | Author::Unproven(name), true) => Author::Person(name),
            (claims, false) => Author::Unproven(claims.name().to_owned()),
        };
    }

    fn comment_words(&self, number: PullRequestNumber, comment: &Comment) -> Option<Vec<u8>> {
        let place = comment.place.as_ref();
        written(&Words {
            kind: "comment",
            name: &comment.name,
            author: claimed(&comment.author),
            at_millis: comment.at.as_millis(),
            place: place.map(|(path, line)| (path.as_str(), *line)),
            text: &comment.text,
            ..self.nothing(number)
        })
    }

    fn review_words(&self, number: PullRequestNumber, review: &Review) -> Option<Vec<u8>> {
        written(&Words {
            kind: "review",
            name: &review.name,
            author: claimed(&review.author),
            at_millis: review.at.as_millis(),
            opinion: Some(match review.opinion {
                Opinion::Approves => "approves",
                Opinion::WantsChanges => "wants changes",
                Opinion::Remarks => "remarks",
            }),
            commits: vec![review.commit.as_str()],
            text: &review.text,
            ..self.nothing(number)
        })
    }

    /// Who ended it, and the words about that. Nothing while it is open.
    fn state_words(&self, record: &Record) -> Option<(Author, Vec<u8>)> {
        let branches = vec![record.branch.as_str(), record.base.as_str()];
        let nothing = self.nothing(record.number);
        let (by, words) = match &record.state {
            PullState::Draft | PullState::Open => return None,
            PullState::Merged { commit, by } => {
                let onto = record.merged_onto.as_ref().unwrap_or(commit);
                let commits = [commit, onto, &record.delivered].map(CommitId::as_str).to_vec();
                let author = claimed(by);
                (by, Words { kind: "merged", author, commits, branches, ..nothing })
            }
            PullState::Closed { by } => {
                (by, Words { kind: "closed", author: claimed(by), branches, ..nothing })
            }
        };
        Some((by.clone(), written(&words)?))
    }

    fn nothing(&self, number: PullRequestNumber) -> Words<'_> {
        Words {
            version: 1,
            repository: self.repository.as_str(),
            number: number.0,
            kind: "",
            name: "",
            author: ("", ""),
            at_millis: 0,
            place: None,
            opinion: None,
            commits: Vec::new(),
            branches: Vec::new(),
            text: "",
        }
    }
}

/// Who it is said to be. A record does not say whether they were believed.
fn claimed(author: &Author) -> (&'static str, &str) {
    match author {
        Author::Platform => ("platform", ""),
        Author::Person(name) | Author::Unproven(name) => ("person", name),
    }
}

/// Texts and numbers can always be written; what could not would have no seal, and nobody would be believed.
fn written(words: &Words<'_>) -> Option<Vec<u8>> {
    serde_json::to_vec(words).ok()
}
