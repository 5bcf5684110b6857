//! What a program remembers, carried from one sandbox to the next (AG6).
//!
//! While a sandbox lives, its disk holds it, also through a rest. When the next phase gets a sandbox of its own, what the program
//! wrote about its sessions is brought along: as an archive that is made inside, kept as it is, and unpacked inside, with
//! the agent's rights only. Nobody on the host looks into it.
//!
//! **Invariant:** all that is kept for a task is its worker's. A reviewer begins with a fresh session and leaves none behind (RV1): what it
//! thought is not for the worker to read, and what the worker thought is not for the reviewer.

use std::{io, path::PathBuf};

use contracts::{
    agent::{Mode, Run},
    sandbox::{CommandName, FileAsk, HOME, Sandboxes, User},
};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{
    inside::{self, Errand},
    journal::{Journal, write_whole},
    program::Program,
};

/// Bytes of one directory of memory. Sessions are text; what is larger is something else.
const LIMIT: usize = 64 * 1024 * 1024;

/// Of which sandbox the archives are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    sandbox: String,
}

/// Whether what was thought in `mode` goes on in the next sandbox.
pub(crate) const fn is_carried(mode: Mode) -> bool {
    match mode {
        Mode::Research | Mode::Plan | Mode::Implement => true,
        Mode::Review => false,
    }
}

/// Keeps what `program` remembers of the run. What cannot be kept is told, and costs the program its memory only if it moves.
pub(crate) async fn keep<S: Sandboxes>(
    sandboxes: &S,
    journal: &Journal,
    run: &Run,
    program: &Program,
) -> Result<(), String> {
    let mut trouble = None;
    for (number, place) in program.memory.iter().enumerate() {
        let ask = FileAsk::TarOut { path: format!("{HOME}/{place}"), user: User::Agent };
        match inside::fetch(sandboxes, run.sandbox, &ask, LIMIT).await {
            Ok(archive) => {
                let path = archive_path(journal, run, program, number);
                write_whole(&path, &archive).map_err(|error| error.to_string())?;
            }
            Err(error) => {
                // What is older is not what it remembers now.
                match fs::remove_file(archive_path(journal, run, program, number)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error.to_string());
                    }
                    Ok(()) | Err(_) => {}
                }
                // A program that has not written anything has nothing to remember.
                if !error.is_not_there() {
                    trouble = Some(error.to_string());
                }
            }
        }
    }
    if program.memory.is_empty() {
        return Ok(());
    }
    note_origin(journal, run, program).map_err(|error| error.to_string())?;
    trouble.map_or(Ok(()), Err)
}

/// From now on it remembers in this sandbox.
fn note_origin(journal: &Journal, run: &Run, program: &Program) -> io::Result<()> {
    let origin = Origin { sandbox: run.sandbox.to_string() };
    let bytes = serde_json::to_vec(&origin).map_err(io::Error::other)?;
    write_whole(&origin_path(journal, run, program), &bytes)
}

/// Brings back what `program` remembers, if it was somewhere else before.
pub(crate) async fn restore<S: Sandboxes>(
    sandboxes: &S,
    journal: &Journal,
    run: &Run,
    program: &Program,
) -> Result<(), Errand> {
    let Some(origin) = origin(journal, run, program) else { return Ok(()) };
    if origin == run.sandbox.to_string() {
        return Ok(());
    }
    for (number, place) in program.memory.iter().enumerate() {
        let Ok(archive) = fs::read(archive_path(journal, run, program, number)) else { continue };
        let path = format!("{HOME}/{place}");
        let restoring = CommandName::new(format!("{}/memory", run.key));
        inside::make(sandboxes, run.sandbox, &restoring, &path).await?;
        let ask = FileAsk::TarIn { path, user: User::Agent };
        inside::send(sandboxes, run.sandbox, &ask, &archive).await?;
    }
    // A repeat would put what is older over what it wrote here meanwhile. If this cannot be written down, the next reading of
    // the journal says so.
    let _ = note_origin(journal, run, program);
    Ok(())
}

fn origin(journal: &Journal, run: &Run, program: &Program) -> Option<String> {
    let bytes = fs::read(origin_path(journal, run, program)).ok()?;
    serde_json::from_slice::<Origin>(&bytes).ok().map(|origin| origin.sandbox)
}

fn origin_path(journal: &Journal, run: &Run, program: &Program) -> PathBuf {
    journal.task(run.task).join(format!("memory-{}.json", program.name))
}

fn archive_path(journal: &Journal, run: &Run, program: &Program, number: usize) -> PathBuf {
    journal.task(run.task).join(format!("memory-{}-{number}.tar", program.name))
}
