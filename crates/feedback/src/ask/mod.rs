//! How runners of tests are asked for a report that names every test.
//!
//! What a check prints mostly names only what failed, so that nothing can be said about the rest. The platform asks the runner itself: by
//! variables that it reads, by what is loaded into it, and by programs that stand before it in `PATH`. All of that is in a directory outside
//! of the checkout, made anew before each run, so that a change cannot have prepared it. A change that runs can still write there, as it can
//! print: a report never makes a run pass.
//!
//! | runner | asked by | for |
//! |---|---|---|
//! | pytest, also below tox and nox | `PYTEST_ADDOPTS` | `JUnit` |
//! | jest, vitest, mocha | a file that `NODE_OPTIONS` loads | JSON |
//! | `cargo test`, nextest | a program in `PATH` | all programs, also after one that failed |
//! | `go test` | a program in `PATH` | the names of all tests |
//! | Maven, Gradle | nothing: they write `JUnit` beside the code | |

/// Makes the directory. Arguments: the directory, and [`files`].
const PREPARE: &str = r#"set -e
rm -rf -- "$1"
mkdir -p -- "$1/bin" "$1/out"
printf %s "$2" > "$1/preload.cjs"
printf %s "$3" > "$1/mocha.cjs"
printf %s "$4" > "$1/bin/cargo"
printf %s "$4" > "$1/bin/go"
chmod 755 "$1/bin/cargo" "$1/bin/go"
: > "$1/began"
"#;

/// The command that makes the directory. Whatever was there is removed.
pub fn prepare(directory: &str) -> Vec<String> {
    let files = [include_str!("preload.cjs"), include_str!("mocha.cjs"), include_str!("shim.sh")];
    script(PREPARE, &[&[directory], files.as_slice()].concat())
}

/// The check's command, with all that asks.
pub fn asking(directory: &str, command: &str) -> Vec<String> {
    script(include_str!("prelude.sh"), &[directory, command])
}

/// The command that prints what was written, in the directory in which the check ran.
pub fn collect(directory: &str) -> Vec<String> {
    script(include_str!("collect.sh"), &[directory])
}

fn script(script: &str, arguments: &[&str]) -> Vec<String> {
    let words = ["/bin/sh", "-c", script, "sh"];
    words.iter().chain(arguments).map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

    use super::*;

    fn run(argv: &[String], directory: &Path) -> String {
        let path = format!("{}/tools:/usr/bin:/bin", directory.display());
        let mut command = Command::new(&argv[0]);
        let command = command.args(&argv[1..]).current_dir(directory).env_clear().env("PATH", path);
        let said = command.output().unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap()
    }

    /// A directory with a `cargo` and a `go` that print what they are given, and what asks.
    fn ready(directory: &Path) -> String {
        let tools = directory.join("tools");
        fs::create_dir_all(&tools).unwrap();
        for name in ["cargo", "go"] {
            fs::write(tools.join(name), "#!/bin/sh\necho ${0##*/} \"$@\"\n").unwrap();
            fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let asked = directory.join("asked").display().to_string();
        run(&prepare(&asked), directory);
        asked
    }

    #[test]
    fn runners_are_asked_for_all_tests_however_they_are_started() {
        let directory = tempfile::tempdir().unwrap();
        let asked = ready(directory.path());
        for (command, expected) in [
            ("cargo test", "cargo test --no-fail-fast"),
            (
                "cargo +stable --locked test --lib -- a 'b c'",
                "cargo +stable --locked test --no-fail-fast --lib -- a b c",
            ),
            ("sh -c 'cargo t -p x'", "cargo t --no-fail-fast -p x"),
            ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
            ("cargo test -- --list", "cargo test --no-fail-fast -- --list"),
            ("cargo nextest run -p x", "cargo nextest run --no-fail-fast -p x"),
            ("cargo build", "cargo build"),
            ("go test ./...", "go test -v ./..."),
            ("go test -json ./...", "go test -json ./..."),
            ("go vet ./...", "go vet ./..."),
            ("echo \"$PYTEST_ADDOPTS\" | grep -c junitxml", "1"),
        ] {
            let said = run(&asking(&asked, command), directory.path());
            assert_eq!(said.trim_end(), expected, "{command}");
        }
    }

    #[test]
    fn what_was_there_before_a_run_is_not_collected() {
        let directory = tempfile::tempdir().unwrap();
        let reports = directory.path().join("target/surefire-reports");
        fs::create_dir_all(&reports).unwrap();
        fs::create_dir_all(directory.path().join("asked/out")).unwrap();
        fs::write(directory.path().join("pom.xml"), "").unwrap();
        fs::write(reports.join("TEST-a.xml"), "old").unwrap();
        fs::write(directory.path().join("asked/out/jest-1.json"), "prepared").unwrap();
        let asked = ready(directory.path());
        assert_eq!(run(&collect(&asked), directory.path()), "");
        // Times of files are not finer than the clock that the kernel has for them.
        let began = fs::metadata(format!("{asked}/began")).unwrap().modified().unwrap();
        fs::write(reports.join("TEST-b.xml"), "fresh").unwrap();
        let file = fs::File::options().write(true).open(reports.join("TEST-b.xml")).unwrap();
        file.set_modified(began + std::time::Duration::from_secs(1)).unwrap();
        fs::write(format!("{asked}/out/jest-1.json"), "written").unwrap();
        let said = run(&collect(&asked), directory.path());
        assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["written", "fresh"]);
    }
}
