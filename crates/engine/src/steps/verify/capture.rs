//! One run of one check, as the sandbox saw it: how it ended, and the end of what it printed.

use std::{collections::BTreeMap, time::Duration};

use contracts::{
    clock::Clock as _,
    outfit::DeclaredCheck,
    sandbox::{CommandName, Ended, Exec, FileAsk, Output, Sandboxes as _, Streams, Transfer, User},
};
use domain::{
    failure::{Failure, FailureKind},
    id::SandboxId,
};
use feedback::{
    STREAM_BYTES, ask,
    checks::{Check, Directory, Kind},
};
use tokio::sync::mpsc;

use super::{
    super::{Scene, Trouble, allowance, full},
    choice::Chosen,
};
use crate::{
    Hands,
    captured::{Captured, Ending, Place, log},
};

/// How long a check may take that says nothing of it.
const USUAL: Duration = Duration::from_mins(20);

/// How long reading a report may take.
const READING: Duration = Duration::from_secs(30);

/// A report that a check writes.
const LARGEST_REPORT: usize = 16 << 20;

/// Where tools leave reports of coverage, in the directory that they run in: lcov, Cobertura, coverage.py's JSON, Go's profiles.
const COVERAGE: [&str; 15] = [
    "lcov.info",
    "coverage.lcov",
    "coverage/lcov.info",
    "target/coverage/lcov.info",
    "target/llvm-cov/lcov.info",
    "coverage.xml",
    "cobertura.xml",
    "coverage/coverage.xml",
    "coverage/cobertura-coverage.xml",
    "coverage.json",
    "coverage/coverage.json",
    "coverage.out",
    "cover.out",
    "c.out",
    "coverage.txt",
];

/// Where runners of tests write what they are asked for: outside of the checkout, with a number for each run.
const ASKED: &str = "/tmp/lamplighter-reports";

/// Directories that are looked into.
const DIRECTORIES: usize = 20;

/// Runs checks in one sandbox.
pub(super) struct Runner<'s, 'e, H> {
    pub(super) scene: &'s Scene<'e, H>,
    pub(super) sandbox: SandboxId,
    pub(super) declared: &'s [DeclaredCheck],
    pub(super) chosen: &'s Chosen,
    pub(super) part: &'static str,
}

impl<H: Hands> Runner<'_, '_, H> {
    pub(super) async fn run(&self, check: &Check, number: u32) -> Result<Captured, Trouble> {
        let scene = self.scene;
        let declared = self.declared.iter().find(|it| it.name == check.name);
        let root = scene.checkout()?;
        let place = self.place(&root, &check.directory);
        let asked = self.ask(check, number).await;
        let command = Exec {
            argv: match &asked {
                Some(directory) => ask::asking(directory, check.command.as_str()),
                None => ["/bin/sh", "-c", check.command.as_str()].map(str::to_owned).to_vec(),
            },
            environment: environment(),
            path: Vec::new(),
            sweeps: true,
            directory: place.inside(),
            user: User::Agent,
            terminal: None,
            limit: declared.map_or(USUAL, |declared| declared.limit),
            output_limit: 64 << 20,
        };
        let wanted = declared.and_then(|declared| declared.report.as_ref());
        let report = wanted.map(|path| format!("{root}/{path}"));
        // One that the change commits, or that an earlier run left, tells nothing of this run.
        let report = match report {
            Some(path) if self.clear("report", number, std::slice::from_ref(&path)).await => {
                Some(path)
            }
            Some(_) | None => None,
        };
        let left = allowance::left(scene).map_err(Trouble::Failed)?;
        let command =
            Exec { limit: left.map_or(command.limit, |left| left.min(command.limit)), ..command };
        let begun = scene.engine.now();
        let (_no_input, input) = mpsc::channel(1);
        let (output, said) = mpsc::channel(16);
        let name = CommandName::from(scene.numbered_key(self.part, number));
        let streams = Streams { input, output };
        let running = scene.hands().sandboxes().exec(self.sandbox, &name, &command, streams);
        let (finished, (stdout, stderr)) = tokio::join!(running, ends(said));
        let finished = finished.map_err(|error| scene.sandbox_trouble(&error))?;
        let clean = |bytes: &[u8]| {
            scene.engine.settings.redactor.clean(&String::from_utf8_lossy(bytes)).into_bytes()
        };
        let (stdout, stderr) = (clean(&stdout), clean(&stderr));
        let failed = |kind, message: String| {
            Failure::new(kind, scene.phase(), message).with_log(&log(&stdout, &stderr))
        };
        let ending = match finished.ending {
            Ended::Exited(code) => Ending::Exited(code),
            Ended::Killed { signal } => Ending::Killed(signal),
            Ended::TimedOut => {
                // Its own time may be long, and that of the approval over.
                allowance::left(scene)
                    .map_err(|used_up| Trouble::Failed(failed(used_up.kind, used_up.message)))?;
                Ending::TimedOut
            }
            Ended::OutOfMemory { peak_mib } => {
                let message = format!("the check `{}` used {peak_mib} MiB", check.name);
                return Err(Trouble::Failed(failed(FailureKind::Oom, message)));
            }
        };
        if ending != Ending::Exited(0) {
            let failure =
                failed(FailureKind::DiskFull, format!("the check `{}` failed", check.name));
            if let Some(told) = full::told(scene, self.sandbox, &failure.last_lines).await {
                let message = format!("{}; {told}", failure.message);
                return Err(Trouble::Failed(Failure { message, ..failure }));
            }
        }
        let report = match report {
            Some(path) => self.read(&path).await,
            None => None,
        };
        let asked = match asked {
            Some(directory) => self.answer(&directory, &place, number).await,
            None => None,
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&clean(&bytes)).into_owned();
        // Of a command that is not there nobody expects a report.
        let was_there = !matches!(ending, Ending::Exited(126 | 127));
        Ok(Captured {
            command: check.command.as_str().to_owned(),
            ending,
            stdout,
            stderr,
            unwritten: wanted.filter(|_| was_there && report.is_none()).cloned(),
            report: report.map(text),
            asked: asked.filter(|bytes| !bytes.is_empty()).map(text),
            millis: u64::try_from(scene.engine.now().since(begun).as_millis()).unwrap_or(u64::MAX),
            place,
        })
    }

