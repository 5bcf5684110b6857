//! What only shows itself inside: that a tree which says nothing and never ends is left alone in time.

use std::{path::Path, process::Command, time::Duration};

use super::*;

fn git(repository: &Path, arguments: &[&str], input: &[u8]) -> String {
    use std::io::Write as _;
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(["-c", "user.name=P", "-c", "user.email=p@example.com"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_tree_of_empty_directories_without_end_takes_no_more_than_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let repository = directory.path().join("r.git");
    git(&repository, &["init", "--quiet", "--bare"], b"");
    let mut tree = git(&repository, &["mktree"], b"");
    // Thirty directories in thirty directories in thirty …, and not one file that a limit would count.
    for _ in 0..20 {
        let entries: Vec<_> =
            (10..40).map(|name| format!("040000 tree {tree}\t{name}\n")).collect();
        tree = git(&repository, &["mktree"], entries.concat().as_bytes());
    }
    let commit = git(&repository, &["commit-tree", "-m", "x", &tree], b"");
    let program = Git::new(Path::new("git"), directory.path());
    let allowance = Allowance { time: Duration::from_millis(300), ..READING };
    let listed = list(&program, &repository, &commit.parse().unwrap(), |_| true, allowance).await;
    assert!(matches!(listed, Err(ReadError::Git(GitError::OutOfTime))), "{listed:?}");
}
