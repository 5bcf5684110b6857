//! A small repository of a scene's own: a sum that subtracts, and tests of it that take milliseconds.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// What the repository is about.
pub(crate) const SUM: &str = "def add(a, b):\n    return a - b\n";

/// One test holds whatever the sum does, one finds the bug.
pub(crate) const TESTS: &str = "import unittest\n\nfrom sum import add\n\n\nclass Sum(unittest.TestCase):\n    def test_nothing(self):\n        self.assertEqual(add(0, 0), 0)\n\n    def test_two_and_three(self):\n        self.assertEqual(add(2, 3), 5)\n\n\nif __name__ == \"__main__\":\n    unittest.main()\n";

pub(crate) const MAKEFILE: &str = "test:\n\tpython3 -B -m unittest -v test_sum\n";

#[derive(Debug, Clone)]
pub(crate) struct Repository {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Repository {
    /// With a bug that a test finds.
    pub(crate) fn make(below: &Path, name: &str) -> Self {
        Self::make_with(below, name, &[])
    }

    /// The same, but for these files.
    pub(crate) fn make_with(below: &Path, name: &str, other: &[(&str, &str)]) -> Self {
        let path = below.join(name);
        std::fs::create_dir_all(&path).unwrap();
        let usual = [("sum.py", SUM), ("test_sum.py", TESTS), ("Makefile", MAKEFILE)];
        for (file, text) in usual.iter().chain(other) {
            let place = path.join(file);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let made = Self { name: name.to_owned(), path };
        made.git(&["init", "--quiet", "--template=", "--initial-branch", "main"]);
        made.git(&["add", "--all"]);
        made.git(&["commit", "--quiet", "--message", "first"]);
        made
    }

    /// Git as nobody has ever set it up; what it says.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(&self.path).args(words);
        command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
        command.envs([("GIT_AUTHOR_NAME", "Ann"), ("GIT_COMMITTER_NAME", "Ann")]);
        command.envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|it| (it, "ann@example.com")));
        let said = command.output().unwrap();
        let mut text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if !said.status.success() {
            let _ = write!(text, " {}", String::from_utf8_lossy(&said.stderr));
            panic!("git {words:?} in {}: {text}", self.name);
        }
        text
    }

    /// A person commits one more file to the branch that is checked out; the commit.
    pub(crate) fn commit(&self, file: &str, text: &str) -> String {
        std::fs::write(self.path.join(file), text).unwrap();
        self.git(&["add", file]);
        self.git(&["commit", "--quiet", "--message", file]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Whether the branch `main` adds now.
    pub(crate) fn is_mended(&self) -> bool {
        self.git(&["show", "main:sum.py"]).contains("a + b")
    }

    /// Branches other than `main`.
    pub(crate) fn branches(&self) -> Vec<String> {
        let all = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        all.lines().filter(|name| *name != "main").map(str::to_owned).collect()
    }
}
