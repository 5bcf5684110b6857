//! What is written about a pull request: strict JSON with limits, one file `pull.json` in a commit below
//! `refs/lamp/pulls/<number>`.
//!
//! Whoever may push to the repository may write there too, so it is read as what it is: bytes from anybody. A file with a key
//! that we do not know, a hash that is none or one comment too many is not a record. A record alone proves nobody: the people in it are those
//! whom it names, until somebody has looked at the seals ([`super::seal`]).

use contracts::forge::{
    Author, Check, CheckState, Comment, Opinion, Outcome, Pull, PullError, PullState, Review,
};
use domain::{
    code::{BranchName, CommitId, PullRequestNumber},
    digest::Digest,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use git::RefName;

/// Of the whole file.
pub const LARGEST: usize = 2 << 20;
const VERSION: u32 = 1;
const LONGEST_LINE: usize = 500;
pub(super) const LONGEST_BODY: usize = 256 << 10;
const LONGEST_TEXT: usize = 64 << 10;
const MOST_COMMENTS: usize = 1_000;
const MOST_CHECKS: usize = 500;
const MOST_REVIEWS: usize = 200;

/// A pull request as it is stored. What its branch is at is not: that is asked of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub number: PullRequestNumber,
    pub title: String,
    pub body: String,
    pub state: PullState,
    /// Of whoever ended it.
    pub state_seal: Option<Digest>,
    /// What the base branch was at before it was merged.
    pub merged_onto: Option<CommitId>,
    pub branch: BranchName,
    pub base: String,
    pub delivered: CommitId,
    pub comments: Vec<Sealed<Comment>>,
    pub checks: Vec<Check>,
    pub reviews: Vec<Sealed<Review>>,
}

/// What somebody says, and the seal of the house whose doors it came through, if it came through one. Another house cannot read its seal, and
/// keeps it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed<T> {
    pub said: T,
    pub seal: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("it is larger than {LARGEST} bytes")]
    Large,
    #[error("{0}")]
    Json(String),
    #[error("its `{0}` is not allowed")]
    Field(&'static str),
}

impl Record {
    /// Reads what somebody wrote.
    pub fn read(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > LARGEST {
            return Err(RecordError::Large);
        }
        let stored: Stored =
            serde_json::from_slice(bytes).map_err(|error| RecordError::Json(error.to_string()))?;
        stored.checked()
    }

    /// Writes it, if it could be read again.
    pub fn write(&self) -> Result<Vec<u8>, RecordError> {
        let stored = Stored::of(self);
        let mut bytes = serde_json::to_vec_pretty(&stored)
            .map_err(|error| RecordError::Json(error.to_string()))?;
        bytes.push(b'\n');
        if bytes.len() > LARGEST {
            return Err(RecordError::Large);
        }
        stored.checked()?;
        Ok(bytes)
    }

    pub(super) fn is_ended(&self) -> Option<&'static str> {
        match self.state {
            PullState::Draft | PullState::Open => None,
            PullState::Merged { .. } => Some("merged"),
            PullState::Closed { .. } => Some("closed"),
        }
    }

    pub(super) fn pull(self, address: String, head: Option<CommitId>) -> Pull {
        Pull {
            number: self.number,
            address,
            title: self.title,
            body: self.body,
            state: self.state,
            branch: self.branch,
            base: self.base,
            head,
            delivered: self.delivered,
            comments: self.comments.into_iter().map(|sealed| sealed.said).collect(),
            checks: self.checks,
            reviews: self.reviews.into_iter().map(|sealed| sealed.said).collect(),
        }
    }
}

