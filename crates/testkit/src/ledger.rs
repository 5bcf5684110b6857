//! What the outside has done, in files that outlive every process.
//!
//! An effect is a file that is made once: whoever comes second reads what the first one wrote. Calls
//! are counted apart from effects, so that a test can tell "asked twice" from "done twice".

use std::{io::Write as _, path::PathBuf};

use fs_err as fs;

#[derive(Debug, Clone)]
pub struct Ledger {
    directory: PathBuf,
}

/// Whether what something depends on was still there when it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Stands,
    Gone,
}

impl Ledger {
    pub fn open(directory: impl Into<PathBuf>) -> std::io::Result<Self> {
        let directory = directory.into();
        fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    /// Does `name` of `kind` once. The answer of the first time is the answer of every time.
    #[expect(clippy::disallowed_methods, reason = "a test's world survives no power cut")]
    pub fn once(&self, kind: &str, name: &str, answer: &str) -> std::io::Result<String> {
        let place = self.place(kind, name);
        if let Ok(first) = fs::read_to_string(&place) {
            return Ok(first);
        }
        let parent = self.directory.join(kind);
        fs::create_dir_all(&parent)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(answer.as_bytes())?;
        match file.persist_noclobber(&place) {
            Ok(_) => Ok(answer.to_owned()),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                fs::read_to_string(place)
            }
            Err(error) => Err(error.error),
        }
    }

    pub fn read(&self, kind: &str, name: &str) -> Option<String> {
        fs::read_to_string(self.place(kind, name)).ok()
    }

    /// Sets something that changes, such as the state of a sandbox.
    #[expect(clippy::disallowed_methods, reason = "a test's world survives no power cut")]
    pub fn set(&self, kind: &str, name: &str, value: &str) -> std::io::Result<()> {
        fs::create_dir_all(self.directory.join(kind))?;
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(value.as_bytes())?;
        file.persist(self.place(kind, name)).map(|_| ()).map_err(|error| error.error)
    }

    /// Does `name` of `kind` by the right of `by`, and says whether that still exists. Nobody can take the
    /// right away in between: the effect is another name of the file that stands for it.
    pub fn once_by(&self, by: (&str, &str), kind: &str, name: &str) -> std::io::Result<Right> {
        fs::create_dir_all(self.directory.join(kind))?;
        let (right, place) = (self.place(by.0, by.1), self.place(kind, name));
        match fs::hard_link(right, place) {
            Ok(()) => Ok(Right::Stands),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(Right::Stands),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Right::Gone),
            Err(error) => Err(error),
        }
    }

    /// Gives an effect another name, unless it has gone meanwhile.
    #[expect(clippy::disallowed_methods, reason = "the name is the state")]
    pub fn rename(&self, from: (&str, &str), to: (&str, &str)) -> std::io::Result<Right> {
        fs::create_dir_all(self.directory.join(to.0))?;
        match fs::rename(self.place(from.0, from.1), self.place(to.0, to.1)) {
            Ok(()) => Ok(Right::Stands),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Right::Gone),
            Err(error) => Err(error),
        }
    }

    pub fn remove(&self, kind: &str, name: &str) -> std::io::Result<()> {
        match fs::remove_file(self.place(kind, name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The names of all effects of one kind.
    pub fn names(&self, kind: &str) -> std::io::Result<Vec<String>> {
        let directory = self.directory.join(kind);
        if !directory.is_dir() {
            return Ok(Vec::new());
        }
        let mut names = fs::read_dir(directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<Vec<String>>>()?;
        names.sort();
        Ok(names)
    }

    /// Remembers that `what` was asked for, whether or not it was done.
    pub fn called(&self, what: &str) -> std::io::Result<()> {
        let path = self.directory.join("calls.log");
        let mut log = fs::OpenOptions::new().create(true).append(true).open(path)?;
        log.write_all(format!("{what}\n").as_bytes())
    }

    pub fn calls(&self) -> std::io::Result<Vec<String>> {
        match fs::read_to_string(self.directory.join("calls.log")) {
            Ok(log) => Ok(log.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn place(&self, kind: &str, name: &str) -> PathBuf {
        self.directory.join(kind).join(name.replace('/', "|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_happens_once() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        assert_eq!(ledger.once("pull", "agent/x", "1").unwrap(), "1");
        assert_eq!(ledger.once("pull", "agent/x", "2").unwrap(), "1");
        assert_eq!(ledger.names("pull").unwrap(), ["agent|x"]);
        assert_eq!(ledger.names("other").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn an_effect_needs_its_right() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let right = ("right", "mine");
        assert_eq!(ledger.once_by(right, "effect", "1").unwrap(), Right::Gone);
        ledger.set(right.0, right.1, "").unwrap();
        assert_eq!(ledger.once_by(right, "effect", "1").unwrap(), Right::Stands);
        assert_eq!(ledger.once_by(right, "effect", "1").unwrap(), Right::Stands, "it is done");
        assert_eq!(ledger.rename(right, ("right", "yours")).unwrap(), Right::Stands);
        assert_eq!(ledger.rename(right, ("right", "yours")).unwrap(), Right::Gone);
        assert_eq!(ledger.once_by(right, "effect", "2").unwrap(), Right::Gone);
        assert_eq!(ledger.names("effect").unwrap(), ["1"]);
    }
}
