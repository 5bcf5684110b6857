//! A test that is gone is told once: by its file where a file tells of it, and by the run where only that does.

use super::{Found, Weakened, Weakening};
use crate::text::Label;

impl Found {
    /// What `runs` tell and files do not, each with the file that the run names for it, if it names one.
    pub fn join_runs(&mut self, runs: Self) {
        for mut told in runs.weakened {
            let name = name(&told).to_owned();
            if self.weakened.iter().any(|it| is_same(it, &told, &name)) {
                continue;
            }
            if let Some(file) = file(&name) {
                told.file = Label::new(file);
            }
            self.weakened.push(told);
        }
        self.left_off += runs.left_off;
    }
}

/// The test, as the run calls it: `suite › name`.
fn name(told: &Weakened) -> &str {
    let name = told.what.strip_prefix('`').and_then(|it| it.rsplit_once("` of `"));
    name.map_or("", |(name, _)| name)
}

fn is_same(in_file: &Weakened, told: &Weakened, name: &str) -> bool {
    let is_kin = match told.kind {
        Weakening::GoneFromRun => {
            matches!(in_file.kind, Weakening::TestDeleted | Weakening::FileDeleted)
        }
        Weakening::SkippedInRun => matches!(in_file.kind, Weakening::TestSkipped),
        Weakening::FileDeleted
        | Weakening::TestDeleted
        | Weakening::TestSkipped
        | Weakening::OthersSkipped
        | Weakening::ExpectedToFail
        | Weakening::AssertionsRemoved
        | Weakening::AlwaysTrue
        | Weakening::Loosened
        | Weakening::CommandTolerant
        | Weakening::CheckRemoved
        | Weakening::CheckChanged
        | Weakening::RunnerTouched
        | Weakening::NotSource
        | Weakening::ThresholdLowered
        | Weakening::SnapshotRewritten
        | Weakening::Unread => false,
    };
    is_kin && (names(in_file, name) || is_of(&in_file.file, name))
}

/// Whether the code calls it so: a run puts its suite before, and its parameters behind.
fn names(in_file: &Weakened, name: &str) -> bool {
    let last = name.rsplit([' ', ':', '.']).next().unwrap_or(name);
    let bare = last.split('[').next().unwrap_or(last);
    let whole = name.rsplit_once("› ").map_or(name, |(_, name)| name);
    [bare, whole].into_iter().any(|it| !it.is_empty() && in_file.what.contains(&format!("`{it}`")))
}

/// Whether a whole file is gone that the run names.
fn is_of(path: &str, name: &str) -> bool {
    !path.is_empty() && file(name) == Some(path)
}

/// The suite, where that is a file of the repository.
fn file(name: &str) -> Option<&str> {
    let suite = name.split_once(" › ").map(|(suite, _)| suite)?;
    let path = suite.split("::").next().unwrap_or(suite);
    let file = path.rsplit('/').next().unwrap_or(path);
    let is_file = file.contains('.') && path.contains('/') || is_source(file);
    let is_plain = !path.starts_with('/') && !path.contains(char::is_whitespace);
    (is_file && is_plain).then_some(path)
}

fn is_source(file: &str) -> bool {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|it| {
        matches!(
            it,
            "py" | "js" | "mjs" | "cjs" | "ts" | "tsx" | "jsx" | "rs" | "go" | "rb" | "php"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(all: &[(Weakening, &str, &str)]) -> Found {
        let one =
            |(kind, file, what): &(Weakening, &str, &str)| Weakened::new(*kind, file, None, what);
        Found { weakened: all.iter().map(one).collect(), left_off: 0 }
    }

    #[test]
    fn a_deleted_test_is_told_once_with_its_path() {
        use Weakening::{FileDeleted, GoneFromRun, SkippedInRun, TestDeleted, TestSkipped};
        let mut all = found(&[
            (TestDeleted, "tests/test_a.py", "`test_one` is gone"),
            (FileDeleted, "tests/test_b.py", "12 tests gone with it: `test_x` and 11 more"),
            (TestSkipped, "src/lib.rs", "`later` is skipped"),
        ]);
        all.join_runs(found(&[
            (GoneFromRun, "", "`tests/test_a.py › test_one[1-2]` of `pytest`"),
            (GoneFromRun, "", "`tests/test_b.py › TestB::test_12` of `pytest`"),
            (SkippedInRun, "", "`tests::later` of `cargo test`"),
            (GoneFromRun, "", "`tests/test_c.py › test_three` of `pytest`"),
            (GoneFromRun, "", "`tests::fourth` of `cargo test`"),
        ]));
        let told: Vec<String> = all.weakened.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        tests/test_a.py: test deleted: `test_one` is gone
        tests/test_b.py: test file deleted: 12 tests gone with it: `test_x` and 11 more
        src/lib.rs: test skipped: `later` is skipped
        tests/test_c.py: test no longer run: `tests/test_c.py › test_three` of `pytest`
        test no longer run: `tests::fourth` of `cargo test`
        ");
    }
}