    /// Reports of coverage, where tools usually leave them.
    pub(super) async fn coverage(&self) -> Vec<(Place, Vec<u8>)> {
        let mut found = Vec::new();
        for (place, path) in self.coverage_paths() {
            found.extend(self.read(&path).await.map(|bytes| (place, bytes)));
        }
        found
    }

    /// Removes what a hook has left in those places, so that what is there later was left by a check.
    pub(super) async fn clear_coverage(&self) {
        let paths: Vec<String> = self.coverage_paths().into_iter().map(|(_, path)| path).collect();
        self.clear("coverage", 0, &paths).await;
    }

    /// At the root, and in the directories of the checks. A file of the commit itself is what somebody says of coverage, not what a run
    /// has seen: it is neither read nor removed.
    fn coverage_paths(&self) -> Vec<(Place, String)> {
        let Ok(root) = self.scene.checkout() else { return Vec::new() };
        let mut directories = vec![Directory::default()];
        for check in &self.chosen.checks {
            if !directories.contains(&check.directory) && directories.len() < DIRECTORIES {
                directories.push(check.directory.clone());
            }
        }
        let paths = directories.iter().flat_map(|directory| {
            COVERAGE.iter().filter(|name| !self.chosen.is_tracked(&directory.file(name))).map(
                |name| (self.place(&root, directory), format!("{root}/{}", directory.file(name))),
            )
        });
        paths.collect()
    }

    /// Makes ready what asks runners of tests for a report, in a directory that no commit can hold and that is made anew.
    async fn ask(&self, check: &Check, number: u32) -> Option<String> {
        if check.kind != Kind::Test {
            return None;
        }
        let directory = format!("{ASKED}-{number}");
        let root = self.scene.checkout().ok()?;
        let made = self.aside("asking", number, root, ask::prepare(&directory)).await;
        made.is_some().then_some(directory)
    }

    /// What they wrote.
    async fn answer(&self, directory: &str, place: &Place, number: u32) -> Option<Vec<u8>> {
        self.aside("asked", number, place.inside(), ask::collect(directory)).await
    }

    /// Whether nothing is left at these paths.
    async fn clear(&self, part: &'static str, number: u32, paths: &[String]) -> bool {
        let Ok(root) = self.scene.checkout() else { return false };
        let words = ["/bin/sh", "-c", "rm -rf -- \"$@\"", "sh"].map(str::to_owned);
        let argv = words.iter().chain(paths).cloned().collect();
        self.aside(part, number, root, argv).await.is_some()
    }

    /// A short command of ours beside the checks, and what it printed, if it succeeded and that is not too much.
    async fn aside(
        &self,
        part: &'static str,
        number: u32,
        directory: String,
        argv: Vec<String>,
    ) -> Option<Vec<u8>> {
        let command = Exec {
            argv,
            environment: BTreeMap::new(),
            path: Vec::new(),
            sweeps: true,
            directory,
            user: User::Agent,
            terminal: None,
            limit: READING,
            output_limit: LARGEST_REPORT as u64 + 1,
        };
        let (_no_input, input) = mpsc::channel(1);
        let (output, said) = mpsc::channel(16);
        let name = CommandName::from(self.scene.numbered_key(part, number));
        let streams = Streams { input, output };
        let running = self.scene.hands().sandboxes().exec(self.sandbox, &name, &command, streams);
        let (finished, printed) = tokio::join!(running, all(said));
        let succeeded = finished.is_ok_and(|finished| finished.ending == Ended::Exited(0));
        printed.filter(|_| succeeded)
    }

