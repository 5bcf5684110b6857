//! What a run on a base commit is known by, so that it is made once.

use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
};

use crate::checks::Check;

/// All that a result on the base commit depends on.
#[derive(Debug, Clone, Copy)]
pub struct Baseline<'a> {
    pub repository: &'a RepositoryName,
    pub commit: &'a CommitId,
    pub check: &'a Check,
    /// Of the image that the sandbox starts from.
    pub image: Digest,
    /// Of the program that reads the reports: a newer one may read more in the same output.
    pub platform_version: &'a str,
}

/// The same for the same inputs, and different when any of them differs. A check's name and why it was found do not matter; what is run
/// and where does.
pub fn baseline_key(baseline: &Baseline<'_>) -> Digest {
    let image = baseline.image.to_string();
    let fields = [
        "lamplighter baseline 1",
        baseline.repository.as_str(),
        baseline.commit.as_str(),
        baseline.check.command.as_str(),
        baseline.check.directory.as_str(),
        &image,
        baseline.platform_version,
    ];
    let mut bytes = Vec::new();
    for field in fields {
        // The length before the text, so that no two lists of fields read the same.
        bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
        bytes.extend_from_slice(field.as_bytes());
    }
    Digest::of(&bytes)
}
