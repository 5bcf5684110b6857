//! The bills, on the disk: one row for each sandbox of an owner, that outlives the sandbox.
//!
//! ```text
//! ledger/task-t_01…/s_01….json      ledger/person-ann/s_02….json      ledger/person-%2E%2E%2Fx/s_03….json
//! ```
//!
//! Invariant: a row never decreases, whatever is written in which order, so writing again changes nothing. A row
//! is replaced in one step; a torn one is not possible, and one that cannot be read is told, not skipped.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use contracts::sandbox::Owner;
use domain::{cost::Cost, id::SandboxId};
use files::Durability;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::Meter;

/// A directory of rows.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    /// A row is read, raised and replaced; two at once could lower it.
    writing: Mutex<()>,
}

/// What is known of one sandbox's use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub standing: Standing,
    pub cost: Cost,
    pub meter: Meter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Live,
    /// The sandbox is gone; this is its last reading.
    Final,
}

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger cannot be read or written")]
    Disk(#[from] io::Error),
    #[error("the row `{}` of the ledger cannot be read: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
}

impl Ledger {
    pub fn open(directory: &Path) -> Result<Self, LedgerError> {
        fs::create_dir_all(directory)?;
        sweep(directory)?;
        Ok(Self { directory: directory.to_owned(), writing: Mutex::new(()) })
    }

    /// Writes down what `meter` shows, and `network_bytes` that somebody else counted. Returns the row as it
    /// stands, which is higher if a higher one was written before. The last reading is on the disk on return.
    pub fn write(
        &self,
        owner: &Owner,
        sandbox: SandboxId,
        meter: &Meter,
        network_bytes: u64,
        standing: Standing,
    ) -> Result<Row, LedgerError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path(owner, sandbox);
        let cost = Cost { network_bytes, ..meter.cost() };
        let given = Row { standing, cost, meter: meter.clone() };
        let row = match read(&path)? {
            Some(before) if before.raised_to(&given) == before => return Ok(before),
            Some(before) => before.raised_to(&given),
            None => given,
        };
        replace(&path, &Stored::of(owner, &row), row.standing)?;
        Ok(row)
    }

    /// The row of a sandbox, for a server that comes back.
    pub fn row(&self, owner: &Owner, sandbox: SandboxId) -> Result<Option<Row>, LedgerError> {
        read(&self.path(owner, sandbox))
    }

    /// What all sandboxes of `owner` have used, those that are gone included. Never decreases.
    pub fn bill(&self, owner: &Owner) -> Result<Cost, LedgerError> {
        let entries = match fs::read_dir(self.shelf(owner)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Cost::ZERO),
            Err(error) => return Err(error.into()),
        };
        let mut sum = Cost::ZERO;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                sum = sum + read(&path)?.map_or(Cost::ZERO, |row| row.cost);
            }
        }
        Ok(sum)
    }

    fn shelf(&self, owner: &Owner) -> PathBuf {
        self.directory.join(match owner {
            Owner::Task(task) => format!("task-{task}"),
            Owner::Person(name) => format!("person-{}", plain(name)),
        })
    }

    fn path(&self, owner: &Owner, sandbox: SandboxId) -> PathBuf {
        self.shelf(owner).join(format!("{sandbox}.json"))
    }
}

impl Row {
    fn raised_to(&self, other: &Self) -> Self {
        let (mine, theirs) = (self.cost, other.cost);
        let cost = Cost {
            cpu_millis: mine.cpu_millis.max(theirs.cpu_millis),
            memory_mib_seconds: mine.memory_mib_seconds.max(theirs.memory_mib_seconds),
            network_bytes: mine.network_bytes.max(theirs.network_bytes),
            ..Cost::ZERO
        };
        // A late, lower copy of the meter does not replace the one that showed more.
        let meter = if other.cost.cpu_millis >= self.cost.cpu_millis
            && other.cost.memory_mib_seconds >= self.cost.memory_mib_seconds
        {
            other.meter.clone()
        } else {
            self.meter.clone()
        };
        Self { standing: self.standing.max(other.standing), cost, meter }
    }
}

/// A row as it is written. The owner is there for people: a long name is not in the path.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    owner: String,
    standing: Standing,
    cpu_millis: u64,
    memory_mib_seconds: u64,
    network_bytes: u64,
    meter: Meter,
}

impl Stored {
    fn of(owner: &Owner, row: &Row) -> Self {
        Self {
            owner: owner.to_string(),
            standing: row.standing,
            cpu_millis: row.cost.cpu_millis,
            memory_mib_seconds: row.cost.memory_mib_seconds,
            network_bytes: row.cost.network_bytes,
            meter: row.meter.clone(),
        }
    }
}

impl From<Stored> for Row {
    fn from(stored: Stored) -> Self {
        let cost = Cost {
            cpu_millis: stored.cpu_millis,
            memory_mib_seconds: stored.memory_mib_seconds,
            network_bytes: stored.network_bytes,
            ..Cost::ZERO
        };
        Self { standing: stored.standing, cost, meter: stored.meter }
    }
}

