//! A sandbox without walls: programs are processes of this host. For recording alone, with a scripted model.
//!
//! The home and the workspace are directories elsewhere, and every line is translated on its way in and out. So programs find what they are told
//! about, and what is recorded reads as if it came from inside.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, PoisonError},
};

use agents::program::SHELF;
use contracts::sandbox::HOME;
use contracts::sandbox::{
    CommandName, Cut, Ended, Exec, FileAsk, Finished, Input, Output, SandboxError, Sandboxes,
    Streams, Transfer, WORKSPACE,
};
use domain::{cost::Cost, id::SandboxId};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    sync::mpsc,
};

/// Where programs work, as seen inside.
pub(crate) const DIRECTORY: &str = "/workspace/project";

/// What is where.
#[derive(Debug)]
pub(crate) struct Places {
    /// As seen inside, and as it is here. What is inside of another comes first.
    pairs: Vec<(String, String)>,
}

impl Places {
    pub(crate) fn new(scratch: &Path, shelf: &Path) -> std::io::Result<Self> {
        let (home, workspace) = (scratch.join("home"), scratch.join("workspace"));
        fs_err::create_dir_all(&home)?;
        let project = workspace.join("project");
        if !fs_err::exists(&project)? {
            fs_err::create_dir_all(&project)?;
            // What agents work in is a repository, and some look for its root.
            let mut git = std::process::Command::new("git");
            git.args(["init", "--quiet", "--initial-branch", "main"])
                .current_dir(&project)
                .status()?;
        }
        let mut pairs = Vec::new();
        for (inside, here) in [(SHELF, shelf.to_owned()), (WORKSPACE, workspace), (HOME, home)] {
            let here = here.display().to_string();
            pairs.push((inside.to_owned(), here.clone()));
            // Some programs name a directory after another one, and some leave the first slash out.
            pairs.push((slug(inside), slug(&here)));
            pairs.push((without_root(inside), without_root(&here)));
        }
        Ok(Self { pairs })
    }

    fn inward(&self, text: &str) -> String {
        self.pairs.iter().fold(text.to_owned(), |text, (inside, here)| text.replace(here, inside))
    }

    fn outward(&self, text: &str) -> String {
        let paths = self.pairs.iter().filter(|(inside, _)| inside.starts_with('/'));
        paths.fold(text.to_owned(), |text, (inside, here)| text.replace(inside, here))
    }
}

fn without_root(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

fn slug(path: &str) -> String {
    path.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

#[derive(Debug)]
pub(crate) struct Host {
    places: Places,
    /// Put before the path that programs get.
    path: String,
    /// Whose processes are recorded.
    key: String,
    heard: Mutex<Vec<Value>>,
}

/// Ends what a process has started, with it.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        let all = format!("-{}", self.0);
        let mut kill = std::process::Command::new("kill");
        kill.args(["-KILL", "--", &all]).stderr(Stdio::null()).status().ok();
    }
}

impl Host {
    pub(crate) fn new(places: Places, path: String, key: String) -> Self {
        Self { places, path, key, heard: Mutex::new(Vec::new()) }
    }

    /// All that was said in both directions.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, what: Value) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// The agent itself, and not an errand: its processes are numbered.
    fn is_agent(&self, name: &CommandName) -> bool {
        let rest = name.as_str().strip_prefix(&self.key).and_then(|it| it.strip_prefix('/'));
        rest.is_some_and(|rest| rest.parse::<u32>().is_ok())
    }

    fn command(&self, exec: &Exec) -> Command {
        let argv: Vec<String> = exec.argv.iter().map(|it| self.places.outward(it)).collect();
        let mut command = Command::new(argv.first().map_or("", String::as_str));
        command.args(argv.iter().skip(1)).env_clear();
        for (name, value) in &exec.environment {
            command.env(name, self.places.outward(value));
        }
        let usual = exec.environment.get("PATH").map_or("", String::as_str);
        command.env("PATH", format!("{}:{usual}", self.path));
        command.current_dir(self.places.outward(&exec.directory));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }

