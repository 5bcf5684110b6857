//! Reads contents one after the other from one process of git.

use std::{future::Future, path::Path, time::Duration};

use domain::code::CommitId;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout},
};

use crate::{
    program::Git,
    run::{Allowance, GitError, Running},
    touched::ObjectName,
};

/// `git cat-file --batch`.
#[derive(Debug)]
pub struct Blobs {
    _running: Running,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
    /// For each question.
    time: Duration,
}

/// Hash, type and size; or what was asked for, and that it is missing.
const LONGEST_HEADING: u64 = 256;

impl Git {
    pub fn blobs(&self, repository: &Path, allowance: Allowance) -> Result<Blobs, GitError> {
        let mut command = self.on(repository);
        command.args(["cat-file", "--batch-command", "--buffer"]);
        let mut running = Running::start(command, allowance)?;
        let (ask, answer) = (running.input.take(), running.output.take());
        let (Some(ask), Some(answer)) = (ask, answer) else {
            return Err(GitError::Strange { doing: "read contents" });
        };
        Ok(Blobs { _running: running, ask, answer: BufReader::new(answer), time: allowance.time })
    }
}

impl Blobs {
    /// How large a content is, without reading it.
    pub async fn size(&mut self, object: &ObjectName) -> Result<u64, GitError> {
        in_time(self.time, self.size_of(object)).await
    }

    /// A content, which must not be larger than `limit`.
    pub async fn read(&mut self, object: &ObjectName, limit: u64) -> Result<Vec<u8>, GitError> {
        in_time(self.time, self.content_of(object, limit)).await
    }

    /// The content of a file in a commit, which must not be larger than `limit`; nothing when there is no such commit or file.
    pub async fn file(
        &mut self,
        commit: &CommitId,
        path: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        in_time(self.time, self.file_of(commit, path, limit)).await
    }

    async fn size_of(&mut self, object: &ObjectName) -> Result<u64, GitError> {
        self.ask(&format!("info {object}\nflush\n")).await?;
        self.heading(object).await
    }

    async fn content_of(&mut self, object: &ObjectName, limit: u64) -> Result<Vec<u8>, GitError> {
        let size = self.size_of(object).await?;
        if size > limit {
            return Err(GitError::TooMuch { limit });
        }
        self.ask(&format!("contents {object}\nflush\n")).await?;
        let size = self.heading(object).await?;
        let mut content = Vec::new();
        let read = (&mut self.answer).take(size).read_to_end(&mut content).await?;
        let is_whole = read as u64 == size && self.answer.read_u8().await? == b'\n';
        if is_whole { Ok(content) } else { Err(GitError::Killed) }
    }

    async fn file_of(
        &mut self,
        commit: &CommitId,
        path: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        // A second line would be a second question.
        if path.contains('\n') {
            return Err(GitError::Strange { doing: "read a file" });
        }
        let spec = format!("{commit}:{path}");
        self.ask(&format!("info {spec}\nflush\n")).await?;
        let line = self.line().await?;
        if line.strip_prefix(&spec) == Some(" missing") {
            return Ok(None);
        }
        let strange = GitError::Strange { doing: "read a file" };
        let Some((object, _)) = line.split_once(' ') else { return Err(strange) };
        let object = object.parse().map_err(|_wrong| strange)?;
        self.content_of(&object, limit).await.map(Some)
    }

    async fn ask(&mut self, question: &str) -> Result<(), GitError> {
        self.ask.write_all(question.as_bytes()).await?;
        Ok(self.ask.flush().await?)
    }

    /// `<hash> blob <size>`; anything else is not what was asked for.
    async fn heading(&mut self, object: &ObjectName) -> Result<u64, GitError> {
        let line = self.line().await?;
        let rest = line.strip_prefix(object.as_str()).and_then(|rest| rest.strip_prefix(" blob "));
        match rest.map(str::parse) {
            Some(Ok(size)) => Ok(size),
            Some(Err(_)) | None => Err(GitError::Strange { doing: "read contents" }),
        }
    }

    async fn line(&mut self) -> Result<String, GitError> {
        let mut line = Vec::new();
        (&mut self.answer).take(LONGEST_HEADING).read_until(b'\n', &mut line).await?;
        let line = String::from_utf8_lossy(&line);
        // It ends only when it is killed.
        Ok(line.strip_suffix('\n').ok_or(GitError::Killed)?.to_owned())
    }
}

async fn in_time<T>(
    time: Duration,
    answer: impl Future<Output = Result<T, GitError>>,
) -> Result<T, GitError> {
    tokio::time::timeout(time, answer).await.map_err(|_late| GitError::OutOfTime)?
}