fn read(path: &Path) -> Result<Option<Row>, LedgerError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stored: Stored = serde_json::from_slice(&text).map_err(|error| LedgerError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(Some(stored.into()))
}

/// Removes rows that were being written when the server died: the old ones still hold.
fn sweep(directory: &Path) -> io::Result<()> {
    for shelf in fs::read_dir(directory)? {
        files::sweep(&shelf?.path())?;
    }
    Ok(())
}

/// Only the last reading waits for the disk: a live row is written again soon.
fn replace(path: &Path, stored: &Stored, standing: Standing) -> Result<(), LedgerError> {
    files::make_directory(path.parent().unwrap_or(path))?;
    let bytes = serde_json::to_vec(stored).map_err(io::Error::from)?;
    let durability = match standing {
        Standing::Live => Durability::Cache,
        Standing::Final => Durability::Synced,
    };
    Ok(files::write(path, &bytes, files::PRIVATE, durability)?)
}

/// A name as a part of a path: letters in lower case, digits, `-` and `_` as they are, all else as `%XX`, so that no two names
/// meet, not even where capitals do not count. A name that is too long for a file goes on by its hash.
fn plain(name: &str) -> String {
    const LONGEST: usize = 180;
    let mut out = String::new();
    for byte in name.bytes() {
        if out.len() > LONGEST {
            let hash = domain::digest::Digest::of(name.as_bytes());
            let _ = write!(out, "+{hash}");
            return out;
        }
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use domain::{id::TaskId, time::Timestamp};

    use super::*;
    use crate::control_groups::Counters;

    fn showing(cpu_millis: u64) -> Meter {
        let mut meter = Meter::default();
        meter.begin("body", Timestamp::from_millis(0));
        let counters = Counters { cpu_micros: cpu_millis * 1_000, ..Counters::default() };
        meter.sample(&counters, Timestamp::from_millis(0));
        meter
    }

    fn ann() -> Owner {
        Owner::Person("ann".to_owned())
    }

    #[test]
    fn a_row_that_is_written_again_or_late_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let sandbox = SandboxId::from_u128(1);
        ledger.write(&ann(), sandbox, &showing(7), 0, Standing::Live).unwrap();
        let last = ledger.write(&ann(), sandbox, &showing(9), 5, Standing::Final).unwrap();
        for (late, standing) in [(9, Standing::Final), (7, Standing::Live), (0, Standing::Final)] {
            assert_eq!(ledger.write(&ann(), sandbox, &showing(late), 0, standing).unwrap(), last);
        }
        assert_eq!(ledger.bill(&ann()).unwrap().cpu_millis, 9);
        assert_eq!(ledger.bill(&ann()).unwrap().network_bytes, 5);
        assert_eq!(ledger.row(&ann(), sandbox).unwrap().unwrap(), last);
    }

    #[test]
    fn a_bill_is_the_sum_of_all_rows_of_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let task = Owner::Task(TaskId::from_u128(3));
        for number in 1..=3 {
            ledger
                .write(&ann(), SandboxId::from_u128(number), &showing(10), 0, Standing::Live)
                .unwrap();
        }
        ledger.write(&task, SandboxId::from_u128(9), &showing(1), 0, Standing::Final).unwrap();
        let again = Ledger::open(directory.path()).unwrap();
        assert_eq!(again.bill(&ann()).unwrap().cpu_millis, 30);
        assert_eq!(again.bill(&task).unwrap().cpu_millis, 1);
        assert_eq!(again.bill(&Owner::Person("bob".to_owned())).unwrap(), Cost::ZERO);
    }

    #[test]
    fn no_name_leads_out_of_the_ledger_and_no_two_names_meet() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("ledger");
        let ledger = Ledger::open(&inside).unwrap();
        let long = "x".repeat(5_000);
        let longer = "x".repeat(5_001);
        let names = [
            "",
            ".",
            "..",
            "../x",
            "/etc/passwd",
            "a/b",
            "a%2Fb",
            "Ann",
            "ann",
            "a\0b",
            "ä",
            "\n",
            &long,
            &longer,
        ];
        for name in names {
            let owner = Owner::Person(name.to_owned());
            ledger.write(&owner, SandboxId::from_u128(1), &showing(1), 0, Standing::Live).unwrap();
        }
        let shelves = fs::read_dir(&inside).unwrap().count();
        assert_eq!(shelves, names.len());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing beside the ledger");
        for name in names {
            assert_eq!(
                ledger.bill(&Owner::Person(name.to_owned())).unwrap().cpu_millis,
                1,
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_damaged_row_is_told_and_not_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let sandbox = SandboxId::from_u128(1);
        ledger.write(&ann(), sandbox, &showing(1), 0, Standing::Live).unwrap();
        fs::write(ledger.path(&ann(), sandbox), "{").unwrap();
        assert!(matches!(ledger.bill(&ann()), Err(LedgerError::Damaged { .. })));
        assert!(matches!(
            ledger.write(&ann(), sandbox, &showing(2), 0, Standing::Live),
            Err(LedgerError::Damaged { .. })
        ));
    }
}
