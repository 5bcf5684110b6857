//! Runs the program in a directory of its own, without the tester's environment.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

pub(crate) struct World {
    directory: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// For what a sandbox must see: `/tmp` is its own.
    pub(crate) fn outside_of_tmp() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { directory }
    }

    /// Makes a git repository with one file. Says how a command names it.
    pub(crate) fn repository(&self, name: &str, file: &str, content: &str) -> String {
        self.write(&format!("{name}/{file}"), content);
        let place = self.path().join(name);
        for words in [
            ["init", "--quiet", "--initial-branch=main"].as_slice(),
            &["add", "."],
            &["commit", "--quiet", "--message=first"],
        ] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-C"]);
            let done = git.arg(&place).args(words).output().unwrap();
            assert!(done.status.success(), "git {words:?}");
        }
        format!("acme/{name}={}", place.display())
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, bytes).unwrap();
    }

    /// The program with these words, which may not contain spaces.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lamp"));
        command
            .args(line.split_whitespace())
            .current_dir(self.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn lamp(&self, line: &str) -> Ended {
        Ended(self.command(line).output().unwrap())
    }
}

pub(crate) struct Ended(Output);

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Self(output)
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// All that a person or a script could see, with this version's number taken out.
    pub(crate) fn story(&self) -> String {
        let streams = [("out", self.out()), ("err", self.err())];
        let said = streams.iter().filter(|(_, text)| !text.is_empty());
        let said: String = said.map(|(name, text)| ["--- ", name, "\n", text].concat()).collect();
        let story = format!("exit {}\n{said}", self.code().unwrap());
        story.replace(env!("CARGO_PKG_VERSION"), "[version]")
    }
}
