//! Where a line is from: the commit that git blames for it, found from objects alone.

use contracts::{
    forge::{Blamed, ForgeError, Forges as _},
    sandbox::Sandboxes,
};
use domain::code::RepositoryName;
use git::{GitError, run};

use super::{READING, ReadError, find};
use crate::{plain::PlainGit, shown};

/// Bytes of a path, and of a line that is shown.
const LONGEST: usize = 4096;

impl<S: Sandboxes> PlainGit<S> {
    /// As [`contracts::forge::Forges::blame`].
    pub(crate) async fn blamed(
        &self,
        repository: &RepositoryName,
        path: &str,
        line: u32,
    ) -> Result<Blamed, ForgeError> {
        let refused = |reason: String| ForgeError::Refused { reason };
        if path.is_empty() || path.len() > LONGEST || path.contains(char::is_control) {
            return Err(refused(
                "the path is empty, too long, or has letters that cannot be shown".to_owned(),
            ));
        }
        let head = self.head(repository).await?;
        let mirror = find(&self.host, repository, &[&head]).await?;
        let mut command = self.host.git().on(&mirror.path);
        let lines = format!("{line},{line}");
        command.args([
            "blame",
            "--porcelain",
            "--no-textconv",
            "-L",
            &lines,
            head.as_str(),
            "--",
            path,
        ]);
        let ran = run(command, &[], READING).await.map_err(ReadError::Git)?;
        let output = ran.checked("find where a line is from").map_err(|error| match error {
            GitError::Failed { reason, .. } if reason.contains("no such path") => {
                refused(format!("there is no `{path}` on the default branch"))
            }
            GitError::Failed { .. } => {
                refused(format!("`{path}` has no line {line} on the default branch"))
            }
            other @ (GitError::Io(_)
            | GitError::OutOfTime
            | GitError::Killed
            | GitError::TooMuch { .. }
            | GitError::Strange { .. }) => ReadError::Git(other).into(),
        })?;
        read(&String::from_utf8_lossy(&output)).ok_or_else(|| {
            ReadError::Git(GitError::Strange { doing: "find where a line is from" }).into()
        })
    }
}

/// What git says of one line: a head with the commit, what is known of it, and the line behind a tab.
fn read(said: &str) -> Option<Blamed> {
    let mut lines = said.lines();
    let commit = lines.next()?.split(' ').next()?.parse().ok()?;
    let (mut subject, mut text) = (String::new(), None);
    for line in lines {
        if let Some(line) = line.strip_prefix('\t') {
            text = Some(shown::line(line.as_bytes(), LONGEST));
        } else if let Some(summary) = line.strip_prefix("summary ") {
            subject = shown::line(summary.as_bytes(), LONGEST);
        }
    }
    Some(Blamed { commit, text: text?, subject })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blamed_line_is_read_as_git_says_it() {
        let commit = "a".repeat(40);
        let said = format!(
            "{commit} 3 4 1\nauthor Ann\nsummary Fix the\u{1b}[31m login\nfilename a.rs\n\tlet x = 1;\n"
        );
        let blamed = read(&said).unwrap();
        assert_eq!((blamed.commit.as_str(), &*blamed.text), (&*commit, "let x = 1;"));
        assert!(!blamed.subject.contains('\u{1b}'), "{}", blamed.subject);
        for wrong in ["", "x 1 1 1\n\ttext\n", &format!("{commit} 1 1 1\nauthor Ann\n")] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
