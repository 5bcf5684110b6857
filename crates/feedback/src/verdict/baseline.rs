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
    /// The file that is read beside what the check prints.
    pub report: Option<&'a str>,
    /// What else its sandbox is made of, by name: hooks, variables, limits, the commits of repositories beside this one.
    pub around: &'a [(String, String)],
}

/// The same for the same inputs, and different when any of them differs. A check's name and why it was found do not matter; what is run
/// and where does.
pub fn baseline_key(baseline: &Baseline<'_>) -> Digest {
    let image = baseline.image.to_string();
    let around = baseline.around.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    let fields = [
        // Another number where the same inputs are run in another way.
        "lamplighter baseline 3",
        baseline.repository.as_str(),
        baseline.commit.as_str(),
        baseline.check.command.as_str(),
        baseline.check.directory.as_str(),
        &image,
        baseline.platform_version,
        if baseline.report.is_some() { "a report" } else { "no report" },
        baseline.report.unwrap_or_default(),
    ];
    let mut bytes = Vec::new();
    for field in fields.into_iter().chain(around) {
        // The length before the text, so that no two lists of fields read the same.
        bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
        bytes.extend_from_slice(field.as_bytes());
    }
    Digest::of(&bytes)
}
