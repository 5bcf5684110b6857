//! The log of everything that wanted to leave: one record for each exchange, and one for what the broker noticed itself.
//!
//! A record holds no query, no header and no body: what is written down is read by many.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{Mutex, PoisonError},
};

use contracts::sandbox::Owner;
use domain::{id::SandboxId, money::Money, time::Timestamp};
use serde::Serialize;

use crate::ask::{Outcome, Refusal, Report, Way};

/// Where records go. Writing may not fail for the caller: what cannot be written raises an alarm elsewhere.
pub trait Ledger: Send + Sync + 'static {
    fn write(&self, record: &Record);
}

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
    pub fn new(report: &Report, cost: Option<Money>) -> Self {
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
    fn write(&self, record: &Record) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
    }
}

/// A file to which lines of JSON are added, and from which nothing is taken.
#[derive(Debug)]
pub struct FileLedger(Mutex<File>);

impl FileLedger {
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(Self(Mutex::new(file)))
    }
}

impl Ledger for FileLedger {
    fn write(&self, record: &Record) {
        let line = match serde_json::to_string(record) {
            Ok(line) => line + "\n",
            Err(error) => {
                tracing::error!(%error, "a record of the way out cannot be written as JSON");
                return;
            }
        };
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One call for one line: lines of two writers do not mix.
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::error!(%error, "a record of the way out cannot be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ask::RefusalCode, broker::refusal::refusal};

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
        let what = What::Exchange(Box::new(ExchangeRecord::new(&report, None)));
        let record = Record::new(Timestamp::from_millis(5), whose, Some("implement"), what);
        for _ in 0..2 {
            FileLedger::open(&path).unwrap().write(&record);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        insta::assert_snapshot!(text.lines().next().unwrap(), @r#"{"at":5,"sandbox":"s_00000000000000000000000007","owner":"ada","phase":"implement","kind":"exchange","host":"a.example.com","port":443,"way":"connect","method":"GET","path":"/x","outcome":"refused","status":null,"refusal":{"status":403,"code":"not_allowed","rule":null,"reason":"no\nrule"},"broken":null,"rule":null,"generation":4,"address":null,"bytes_up":1,"bytes_down":2,"millis":3,"first_byte_millis":null,"model":null,"input_tokens":null,"output_tokens":null,"cost_micros":null}"#);
    }
}
