//! Which placeholders stand for secrets inside which sandbox: the same ones until the sandbox is gone.
//!
//! One small file per sandbox, a placeholder on each line, so that a sandbox that rests while the server restarts wakes with the
//! ones that it has in its files.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::PathBuf,
    str::from_utf8,
};

use contracts::secret::SecretName;
use domain::id::SandboxId;

use super::Keeper;
use crate::{disk, placeholder::Placeholder, randomness::Randomness};

#[derive(Debug)]
pub(super) struct Placeholders {
    directory: PathBuf,
    known: HashMap<SandboxId, ByName>,
}

type ByName = BTreeMap<SecretName, Placeholder>;

const LIMIT: usize = 1024 * 1024;

impl Placeholders {
    pub(super) fn open(directory: PathBuf) -> io::Result<Self> {
        disk::own_directory(&directory)?;
        Ok(Self { directory, known: HashMap::new() })
    }

    fn of(
        &mut self,
        sandbox: SandboxId,
        names: &[SecretName],
        randomness: &dyn Randomness,
    ) -> io::Result<ByName> {
        let place = self.directory.join(sandbox.to_string());
        let mut known = match self.known.get(&sandbox) {
            Some(known) => known.clone(),
            None => read(&place)?,
        };
        let before = known.len();
        for name in names.iter().filter(|name| !known.contains_key(name)).collect::<Vec<_>>() {
            let made = Placeholder::make(name.clone(), randomness).map_err(io::Error::other)?;
            known.insert(name.clone(), made);
        }
        if known.len() != before {
            let lines: Vec<String> = known.values().map(|one| format!("{one}\n")).collect();
            disk::write_private(&place, lines.concat().as_bytes())?;
        }
        let asked = known.iter().filter(|(name, _)| names.contains(name));
        let asked = asked.map(|(name, one)| (name.clone(), one.clone())).collect();
        self.known.insert(sandbox, known);
        Ok(asked)
    }

    fn forget(&mut self, sandbox: SandboxId) -> io::Result<()> {
        self.known.remove(&sandbox);
        disk::remove(&self.directory.join(sandbox.to_string()))
    }
}

fn read(place: &std::path::Path) -> io::Result<ByName> {
    let Some(bytes) = disk::read_private(place, LIMIT)? else { return Ok(ByName::new()) };
    let malformed = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("`{}` holds no placeholders", place.display()),
        )
    };
    let text = from_utf8(&bytes).map_err(|_| malformed())?;
    let one = |line: &str| {
        line.parse::<Placeholder>().map(|one| (one.name().clone(), one)).map_err(|_| malformed())
    };
    text.lines().map(one).collect()
}

impl Keeper {
    /// What stands for each of `names` inside `sandbox`: made at the first call, and the same until it is forgotten.
    pub fn placeholders(
        &self,
        sandbox: SandboxId,
        names: &[SecretName],
    ) -> io::Result<BTreeMap<SecretName, Placeholder>> {
        self.state().placeholders.of(sandbox, names, self.inner.sealer.randomness())
    }

    /// The sandbox is gone for good: its placeholders mean nothing any more.
    pub fn forget(&self, sandbox: SandboxId) -> io::Result<()> {
        self.state().placeholders.forget(sandbox)
    }
}