    /// Passes on what a program says, a line at a time, so that no path is cut.
    async fn listen(&self, out: impl AsyncRead + Unpin, to: &mpsc::Sender<Output>, kept: bool) {
        let mut out = BufReader::new(out);
        let mut line = Vec::new();
        while out.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            let text = self.places.inward(&String::from_utf8_lossy(&line));
            line.clear();
            if kept && !text.trim().is_empty() {
                self.note(json!({ "<-": said(&text) }));
            }
            if to.send(Output::Out(text.into_bytes())).await.is_err() {
                return;
            }
        }
    }
}

/// JSON, where it is that.
fn said(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_no_json| Value::from(text.trim_end()))
}

fn reason(error: &std::io::Error) -> SandboxError {
    SandboxError::Lost { reason: error.to_string() }
}

fn unsupported<T>() -> Result<T, SandboxError> {
    Err(SandboxError::Unsupported { reason: "a recorder only runs programs".to_owned() })
}

impl Sandboxes for Host {
    async fn exec(
        &self,
        _sandbox: SandboxId,
        name: &CommandName,
        exec: &Exec,
        streams: Streams,
    ) -> Result<Finished, SandboxError> {
        let kept = self.is_agent(name);
        if kept {
            self.note(json!({ "start": exec.argv }));
        }
        let program = exec.argv.first().cloned().unwrap_or_default();
        let mut child = self
            .command(exec)
            .spawn()
            .map_err(|_error| SandboxError::ProgramMissing { program })?;
        let _group = child.id().map(Group);
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let Streams { mut input, output } = streams;
        let speaking = async {
            let Some(mut stdin) = stdin else { return };
            while let Some(Input::Bytes(bytes)) = input.recv().await {
                let text = String::from_utf8_lossy(&bytes);
                if kept {
                    self.note(json!({ "->": said(&text) }));
                }
                let here = self.places.outward(&text);
                if stdin.write_all(here.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
                    return;
                }
            }
        };
        let errors = async {
            let Some(mut stderr) = stderr else { return };
            let mut bytes = vec![0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
                let piece = bytes.get(..read).unwrap_or_default().to_vec();
                if output.send(Output::Error(piece)).await.is_err() {
                    return;
                }
            }
        };
        let listening = async {
            if let Some(stdout) = stdout {
                self.listen(stdout, &output, kept).await;
            }
        };
        let hearing = async { tokio::join!(listening, errors) };
        tokio::select! {
            _ = hearing => {}
            () = async { speaking.await; std::future::pending().await } => {}
        }
        let status = child.wait().await.map_err(|error| reason(&error))?;
        let ending = Ended::Exited(status.code().unwrap_or(-1));
        Ok(Finished { ending, cut: Cut::Whole, cost: Cost::ZERO })
    }

    async fn file(
        &self,
        _sandbox: SandboxId,
        ask: &FileAsk,
        mut streams: Streams,
    ) -> Result<Transfer, SandboxError> {
        match ask {
            FileAsk::Read { path, .. } => match fs_err::read(self.places.outward(path)) {
                Ok(bytes) => {
                    streams.output.send(Output::Out(bytes)).await.ok();
                    Ok(Transfer::Done)
                }
                Err(error) => {
                    Ok(Transfer::Failed { path: path.clone(), reason: error.to_string() })
                }
            },
            FileAsk::Write { path, .. } => {
                let mut bytes = Vec::new();
                while let Some(Input::Bytes(piece)) = streams.input.recv().await {
                    bytes.extend(piece);
                }
                let here = PathBuf::from(self.places.outward(path));
                fs_err::write(here, bytes).map_err(|error| reason(&error))?;
                Ok(Transfer::Done)
            }
            FileAsk::Stat { .. }
            | FileAsk::List { .. }
            | FileAsk::TarOut { .. }
            | FileAsk::TarIn { .. } => unsupported(),
        }
    }

    contracts::never_asked!();
}
