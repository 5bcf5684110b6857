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
