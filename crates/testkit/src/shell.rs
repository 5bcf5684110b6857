//! A command in a sandbox, run to its end: what it said, and how it ended.

use std::{collections::BTreeMap, time::Duration};

use contracts::sandbox::{
    CommandName, Exec, Finished, Output, SandboxError, Sandboxes, Streams, User,
};
use domain::id::SandboxId;
use tokio::sync::mpsc;

/// A command of the agent, with a minute of time and room for what it says.
pub fn command(argv: &[&str], directory: &str) -> Exec {
    Exec {
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        environment: BTreeMap::new(),
        path: Vec::new(),
        sweeps: false,
        directory: directory.to_owned(),
        user: User::Agent,
        terminal: None,
        limit: Duration::from_mins(1),
        output_limit: 1 << 20,
    }
}

/// A script of the shell, in the same way.
pub fn script(text: &str, directory: &str) -> Exec {
    command(&["/bin/sh", "-c", text], directory)
}

/// Runs it without input. What it says and what it complains of is one text, in the order in which it came.
pub async fn run<S: Sandboxes>(
    sandboxes: &S,
    sandbox: SandboxId,
    name: &str,
    command: &Exec,
) -> Result<(Finished, String), SandboxError> {
    let (_, input) = mpsc::channel(1);
    let (output, mut said) = mpsc::channel(16);
    let name = CommandName::new(name);
    let running = sandboxes.exec(sandbox, &name, command, Streams { input, output });
    let hearing = async {
        let mut all = Vec::new();
        while let Some(Output::Out(bytes) | Output::Error(bytes)) = said.recv().await {
            all.extend(bytes);
        }
        String::from_utf8_lossy(&all).into_owned()
    };
    let (finished, said) = tokio::join!(running, hearing);
    finished.map(|finished| (finished, said))
}
