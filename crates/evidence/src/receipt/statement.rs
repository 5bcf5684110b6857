//! Of which commit and tree a receipt is true: a statement of in-toto, version 1.

use std::{fmt, str::FromStr};

use domain::code::CommitId;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{Receipt, ReceiptFault, spelling};
use crate::{
    canonical::{self, NotCanonical},
    visible::line,
};

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What our receipts are called, with the version of their format. Anything but an addition that old readers refuse is a new version.
pub const PREDICATE_TYPE: &str = "urn:lamplighter:receipt:v1";
const PREDICATE_FAMILY: &str = "urn:lamplighter:receipt:";

/// Bytes of a statement. What fits is read in a moment, and what a task can fill stays below: see the limits of lists and texts.
pub const PAYLOAD_LIMIT: usize = 2 << 20;

/// The hash of a commit's tree: of its files, whatever its message and history are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TreeId(CommitId);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the full hash of a tree")]
pub struct TreeIdError(pub String);

impl FromStr for TreeId {
    type Err = TreeIdError;

    /// Spelt as a commit is.
    fn from_str(text: &str) -> Result<Self, TreeIdError> {
        text.parse().map(Self).map_err(|_| TreeIdError(line(text, 100)))
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A receipt, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub commit: CommitId,
    pub tree: TreeId,
    pub receipt: Receipt,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    #[error("the receipt is not valid: {0}")]
    Fault(#[from] ReceiptFault),
    #[error("what is signed cannot be read: {0}")]
    Unreadable(#[source] NotCanonical),
    #[error("what is signed is `{0}`, not a statement of in-toto")]
    OtherStatement(String),
    #[error(
        "the receipt has the format `{0}`, which this version of lamp does not know; use a newer one"
    )]
    UnknownVersion(String),
    #[error("what is signed is `{0}`, not a receipt of Lamplighter")]
    OtherPredicate(String),
    #[error("a receipt is about one commit and its tree, and this one is about something else")]
    OtherSubject,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape<P> {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: P,
}

#[derive(Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: SubjectDigest,
}

/// The keys of digests are those of in-toto.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
enum SubjectDigest {
    #[serde(rename = "gitCommit", with = "spelling::plain")]
    Commit(CommitId),
    #[serde(rename = "gitTree", with = "spelling::plain")]
    Tree(TreeId),
}

impl Statement {
    /// The bytes that are signed.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        if let Some(fault) = self.receipt.fault() {
            return Err(StatementError::Fault(fault));
        }
        self.check_subject()?;
        let shape = Shape {
            kind: STATEMENT_TYPE.to_owned(),
            subject: subject(&self.commit, &self.tree),
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: &self.receipt,
        };
        let bytes = canonical::write(&shape).map_err(StatementError::Unreadable)?;
        if bytes.len() > PAYLOAD_LIMIT {
            let length = bytes.len();
            let large = NotCanonical::TooLarge { length, limit: PAYLOAD_LIMIT };
            return Err(StatementError::Unreadable(large));
        }
        Ok(bytes)
    }

    /// Reads what was signed, and nothing else.
    pub fn read(bytes: &[u8]) -> Result<Self, StatementError> {
        Self::check_kind(bytes)?;
        let shape: Shape<Receipt> =
            canonical::read(bytes, PAYLOAD_LIMIT).map_err(StatementError::Unreadable)?;
        let Shape { subject: subjects, predicate: receipt, .. } = shape;
        let (commit, tree) = match subjects.as_slice() {
            [
                Subject { digest: SubjectDigest::Commit(commit), .. },
                Subject { digest: SubjectDigest::Tree(tree), .. },
            ] => (commit.clone(), tree.clone()),
            _other => return Err(StatementError::OtherSubject),
        };
        if subjects != subject(&commit, &tree) {
            return Err(StatementError::OtherSubject);
        }
        if let Some(fault) = receipt.fault() {
            return Err(StatementError::Fault(fault));
        }
        let statement = Self { commit, tree, receipt };
        statement.check_subject()?;
        Ok(statement)
    }

    /// One repository has hashes of one kind.
    fn check_subject(&self) -> Result<(), StatementError> {
        let lengths = [&self.commit, &self.tree.0, &self.receipt.base].map(|it| it.as_str().len());
        if lengths.iter().any(|length| Some(length) != lengths.first()) {
            return Err(StatementError::OtherSubject);
        }
        Ok(())
    }

    /// Tells a newer format from nonsense before the rest is read.
    fn check_kind(bytes: &[u8]) -> Result<(), StatementError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(rename = "_type")]
            kind: String,
            #[serde(rename = "predicateType")]
            predicate_type: String,
            #[serde(rename = "predicate")]
            _predicate: IgnoredAny,
        }
        let unreadable = |error| StatementError::Unreadable(error);
        if bytes.len() > PAYLOAD_LIMIT {
            let length = bytes.len();
            return Err(unreadable(NotCanonical::TooLarge { length, limit: PAYLOAD_LIMIT }));
        }
        let head: Head = serde_json::from_slice(bytes)
            .map_err(|error| unreadable(NotCanonical::Shape(line(&error.to_string(), 200))))?;
        if head.kind != STATEMENT_TYPE {
            return Err(StatementError::OtherStatement(line(&head.kind, 100)));
        }
        if head.predicate_type == PREDICATE_TYPE {
            return Ok(());
        }
        let told = line(&head.predicate_type, 100);
        if head.predicate_type.starts_with(PREDICATE_FAMILY) {
            return Err(StatementError::UnknownVersion(told));
        }
        Err(StatementError::OtherPredicate(told))
    }
}

fn subject(commit: &CommitId, tree: &TreeId) -> Vec<Subject> {
    let named = |name: &str, digest: SubjectDigest| Subject { name: name.to_owned(), digest };
    vec![
        named("commit", SubjectDigest::Commit(commit.clone())),
        named("tree", SubjectDigest::Tree(tree.clone())),
    ]
}
