//! The log of everything that wanted to leave: one record for each exchange, and one for what the broker noticed itself.
//!
//! A record holds no query, no header and no body: what is written down is read by many.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use contracts::sandbox::Owner;
use domain::{id::SandboxId, money::Money, time::Timestamp};
use serde::Serialize;

use proxy::ask::{Outcome, Refusal, Report, Way};

/// Where records go. It never waits. What cannot be written raises an alarm elsewhere; only a credential is not handed out then.
pub trait Ledger: Send + Sync + 'static {
    fn write(&self, record: &Record) -> Result<(), NotWritten>;
}

/// Why a record is not where it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotWritten(pub String);

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Milliseconds since 1970.
    pub at: i64,
    pub sandbox: Option<String>,
    pub owner: Option<String>,
    pub phase: Option<&'static str>,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// One exchange, at its end.
    Exchange(Box<ExchangeRecord>),
    /// The value of a secret was handed to the gateway, for one request.
    Credential {
        secret: String,
        host: String,
        port: u16,
        method: String,
        path: String,
    },
    /// Something that a person should look at.
    Finding {
        what: &'static str,
        detail: String,
    },
    /// Something that needs a person.
    Alarm {
        reason: String,
    },
    Joined {
        generation: u64,
    },
    Changed {
        generation: u64,
    },
    Left,
    Forgotten,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExchangeRecord {
    pub host: String,
    pub port: u16,
    pub way: &'static str,
    pub method: Option<String>,
    pub path: Option<String>,
    pub outcome: &'static str,
    pub status: Option<u16>,
    pub refusal: Option<RefusalRecord>,
    pub broken: Option<String>,
    pub rule: Option<String>,
    pub generation: Option<u64>,
    pub address: Option<String>,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub millis: u64,
    pub first_byte_millis: Option<u64>,
    pub model: Option<String>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_micros: Option<u64>,
    /// The command inside that wanted it, where it was refused and could be found. It is what a program says of itself.
    pub cause: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RefusalRecord {
    pub status: u16,
    pub code: &'static str,
    pub rule: Option<String>,
    pub reason: String,
}

impl Record {
    pub fn new(
        at: Timestamp,
        whose: Option<(SandboxId, &Owner)>,
        phase: Option<&'static str>,
        what: What,
    ) -> Self {
        let sandbox = whose.map(|(sandbox, _)| sandbox.to_string());
        let owner = whose.map(|(_, owner)| owner.to_string());
        Self { at: at.as_millis(), sandbox, owner, phase, what }
    }
}

impl ExchangeRecord {
    pub fn new(report: &Report, cost: Option<Money>, cause: Option<String>) -> Self {
        let (method, path) = report.request.clone().unzip();
        let (outcome, status, refusal, broken) = match &report.outcome {
            Outcome::Done { status } => ("done", *status, None, None),
            Outcome::Refused(refusal) => ("refused", None, Some(RefusalRecord::new(refusal)), None),
            Outcome::Broken { reason } => ("broken", None, None, Some(reason.clone())),
        };
        let usage = report.usage.as_ref();
        Self {
            host: report.host.clone(),
            port: report.port,
            way: way(report.way),
            method,
            path,
            outcome,
            status,
            refusal,
            broken,
            rule: report.rule.clone(),
            generation: report.generation,
            address: report.address.map(|address| address.to_string()),
            bytes_up: report.bytes_up,
            bytes_down: report.bytes_down,
            millis: report.millis,
            first_byte_millis: report.first_byte_millis,
            model: usage.and_then(|usage| usage.model.clone()),
            input_tokens: usage
                .map(|it| it.input_tokens + it.cache_read_tokens + it.cache_write_tokens),
            output_tokens: usage.map(|usage| usage.output_tokens),
            cost_micros: cost.map(Money::as_micros),
            cause,
        }
    }
}

impl RefusalRecord {
    fn new(refusal: &Refusal) -> Self {
        Self {
            status: refusal.status,
            code: refusal.code.as_str(),
            rule: refusal.rule.clone(),
            reason: refusal.reason.clone(),
        }
    }
}

const fn way(way: Way) -> &'static str {
    match way {
        Way::Connect => "connect",
        Way::AbsoluteForm => "absolute_form",
        Way::Socks => "socks",
        Way::Transparent => "transparent",
        Way::Names => "names",
    }
}

/// Records in memory, for tests.
#[derive(Debug, Default)]
pub struct MemoryLedger(Mutex<Vec<Record>>);

impl MemoryLedger {
    pub fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Ledger for MemoryLedger {
    fn write(&self, record: &Record) -> Result<(), NotWritten> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        Ok(())
    }
}

