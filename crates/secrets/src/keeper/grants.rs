//! Which sandboxes of which tasks may use secrets now.
//!
//! One small file per task, so that a server that comes back knows what its predecessor knew: what was granted stays granted, and
//! what was withdrawn stays withdrawn.
//!
//! ```text
//!  revoked 7          steps before the 7th grant nothing any more
//!  s_01… 9            this sandbox was granted by the 9th
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    str::from_utf8,
};

use contracts::secret::SecretError;
use domain::id::{SandboxId, TaskId};

use super::Keeper;
use crate::disk;

#[derive(Debug)]
pub(super) struct Grants {
    directory: PathBuf,
    /// Those that were asked for since the start.
    tasks: HashMap<TaskId, Task>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Task {
    /// Steps before this one have no say any more.
    revoked: u64,
    granted: BTreeMap<SandboxId, u64>,
}

const LIMIT: usize = 1024 * 1024;
const MOST: usize = 10_000;

impl Grants {
    pub(super) fn open(directory: PathBuf) -> io::Result<Self> {
        disk::own_directory(&directory)?;
        Ok(Self { directory, tasks: HashMap::new() })
    }

    pub(super) fn grant(
        &mut self,
        task: TaskId,
        seq: u64,
        sandbox: SandboxId,
    ) -> Result<(), SecretError> {
        let mut known = self.task(task)?;
        if seq < known.revoked {
            return Err(SecretError::Revoked);
        }
        let earlier = known.granted.get(&sandbox).copied();
        if earlier.is_some_and(|earlier| earlier >= seq) {
            return Ok(());
        }
        if known.granted.len() >= MOST {
            return Err(busy(format!("task {task} has {MOST} sandboxes with grants already")));
        }
        known.granted.insert(sandbox, seq);
        self.write(task, known)
    }

    pub(super) fn revoke(&mut self, task: TaskId, seq: u64) -> Result<(), SecretError> {
        let mut known = self.task(task)?;
        let before = known.clone();
        known.revoked = known.revoked.max(seq);
        known.granted.retain(|_, granted| *granted >= seq);
        if known == before {
            return Ok(());
        }
        // What cannot be written down is withdrawn all the same, until the next start.
        self.tasks.insert(task, known.clone());
        self.write(task, known)
    }

    /// The sandbox is gone. What was withdrawn from the task stays withdrawn; a task from which nothing was, and whose sandboxes are all
    /// gone, leaves no file.
    pub(super) fn end(&mut self, task: TaskId, sandbox: SandboxId) -> Result<(), SecretError> {
        let mut known = self.task(task)?;
        if known.granted.remove(&sandbox).is_none() {
            return Ok(());
        }
        if known != Task::default() {
            return self.write(task, known);
        }
        let place = self.place(task);
        disk::remove(&place).map_err(|error| at(&place, &error))?;
        self.tasks.remove(&task);
        Ok(())
    }

    pub(super) fn has(&mut self, task: TaskId, sandbox: SandboxId) -> Result<bool, SecretError> {
        Ok(self.task(task)?.granted.contains_key(&sandbox))
    }

    fn task(&mut self, task: TaskId) -> Result<Task, SecretError> {
        if let Some(known) = self.tasks.get(&task) {
            return Ok(known.clone());
        }
        let place = self.place(task);
        let read = disk::read_private(&place, LIMIT).map_err(|error| at(&place, &error))?;
        let known = match read {
            None => Task::default(),
            Some(bytes) => parse(&bytes).ok_or_else(|| {
                busy(format!(
                    "`{}` cannot be read; nothing is handed out for the task",
                    place.display()
                ))
            })?,
        };
        self.tasks.insert(task, known.clone());
        Ok(known)
    }

    fn write(&mut self, task: TaskId, known: Task) -> Result<(), SecretError> {
        let place = self.place(task);
        disk::write_private(&place, print(&known).as_bytes())
            .map_err(|error| at(&place, &error))?;
        self.tasks.insert(task, known);
        Ok(())
    }

    fn place(&self, task: TaskId) -> PathBuf {
        self.directory.join(task.to_string())
    }
}

impl Keeper {
    /// Refused, unless something may be handed out for `sandbox` now.
    pub async fn granted(&self, task: TaskId, sandbox: SandboxId) -> Result<(), SecretError> {
        let has = self.aside(move |keeper| keeper.state().grants.has(task, sandbox)).await?;
        if has { Ok(()) } else { Err(SecretError::Revoked) }
    }

    /// The sandbox of a task is gone for good: it needs no grant.
    pub fn end_grant(&self, task: TaskId, sandbox: SandboxId) -> Result<(), SecretError> {
        self.state().grants.end(task, sandbox)
    }
}

fn at(place: &Path, error: &io::Error) -> SecretError {
    busy(format!("`{}`: {error}", place.display()))
}

const fn busy(reason: String) -> SecretError {
    SecretError::Busy { reason }
}

fn print(task: &Task) -> String {
    let granted = task.granted.iter().map(|(sandbox, seq)| format!("{sandbox} {seq}\n"));
    std::iter::once(format!("revoked {}\n", task.revoked)).chain(granted).collect()
}

fn parse(bytes: &[u8]) -> Option<Task> {
    let mut lines = from_utf8(bytes).ok()?.strip_suffix('\n')?.split('\n');
    let revoked = lines.next()?.strip_prefix("revoked ")?.parse().ok()?;
    let granted = lines.map(|line| {
        let (sandbox, seq) = line.split_once(' ')?;
        Some((sandbox.parse().ok()?, seq.parse().ok()?))
    });
    Some(Task { revoked, granted: granted.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(revoked in any::<u64>(), granted in proptest::collection::btree_map(any::<u128>(), any::<u64>(), 0..5)) {
            let granted = granted.into_iter().map(|(id, seq)| (SandboxId::from_u128(id), seq)).collect();
            let task = Task { revoked, granted };
            prop_assert_eq!(parse(print(&task).as_bytes()), Some(task));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100), text in "(revoked |s_|[0-9a-z ]{1,28}|\n){0,9}") {
            let _ = (parse(&bytes), parse(text.as_bytes()));
        }
    }
}
