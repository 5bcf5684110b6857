//! The files that git would commit, and the commands that we ask about them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// One text file of the tree.
pub(crate) struct File {
    /// Relative to the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// The root of this clone.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the root").to_owned()
}

/// Every text file that is tracked, or new and not ignored. Files that are not UTF-8 are left out.
pub(crate) fn files() -> Vec<File> {
    let listed = output("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
        .into_iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(root().join(path)).ok()?;
            Some(File { path: path.to_owned(), text })
        })
        .collect()
}

/// The files whose name ends in `.extension`.
pub(crate) fn files_with(extension: &str) -> Vec<File> {
    files().into_iter().filter(|file| file.has_extension(extension)).collect()
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What cargo prints, without asking the network and without changing the lock file.
pub(crate) fn cargo(arguments: &[&str]) -> String {
    output(env!("CARGO"), &[arguments, &["--locked", "--offline"]].concat())
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} failed:\n{errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Fails with all that is wrong, one line each, under a heading that says what to do.
pub(crate) fn assert_none(what_to_do: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{what_to_do}:\n  {}\n", wrong.join("\n  "));
}
