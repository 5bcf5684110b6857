//! The refs that we keep in a repository, below `refs/lamp`.

use std::collections::BTreeMap;

use domain::code::{CommitId, PullRequestNumber};
use git::{Far, RefName};

/// The record of a pull request.
pub(crate) fn pull(number: PullRequestNumber) -> RefName {
    RefName::ours(&format!("pulls/{}", number.0))
}

pub(crate) fn notes() -> RefName {
    RefName::ours("notes")
}

pub(crate) fn receipts() -> RefName {
    RefName::ours("receipts")
}

/// Work of a task that was taken out of its sandbox.
pub(crate) fn task(part: &str) -> RefName {
    RefName::ours(&format!("tasks/{part}"))
}

/// The records of pull requests on the other side, by number.
pub(crate) fn pulls(far: &Far) -> BTreeMap<PullRequestNumber, &CommitId> {
    far.all().filter_map(|(name, at)| Some((pull_number(name)?, at))).collect()
}

fn pull_number(name: &RefName) -> Option<PullRequestNumber> {
    let number = name.as_str().strip_prefix("refs/lamp/pulls/")?;
    let is_plain = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| number.parse().ok())?.map(PullRequestNumber)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_has_one_number_in_one_spelling() {
        let at = "b".repeat(40);
        let said: String = ["12", "012", "x", "", "0", "+1", "1/2", "99999999999999999999999"]
            .map(|number| format!("{at}\trefs/lamp/pulls/{number}\n"))
            .concat();
        let far = Far::read(&format!("{said}{at}\trefs/heads/pulls/3\n"));
        assert_eq!(pulls(&far).into_keys().collect::<Vec<_>>(), [PullRequestNumber(12)]);
        assert_eq!(pull(PullRequestNumber(12)).as_str(), "refs/lamp/pulls/12");
    }
}
