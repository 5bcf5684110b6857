//! How a test says that it, or a part of it, cannot run on this machine.
//!
//! Libtest and nextest know of passed, failed and ignored tests only, and what a passing test prints is shown by neither. A test that
//! returns early is therefore green, and nobody sees why. Here it says so where `scripts/test` can count it:
//!
//! ```text
//!  unsupported!("it needs root");                the test ends here
//!  let stage = supported!(Stage::build());       the same, with the reason that the `Err` tells
//!  unsupported::part("the tier `untrusted`", "gVisor is not installed");      the test goes on without it
//! ```
//!
//! Each writes one line into a file of its own in the directory that `LAMPLIGHTER_UNSUPPORTED` names, five fields with tabs between
//! them: `test` or `part`, the program, the test, what is left out (`-` for all of it), why. `scripts/unsupported` reads them.
//! Without that variable the line goes to stderr only.
//!
//! `tests/architecture` refuses a test function that returns in another way, and a print that only says `unsupported`.
//!
//! It has no dependencies, so that every room can have it among its dev-dependencies.

use std::{
    fmt::Display,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// The directory to write into. Whoever runs tests again as somebody else, and shows the rest here, takes it away from them.
pub const DIRECTORY: &str = "LAMPLIGHTER_UNSUPPORTED";

/// Ends the test, which cannot run here, with the reason.
#[macro_export]
macro_rules! unsupported {
    ($($why:tt)+) => {{
        $crate::whole(&::std::format!($($why)+));
        return;
    }};
}

/// What is in the `Ok`; an `Err` is why the test cannot run here, and ends it.
#[macro_export]
macro_rules! supported {
    ($given:expr $(,)?) => {
        match $given {
            Ok(given) => given,
            Err(why) => $crate::unsupported!("{why}"),
        }
    };
}

/// The test that calls this does nothing here. Meant for those who play a test for it; a test itself says [`unsupported!`].
pub fn whole(why: &(impl Display + ?Sized)) {
    tell(&Line { kind: "test", what: "-", why: &why.to_string() });
}

/// The test that calls this goes on without a part of it.
pub fn part(what: &(impl Display + ?Sized), why: &(impl Display + ?Sized)) {
    tell(&Line { kind: "part", what: &what.to_string(), why: &why.to_string() });
}

struct Line<'a> {
    kind: &'static str,
    what: &'a str,
    why: &'a str,
}

/// Says it to people, and to whoever counts. A line that cannot be written fails the test: it would be counted as passed.
#[expect(clippy::print_stderr, reason = "what was not tested is told")]
#[expect(clippy::panic, reason = "only tests call this, and what is not counted must not pass")]
#[expect(clippy::disallowed_methods, reason = "a word from the script that runs the tests")]
fn tell(line: &Line<'_>) {
    let (test, program) = (test(), program());
    eprintln!("unsupported: {program} {test}: {}: {}", line.what, line.why);
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    if let Err(error) = write(Path::new(&directory), &program, &test, line) {
        panic!("{}: what cannot run here cannot be told: {error}", Path::new(&directory).display());
    }
}

fn write(directory: &Path, program: &str, test: &str, line: &Line<'_>) -> io::Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let line = [line.kind, program, test, line.what, line.why].map(plain).join("\t") + "\n";
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = directory.join(format!("{}-{number}", std::process::id()));
        // A process in another namespace may have our number.
        match fs::File::options().write(true).create_new(true).open(name) {
            Ok(mut file) => return file.write_all(line.as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// One line of bounded length, and no tab in it.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(300).collect()
}

/// The name of the test. Its own thread has it; on another one of the process, the runner or the command line tells.
#[expect(clippy::disallowed_methods, reason = "nextest tells which test it runs")]
fn test() -> String {
    let thread = std::thread::current();
    let own = thread.name().filter(|name| *name != "main" && !name.starts_with("tokio"));
    let asked = || {
        let mut words = std::env::args().skip(1);
        words.find(|word| !word.starts_with('-'))
    };
    let told = || std::env::var("NEXTEST_TEST_NAME").ok();
    own.map(str::to_owned).or_else(told).or_else(asked).unwrap_or_else(|| "?".to_owned())
}

/// The program of tests, as nextest calls it: `tests::escape`, or `images` for the tests in a room.
#[expect(clippy::disallowed_methods, reason = "nextest tells which program it runs")]
fn program() -> String {
    let told = std::env::var("NEXTEST_BINARY_ID").ok();
    told.unwrap_or_else(|| {
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("?"));
        let name = own.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Cargo adds what it was built from.
        let name = name.rsplit_once('-').map_or(name.as_str(), |(name, _)| name);
        match std::env::var("CARGO_PKG_NAME").ok() {
            Some(package) if package.replace('-', "_") == name => package,
            Some(package) => format!("{package}::{name}"),
            None => name.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_one_line_of_five_fields() {
        let directory = tempfile::tempdir().unwrap();
        let line = Line { kind: "part", what: "a\ttier", why: "two\nlines" };
        for _ in 0..2 {
            write(directory.path(), "tests::escape", "calls::all", &line).unwrap();
        }
        let told: Vec<String> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        assert_eq!(told, ["part\ttests::escape\tcalls::all\ta tier\ttwo lines\n"; 2]);
    }

    #[test]
    fn a_line_that_cannot_be_written_is_an_error() {
        let line = Line { kind: "test", what: "-", why: "why" };
        assert!(write(Path::new("/nowhere/to/be/found"), "p", "t", &line).is_err());
    }

    #[test]
    fn a_test_knows_its_own_name() {
        assert_eq!(test(), "tests::a_test_knows_its_own_name");
    }

    #[test]
    fn a_test_that_cannot_run_ends_there() {
        /// Counts how far it came.
        fn played(given: Result<u32, &str>, came: &mut u32) {
            *came = 1;
            let given = supported!(given);
            *came = given;
        }
        let mut came = 0;
        played(Ok(7), &mut came);
        assert_eq!(came, 7);
    }
}