    fn place(&self, root: &str, directory: &Directory) -> Place {
        Place {
            root: root.to_owned(),
            directory: directory.as_str().to_owned(),
            go_module: self.chosen.go_module(directory),
        }
    }

    /// A file inside, if there is one and it is not too large. Whoever is inside can hold it up.
    async fn read(&self, path: &str) -> Option<Vec<u8>> {
        let ask = FileAsk::Read { path: path.to_owned(), user: User::Agent };
        let (nothing, input) = mpsc::channel(1);
        drop(nothing);
        let (output, mut said) = mpsc::channel(16);
        let sandboxes = self.scene.hands().sandboxes();
        let reading = sandboxes.file(self.sandbox, &ask, Streams { input, output });
        let taking = async {
            let mut bytes = Vec::new();
            while let Some(Output::Out(more) | Output::Error(more)) = said.recv().await {
                bytes.extend(more);
                if bytes.len() > LARGEST_REPORT {
                    return None;
                }
            }
            Some(bytes)
        };
        let late = self.scene.engine.now() + READING;
        tokio::select! {
            () = self.scene.hands().clock().sleep_until(late) => None,
            (read, bytes) = async { tokio::join!(reading, taking) } => {
                bytes.filter(|_| matches!(read, Ok(Transfer::Done)))
            }
        }
    }
}

/// What every check finds in its environment.
fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("CI", "true"),
        // Compiled modules that a commit holds beside its sources would be run in their place: Python looks for them here instead.
        ("PYTHONPYCACHEPREFIX", "/tmp/lamplighter-pycache"),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// All that was printed to the first stream, unless it is too much.
async fn all(mut said: mpsc::Receiver<Output>) -> Option<Vec<u8>> {
    let mut bytes = Some(Vec::new());
    while let Some(more) = said.recv().await {
        match (more, &mut bytes) {
            (Output::Out(more), Some(all)) if all.len() + more.len() <= LARGEST_REPORT => {
                all.extend(more);
            }
            (Output::Out(_), _) => bytes = None,
            (Output::Error(_), _) => {}
        }
    }
    bytes
}

/// What is looked at of both streams.
async fn ends(mut said: mpsc::Receiver<Output>) -> (Vec<u8>, Vec<u8>) {
    let (mut out, mut error) = (Ends::default(), Ends::default());
    while let Some(more) = said.recv().await {
        match more {
            Output::Out(bytes) => out.add(&bytes),
            Output::Error(bytes) => error.add(&bytes),
        }
    }
    (out.joined(), error.joined())
}

/// The beginning and the end of a stream: the one names what was run, the other says how it ended.
#[derive(Debug, Default)]
struct Ends {
    beginning: Vec<u8>,
    end: Vec<u8>,
}

impl Ends {
    const HALF: usize = STREAM_BYTES / 2;

    fn add(&mut self, bytes: &[u8]) {
        let room = Self::HALF.saturating_sub(self.beginning.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.beginning.extend(first);
        self.end.extend(rest);
        if self.end.len() > 2 * Self::HALF {
            self.end.drain(..self.end.len() - Self::HALF);
        }
    }

    fn joined(mut self) -> Vec<u8> {
        self.end.drain(..self.end.len().saturating_sub(Self::HALF));
        self.beginning.append(&mut self.end);
        self.beginning
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run of `cargo test` that ended so.
    pub(in super::super) fn captured(code: i32, out: &str) -> Captured {
        Captured {
            command: "cargo test".to_owned(),
            ending: Ending::Exited(code),
            stdout: out.as_bytes().to_vec(),
            stderr: Vec::new(),
            report: None,
            unwritten: None,
            asked: None,
            millis: 1,
            place: Place {
                root: "/workspace/web".to_owned(),
                directory: ".".to_owned(),
                go_module: None,
            },
        }
    }

    #[test]
    fn the_beginning_and_the_end_of_a_long_stream_are_kept() {
        let mut ends = Ends::default();
        ends.add(b"first");
        for _ in 0..40 {
            ends.add(&vec![b'x'; 1 << 20]);
        }
        ends.add(b"last");
        let kept = ends.joined();
        assert_eq!(kept.len(), STREAM_BYTES);
        assert!(kept.starts_with(b"first") && kept.ends_with(b"last"));
        let mut short = Ends::default();
        short.add(b"all of it");
        assert_eq!(short.joined(), b"all of it");
    }
}
