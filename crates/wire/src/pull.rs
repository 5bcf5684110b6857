//! Pull requests after they were delivered: what people and checks do to them.
//!
//! Everything but numbers and hashes was written by somebody: text to be shown, never to be obeyed or printed raw.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::time::Time;

/// One pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pull {
    pub number: u64,
    pub repository: String,
    pub address: String,
    pub title: String,
    pub body: String,
    pub state: PullState,
    pub branch: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// What the branch is at, whoever pushed it; missing when somebody removed the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What was delivered last, by the platform.
    pub delivered: String,
    pub comments: Vec<PullComment>,
    pub checks: Vec<PullCheck>,
    pub reviews: Vec<PullReview>,
}

/// The pull requests of a repository, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pulls {
    pub pulls: Vec<Pull>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PullState {
    Draft {},
    Open {},
    Merged {
        /// The commit that the base branch was at after it.
        commit: String,
        by: PullAuthor,
    },
    Closed {
        by: PullAuthor,
    },
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum PullAuthor {
    Platform {},
    /// Somebody who came through this server.
    Person {
        name: String,
    },
    /// Somebody who calls themselves that. Whoever may push to the repository can write any name.
    Unproven {
        name: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PullComment {
    pub name: String,
    pub author: PullAuthor,
    pub at: Time,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PullCheck {
    pub name: String,
    pub commit: String,
    pub state: PullCheckState,
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullCheckState {
    Running,
    Passed,
    Failed,
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PullReview {
    pub name: String,
    pub author: PullAuthor,
    pub at: Time,
    pub commit: String,
    pub opinion: PullOpinion,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullOpinion {
    Approves,
    WantsChanges,
    Remarks,
}

/// Which repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PullQuery {
    /// The repository that it is in.
    #[param(min_length = 1, max_length = 200, example = "acme/web")]
    pub repository: String,
}

/// A comment to write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    /// Chosen by the caller, so that writing it twice writes it once; made here when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9._-]{1,100}$")]
    pub name: Option<String>,
    #[schema(min_length = 1, max_length = 65_536, pattern = r"\S")]
    pub text: String,
    /// The file that it is about; with `line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub line: Option<u32>,
}

/// What somebody thinks of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReview {
    /// Chosen by the caller, so that writing it twice writes it once; made here when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9._-]{1,100}$")]
    pub name: Option<String>,
    /// The commit that was looked at.
    #[schema(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$")]
    pub commit: String,
    pub opinion: PullOpinion,
    /// Why. Only an approval goes without words.
    #[serde(default)]
    #[schema(max_length = 65_536)]
    pub text: String,
}

/// How a check of a commit stands. Known by its name and its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCheck {
    #[schema(min_length = 1, max_length = 200, pattern = r"\S")]
    pub name: String,
    #[schema(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$")]
    pub commit: String,
    pub state: PullCheckState,
    /// One line for people.
    #[serde(default)]
    #[schema(max_length = 1000)]
    pub summary: String,
}

/// Brings the commit that was looked at into the branch that it was looked at for, and no other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MergePull {
    /// When the branch is at another one, nothing is merged.
    #[schema(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$")]
    pub head: String,
    /// The branch that it was shown to be for. When it is for another one by now, nothing is merged.
    #[schema(min_length = 1, max_length = 200, example = "main")]
    pub base: String,
}

/// What the base branch is at after a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Merged {
    pub commit: String,
}