/// How long a file of records becomes, and how many that are full are kept beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    pub bytes: u64,
    pub kept: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { bytes: 64 * 1024 * 1024, kept: 4 }
    }
}

/// A file to which lines of JSON are added. One that is full is put aside as `NAME.1`, and the oldest goes.
#[derive(Debug)]
pub struct FileLedger {
    path: PathBuf,
    rotation: Rotation,
    open: Mutex<Lines>,
}

#[derive(Debug)]
struct Lines {
    file: File,
    bytes: u64,
}

impl FileLedger {
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let open = Mutex::new(Lines::open(path)?);
        Ok(Self { path: path.to_owned(), rotation, open })
    }

    /// The files that there may be, the newest first.
    pub fn files(path: &Path, rotation: Rotation) -> Vec<PathBuf> {
        let aside = (1..=rotation.kept).map(|number| aside(path, number));
        std::iter::once(path.to_owned()).chain(aside).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "whole files are put aside")]
    fn put_aside(&self) -> io::Result<Lines> {
        for number in (1..self.rotation.kept).rev() {
            match std::fs::rename(aside(&self.path, number), aside(&self.path, number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        std::fs::rename(&self.path, aside(&self.path, 1))?;
        Lines::open(&self.path)
    }
}

impl Lines {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

impl Ledger for FileLedger {
    fn write(&self, record: &Record) -> Result<(), NotWritten> {
        let told = |error: &dyn std::error::Error| {
            tracing::error!(%error, "a record of the way out cannot be written");
            NotWritten(error.to_string())
        };
        let line = serde_json::to_string(record).map_err(|error| told(&error))? + "\n";
        let mut lines = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.bytes >= self.rotation.bytes {
            match self.put_aside() {
                Ok(fresh) => *lines = fresh,
                // It grows on; nothing that happened is left out for it.
                Err(error) => drop(told(&error)),
            }
        }
        // One call for one line: lines of two writers do not mix.
        lines.file.write_all(line.as_bytes()).map_err(|error| told(&error))?;
        lines.bytes += line.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::refusal::refusal;
    use proxy::ask::RefusalCode;

    #[test]
    fn a_record_is_one_line_that_a_program_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let report = Report {
            host: "a.example.com".to_owned(),
            port: 443,
            way: Way::Connect,
            request: Some(("GET".to_owned(), "/x".to_owned())),
            outcome: Outcome::Refused(refusal(
                RefusalCode::NotAllowed,
                "a.example.com",
                443,
                "no\nrule",
            )),
            bytes_up: 1,
            bytes_down: 2,
            address: None,
            millis: 3,
            first_byte_millis: None,
            usage: None,
            peer: None,
            generation: Some(4),
            rule: None,
        };
        let owner = Owner::Person("ada".to_owned());
        let whose = Some((SandboxId::from_u128(7), &owner));
        let what = What::Exchange(Box::new(ExchangeRecord::new(
            &report,
            None,
            Some("curl -s".to_owned()),
        )));
        let record = Record::new(Timestamp::from_millis(5), whose, Some("implement"), what);
        for _ in 0..2 {
            FileLedger::open(&path, Rotation::default()).unwrap().write(&record).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        insta::assert_snapshot!(text.lines().next().unwrap(), @r#"{"at":5,"sandbox":"s_00000000000000000000000007","owner":"ada","phase":"implement","kind":"exchange","host":"a.example.com","port":443,"way":"connect","method":"GET","path":"/x","outcome":"refused","status":null,"refusal":{"status":403,"code":"not_allowed","rule":null,"reason":"no\nrule"},"broken":null,"rule":null,"generation":4,"address":null,"bytes_up":1,"bytes_down":2,"millis":3,"first_byte_millis":null,"model":null,"input_tokens":null,"output_tokens":null,"cost_micros":null,"cause":"curl -s"}"#);
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        let rotation = Rotation { bytes: 200, kept: 2 };
        let ledger = FileLedger::open(&path, rotation).unwrap();
        for generation in 0..20 {
            let what = What::Joined { generation };
            ledger.write(&Record::new(Timestamp::from_millis(5), None, None, what)).unwrap();
        }
        let files = FileLedger::files(&path, rotation);
        assert_eq!(files.len(), 3);
        let texts: Vec<String> =
            files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        assert!(texts.iter().all(|text| text.len() <= 300 && text.ends_with("}\n")), "{texts:?}");
        let newest_first: Vec<&String> = texts.iter().collect();
        assert!(newest_first[0].contains("\"generation\":19"), "{texts:?}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3, "no more than that");
    }
}
