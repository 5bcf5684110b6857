//! A sandbox that says what a test wants it to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use contracts::sandbox::{
    CommandName, Cut, Ended, Exec, FileAsk, Finished, Output, SandboxError, Sandboxes, Streams,
    Transfer, User,
};
use domain::{cost::Cost, id::SandboxId};

/// What a file is like.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// As `/dev/zero`.
    Endless,
    /// As a pipe that nobody writes to.
    Silent,
}

#[derive(Debug, Default)]
pub(super) struct Fake {
    /// What commands say, by their directory and the word that tells them apart, and how they end.
    pub(super) commands: BTreeMap<(String, &'static str), (i32, Vec<u8>)>,
    pub(super) files: BTreeMap<String, Content>,
    /// Fails every command.
    pub(super) broken: Option<SandboxError>,
    pub(super) names: Mutex<BTreeSet<String>>,
    /// Files that were asked for.
    pub(super) read: Mutex<Vec<String>>,
}

impl Fake {
    fn answer(&self, command: &Exec) -> Result<(i32, Vec<u8>), SandboxError> {
        let has = |word: &str| command.argv.iter().any(|it| it == word);
        let words = ["log", "ls-files", "find", "grep", "diff-tree", "cat-file"];
        let word = words.into_iter().find(|word| has(word)).unwrap();
        if word == "cat-file" {
            let object = command.argv.last().unwrap();
            self.read.lock().unwrap().push(object.clone());
            return Ok(match self.files.get(object) {
                Some(Content::Bytes(bytes)) => (0, bytes.clone()),
                Some(Content::Endless | Content::Silent) | None => (128, Vec::new()),
            });
        }
        let known = self.commands.get(&(command.directory.clone(), word));
        let missing = || SandboxError::ProgramMissing { program: command.argv[0].clone() };
        known.cloned().ok_or_else(missing)
    }
}

impl Sandboxes for Fake {
    async fn exec(
        &self,
        _sandbox: SandboxId,
        name: &CommandName,
        command: &Exec,
        streams: Streams,
    ) -> Result<Finished, SandboxError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        assert_eq!(command.user, User::Agent);
        assert!(self.names.lock().unwrap().insert(name.to_string()), "`{name}` is there twice");
        let (code, said) = self.answer(command)?;
        for piece in said.chunks(1_000) {
            drop(streams.output.send(Output::Error(b"warning: \xff\n".to_vec())).await);
            drop(streams.output.send(Output::Out(piece.to_vec())).await);
        }
        Ok(Finished { ending: Ended::Exited(code), cut: Cut::Whole, cost: Cost::ZERO })
    }

    async fn file(
        &self,
        _sandbox: SandboxId,
        ask: &FileAsk,
        streams: Streams,
    ) -> Result<Transfer, SandboxError> {
        let FileAsk::Read { path, user: User::Agent } = ask else { panic!("{ask:?}") };
        self.read.lock().unwrap().push(path.clone());
        match self.files.get(path) {
            None => Ok(Transfer::Failed { path: path.clone(), reason: "not found".to_owned() }),
            Some(Content::Bytes(bytes)) => {
                drop(streams.output.send(Output::Out(bytes.clone())).await);
                Ok(Transfer::Done)
            }
            Some(Content::Endless) => loop {
                // It does not even notice when nobody listens.
                drop(streams.output.send(Output::Out(vec![b'x'; 4096])).await);
                tokio::task::yield_now().await;
            },
            Some(Content::Silent) => std::future::pending().await,
        }
    }

    contracts::never_asked!();
}
