//! Reads what sandboxes did and tried from the log of exchanges, the newest files first.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use contracts::egress::{Exchange, LogWish};
use domain::id::SandboxId;
use egress::broker::ledger::{FileLedger, Rotation};
use serde::Deserialize;

const USUAL: usize = 200;
const MOST: usize = 2_000;

/// A line of the log, as far as it is told to people. What an older server did not write is left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    at: i64,
    sandbox: Option<String>,
    kind: String,
    host: String,
    port: u16,
    way: String,
    method: Option<String>,
    path: Option<String>,
    outcome: String,
    status: Option<u16>,
    refusal: Option<Refusal>,
    /// How it broke.
    broken: Option<String>,
    rule: Option<String>,
    cause: Option<String>,
    bytes_up: u64,
    bytes_down: u64,
    millis: u64,
    cost_micros: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    code: Option<String>,
    rule: Option<String>,
    reason: Option<String>,
}

/// The newest exchanges of a sandbox, in the order in which they ended.
pub(crate) fn read(log: &Path, sandbox: SandboxId, wish: LogWish) -> io::Result<Vec<Exchange>> {
    let most = wish.most.map_or(USUAL, |most| most as usize).clamp(1, MOST);
    let sandbox = sandbox.to_string();
    let mut records: VecDeque<Exchange> = VecDeque::new();
    for file in FileLedger::files(log, Rotation::default()) {
        let left = most - records.len();
        if left == 0 {
            break;
        }
        let mut older = newest(&file, &sandbox, wish, left)?;
        older.append(&mut records);
        records = older;
    }
    Ok(records.into())
}

fn newest(
    file: &Path,
    sandbox: &str,
    wish: LogWish,
    most: usize,
) -> io::Result<VecDeque<Exchange>> {
    let lines = match fs_err::File::open(file) {
        Ok(file) => BufReader::new(file).lines(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(VecDeque::new()),
        Err(error) => return Err(error),
    };
    let mut found = VecDeque::new();
    for line in lines {
        let line = line?;
        // Most lines are of others; those are not taken apart.
        if !line.contains(sandbox) {
            continue;
        }
        let Some(record) = record(&line, sandbox) else { continue };
        if wish.only_refused && record.outcome != "refused" {
            continue;
        }
        if found.len() == most {
            found.pop_front();
        }
        found.push_back(record);
    }
    Ok(found)
}

/// The exchange of a line, if it is one of this sandbox. A line that was cut off by a crash is none.
fn record(line: &str, sandbox: &str) -> Option<Exchange> {
    let line: Line = serde_json::from_str(line).ok()?;
    if line.kind != "exchange" || line.sandbox.as_deref() != Some(sandbox) {
        return None;
    }
    let refusal = line.refusal.unwrap_or_default();
    Some(Exchange {
        at_millis: line.at,
        host: line.host,
        port: line.port,
        way: line.way,
        method: line.method,
        path: line.path,
        outcome: line.outcome,
        status: line.status,
        code: refusal.code,
        reason: refusal.reason.or(line.broken),
        rule: refusal.rule.or(line.rule),
        cause: line.cause,
        bytes_up: line.bytes_up,
        bytes_down: line.bytes_down,
        millis: line.millis,
        cost_micros: line.cost_micros,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_one_sandbox_are_read_over_all_files() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log.jsonl");
        let line = |sandbox: u128, at: i64, outcome: &str| {
            let id = SandboxId::from_u128(sandbox);
            let refusal = if outcome == "refused" {
                r#"{"status":403,"code":"not_allowed","rule":"organisation","reason":"no"}"#
            } else {
                "null"
            };
            format!(
                "{{\"at\":{at},\"sandbox\":\"{id}\",\"owner\":\"ann\",\"phase\":\"implement\",\"kind\":\"exchange\",\"host\":\"a.example.com\",\
                 \"port\":443,\"way\":\"connect\",\"outcome\":\"{outcome}\",\"refusal\":{refusal},\"broken\":null,\"rule\":null,\"bytes_up\":1,\
                 \"cause\":\"curl\",\"path\":null}}\n"
            )
        };
        let old = [line(1, 1, "done"), line(1, 2, "refused"), line(2, 3, "refused")].concat();
        let new = [line(1, 4, "done"), "{\"at\":5,".to_owned()].concat();
        fs_err::write(directory.path().join("log.jsonl.1"), old).unwrap();
        fs_err::write(&log, new).unwrap();
        let at = |wish: LogWish| -> Vec<i64> {
            let read = read(&log, SandboxId::from_u128(1), wish).unwrap();
            read.iter().map(|record| record.at_millis).collect()
        };
        assert_eq!(at(LogWish::default()), [1, 2, 4]);
        assert_eq!(at(LogWish { most: Some(2), only_refused: false }), [2, 4]);
        let refused = LogWish { only_refused: true, most: None };
        assert_eq!(at(refused), [2]);
        let one = read(&log, SandboxId::from_u128(1), refused).unwrap().remove(0);
        assert_eq!(
            (one.code.as_deref(), one.rule.as_deref()),
            (Some("not_allowed"), Some("organisation"))
        );
        assert_eq!((one.cause.as_deref(), one.reason.as_deref()), (Some("curl"), Some("no")));
    }
}
