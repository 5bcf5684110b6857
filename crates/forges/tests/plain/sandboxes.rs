//! Stands for sandboxes: a command runs with the real git in a temporary directory, or says whatever the test wants.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
};

use contracts::sandbox::{
    CommandName, Cut, Ended, Exec, Finished, HandedOver, Input, Output, SandboxError, Sandboxes,
    Streams,
};
use domain::{code::RepositoryName, cost::Cost, id::SandboxId};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use crate::fixture::SANDBOX;

/// What is inside, for the next command.
#[derive(Debug, Default)]
pub(crate) enum Inside {
    /// The script runs as it is.
    #[default]
    Honest,
    /// Whatever was asked for, this comes out, with this exit code.
    Says(Vec<u8>, i32),
    /// It goes on for ever.
    Endless,
}

#[derive(Debug, Clone)]
pub(crate) struct Directory {
    pub(crate) inside: Arc<Mutex<Inside>>,
    pub(crate) names: Arc<Mutex<Vec<String>>>,
    /// What was there before the agent began.
    pub(crate) handed: Arc<Mutex<HandedOver>>,
    /// Where the mirrors are.
    mirrors: PathBuf,
}

impl Directory {
    pub(crate) fn showing(mirrors: &Path) -> Self {
        Self {
            inside: Arc::default(),
            names: Arc::default(),
            handed: Arc::default(),
            mirrors: mirrors.to_owned(),
        }
    }
}

impl Sandboxes for Directory {
    fn objects_inside(
        &self,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<String, SandboxError> {
        if sandbox != SANDBOX {
            return Err(SandboxError::NotFound { id: sandbox });
        }
        let mirror = format!("{}.git", repository.as_str().replace('/', "+"));
        Ok(self.mirrors.join(mirror).join("objects").display().to_string())
    }

    fn handed_over(
        &self,
        _sandbox: SandboxId,
        _repository: &RepositoryName,
    ) -> Result<HandedOver, SandboxError> {
        Ok(self.handed.lock().unwrap().clone())
    }

    async fn exec(
        &self,
        _sandbox: SandboxId,
        name: &CommandName,
        command: &Exec,
        mut streams: Streams,
    ) -> Result<Finished, SandboxError> {
        self.names.lock().unwrap().push(name.to_string());
        let inside = std::mem::take(&mut *self.inside.lock().unwrap());
        let finished =
            |code, cut| Finished { ending: Ended::Exited(code), cut, cost: Cost::default() };
        match inside {
            Inside::Honest => {}
            Inside::Says(bytes, code) => {
                for piece in bytes.chunks(5_000) {
                    let _ = streams.output.send(Output::Out(piece.to_vec())).await;
                }
                return Ok(finished(code, Cut::Whole));
            }
            Inside::Endless => {
                while streams.output.send(Output::Out(vec![b'x'; 9_000])).await.is_ok() {}
                return std::future::pending().await;
            }
        }
        let mut child = Command::new(&command.argv[0])
            .args(&command.argv[1..])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // An image may set anything.
            .env("GIT_DIR", "/nowhere")
            .env("GIT_EXTERNAL_DIFF", "false")
            .current_dir(&command.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (mut out, mut complaints) =
            (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let mut given = child.stdin.take().unwrap();
        let giving = async {
            while let Some(Input::Bytes(bytes)) = streams.input.recv().await {
                if given.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            drop(given);
        };
        let mut left = command.output_limit;
        let mut cut = Cut::Whole;
        let telling = async {
            let mut buffer = vec![0; 8_192];
            loop {
                let read = out.read(&mut buffer).await.unwrap();
                if read == 0 {
                    break;
                }
                let told = (read as u64).min(left);
                left -= told;
                if told < read as u64 {
                    cut = Cut::Cut;
                }
                let _ = streams.output.send(Output::Out(buffer[..told as usize].to_vec())).await;
            }
        };
        let complaining = async {
            let mut all = Vec::new();
            complaints.read_to_end(&mut all).await.unwrap();
            all
        };
        let ((), complaint, ()) = tokio::join!(telling, complaining, giving);
        let _ = streams.output.send(Output::Error(complaint)).await;
        let status = child.wait().await.unwrap();
        Ok(finished(status.code().unwrap_or(-1), cut))
    }

    contracts::never_asked!(file);
}