impl RecordError {
    /// For whoever wanted to have it written.
    pub(super) fn refused(self) -> PullError {
        PullError::Refused { reason: format!("this cannot be kept: {self}") }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    number: u64,
    title: String,
    body: String,
    state: StoredState,
    branch: String,
    base: String,
    delivered: String,
    comments: Vec<StoredComment>,
    checks: Vec<StoredCheck>,
    reviews: Vec<StoredReview>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredState {
    Draft,
    Open,
    Merged {
        commit: String,
        onto: String,
        by: StoredAuthor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<String>,
    },
    Closed {
        by: StoredAuthor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredAuthor {
    Platform,
    Person(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredComment {
    name: String,
    author: StoredAuthor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
    at_millis: i64,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<StoredPlace>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPlace {
    path: String,
    line: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCheck {
    name: String,
    commit: String,
    state: StoredCheckState,
    summary: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredCheckState {
    Running,
    Passed,
    Failed,
    Skipped,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReview {
    name: String,
    author: StoredAuthor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
    at_millis: i64,
    commit: String,
    opinion: StoredOpinion,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOpinion {
    Approves,
    WantsChanges,
    Remarks,
}

impl Stored {
    fn of(record: &Record) -> Self {
        let seal = record.state_seal.map(|seal| seal.to_string());
        Self {
            version: VERSION,
            number: record.number.0,
            title: record.title.clone(),
            body: record.body.clone(),
            state: match &record.state {
                PullState::Draft => StoredState::Draft,
                PullState::Open => StoredState::Open,
                PullState::Merged { commit, by } => StoredState::Merged {
                    commit: commit.to_string(),
                    onto: record.merged_onto.as_ref().unwrap_or(commit).to_string(),
                    by: author_of(by),
                    seal,
                },
                PullState::Closed { by } => StoredState::Closed { by: author_of(by), seal },
            },
            branch: record.branch.to_string(),
            base: record.base.clone(),
            delivered: record.delivered.to_string(),
            comments: record.comments.iter().map(comment_of).collect(),
            checks: record.checks.iter().map(check_of).collect(),
            reviews: record.reviews.iter().map(review_of).collect(),
        }
    }

    fn checked(self) -> Result<Record, RecordError> {
        let wrong = RecordError::Field;
        if self.version != VERSION {
            return Err(wrong("version"));
        }
        let (state, merged_onto, state_seal) = match self.state {
            StoredState::Draft => (PullState::Draft, None, None),
            StoredState::Open => (PullState::Open, None, None),
            StoredState::Merged { commit, onto, by, seal } => {
                let (commit, onto) = (hash(&commit, "state")?, hash(&onto, "state")?);
                let state = PullState::Merged { commit, by: author(by)? };
                (state, Some(onto), seal_of(seal)?)
            }
            StoredState::Closed { by, seal } => {
                (PullState::Closed { by: author(by)? }, None, seal_of(seal)?)
            }
        };
        RefName::base(&self.base).ok_or(wrong("base"))?;
        Ok(Record {
            number: Some(self.number)
                .filter(|number| *number > 0)
                .map(PullRequestNumber)
                .ok_or(wrong("number"))?,
            title: line(self.title, "title")?,
            body: text(self.body, LONGEST_BODY, "body")?,
            state,
            state_seal,
            merged_onto,
            branch: self.branch.parse().map_err(|_wrong| wrong("branch"))?,
            base: self.base,
            delivered: hash(&self.delivered, "delivered")?,
            comments: several(self.comments, MOST_COMMENTS, "comments", comment)?,
            checks: several(self.checks, MOST_CHECKS, "checks", check)?,
            reviews: several(self.reviews, MOST_REVIEWS, "reviews", review)?,
        })
    }
}

fn several<S, T>(
    all: Vec<S>,
    most: usize,
    field: &'static str,
    one: fn(S) -> Result<T, RecordError>,
) -> Result<Vec<T>, RecordError> {
    if all.len() > most {
        return Err(RecordError::Field(field));
    }
    all.into_iter().map(one).collect()
}

fn line(text: String, field: &'static str) -> Result<String, RecordError> {
    let fine = text.len() <= LONGEST_LINE && !text.chars().any(char::is_control);
    if fine { Ok(text) } else { Err(RecordError::Field(field)) }
}

/// Line breaks and tabs are a part of text; other control characters are not, and NUL is none.
fn text(text: String, longest: usize, field: &'static str) -> Result<String, RecordError> {
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.len() <= longest && !text.chars().any(odd) {
        Ok(text)
    } else {
        Err(RecordError::Field(field))
    }
}

fn name(text: String, field: &'static str) -> Result<String, RecordError> {
    if text.is_empty() { Err(RecordError::Field(field)) } else { line(text, field) }
}

fn hash(text: &str, field: &'static str) -> Result<CommitId, RecordError> {
    text.parse().map_err(|_wrong| RecordError::Field(field))
}

fn author(author: StoredAuthor) -> Result<Author, RecordError> {
    match author {
        StoredAuthor::Platform => Ok(Author::Platform),
        StoredAuthor::Person(who) => Ok(Author::Unproven(name(who, "author")?)),
    }
}

fn seal_of(seal: Option<String>) -> Result<Option<Digest>, RecordError> {
    let read = |seal: String| seal.parse().map_err(|_wrong| RecordError::Field("seal"));
    seal.map(read).transpose()
}

fn author_of(author: &Author) -> StoredAuthor {
    match author {
        Author::Platform => StoredAuthor::Platform,
        Author::Person(who) | Author::Unproven(who) => StoredAuthor::Person(who.clone()),
    }
}

fn comment(comment: StoredComment) -> Result<Sealed<Comment>, RecordError> {
    let place = comment.place.map(|place| Ok((name(place.path, "place")?, place.line)));
    let said = Comment {
        name: name(comment.name, "comment name")?,
        author: author(comment.author)?,
        at: Timestamp::from_millis(comment.at_millis),
        text: text(comment.text, LONGEST_TEXT, "comment text")?,
        place: place.transpose()?,
    };
    Ok(Sealed { said, seal: seal_of(comment.seal)? })
}

fn comment_of(sealed: &Sealed<Comment>) -> StoredComment {
    let Sealed { said: comment, seal } = sealed;
    let place = comment.place.as_ref();
    StoredComment {
        name: comment.name.clone(),
        author: author_of(&comment.author),
        seal: seal.map(|seal| seal.to_string()),
        at_millis: comment.at.as_millis(),
        text: comment.text.clone(),
        place: place.map(|(path, line)| StoredPlace { path: path.clone(), line: *line }),
    }
}

fn check(check: StoredCheck) -> Result<Check, RecordError> {
    Ok(Check {
        name: name(check.name, "check name")?,
        commit: hash(&check.commit, "check commit")?,
        state: match check.state {
            StoredCheckState::Running => CheckState::Running,
            StoredCheckState::Passed => CheckState::Ended(Outcome::Passed),
            StoredCheckState::Failed => CheckState::Ended(Outcome::Failed),
            StoredCheckState::Skipped => CheckState::Ended(Outcome::Skipped),
        },
        summary: line(check.summary, "check summary")?,
    })
}

fn check_of(check: &Check) -> StoredCheck {
    StoredCheck {
        name: check.name.clone(),
        commit: check.commit.to_string(),
        state: match check.state {
            CheckState::Running => StoredCheckState::Running,
            CheckState::Ended(Outcome::Passed) => StoredCheckState::Passed,
            CheckState::Ended(Outcome::Failed) => StoredCheckState::Failed,
            CheckState::Ended(Outcome::Skipped) => StoredCheckState::Skipped,
        },
        summary: check.summary.clone(),
    }
}

fn review(review: StoredReview) -> Result<Sealed<Review>, RecordError> {
    let said = Review {
        name: name(review.name, "review name")?,
        author: author(review.author)?,
        at: Timestamp::from_millis(review.at_millis),
        commit: hash(&review.commit, "review commit")?,
        opinion: match review.opinion {
            StoredOpinion::Approves => Opinion::Approves,
            StoredOpinion::WantsChanges => Opinion::WantsChanges,
            StoredOpinion::Remarks => Opinion::Remarks,
        },
        text: text(review.text, LONGEST_TEXT, "review text")?,
    };
    Ok(Sealed { said, seal: seal_of(review.seal)? })
}

fn review_of(sealed: &Sealed<Review>) -> StoredReview {
    let Sealed { said: review, seal } = sealed;
    StoredReview {
        name: review.name.clone(),
        author: author_of(&review.author),
        seal: seal.map(|seal| seal.to_string()),
        at_millis: review.at.as_millis(),
        commit: review.commit.to_string(),
        opinion: match review.opinion {
            Opinion::Approves => StoredOpinion::Approves,
            Opinion::WantsChanges => StoredOpinion::WantsChanges,
            Opinion::Remarks => StoredOpinion::Remarks,
        },
        text: review.text.clone(),
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
