//! Reads what sandboxes did and tried from the log of exchanges, the newest files first.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use domain::id::SandboxId;
use egress::broker::ledger::{FileLedger, Rotation};
use serde::Deserialize;
use wire::egress::{EgressLog, EgressLogQuery, EgressRecord};

const USUAL: usize = 200;
const MOST: usize = 2_000;

/// A line of the log, as far as it is told to people.
#[derive(Debug, Deserialize)]
struct Line {
    at: i64,
    sandbox: Option<String>,
    kind: String,
    #[serde(flatten)]
    record: serde_json::Value,
}

/// The newest exchanges of a sandbox, in the order in which they ended.
pub(crate) fn read(log: &Path, sandbox: SandboxId, query: EgressLogQuery) -> io::Result<EgressLog> {
    let most = query.most.map_or(USUAL, |most| most as usize).clamp(1, MOST);
    let sandbox = sandbox.to_string();
    let mut records: VecDeque<EgressRecord> = VecDeque::new();
    for file in FileLedger::files(log, Rotation::default()) {
        let left = most - records.len();
        if left == 0 {
            break;
        }
        let mut older = newest(&file, &sandbox, query, left)?;
        older.append(&mut records);
        records = older;
    }
    Ok(EgressLog { records: records.into() })
}

fn newest(
    file: &Path,
    sandbox: &str,
    query: EgressLogQuery,
    most: usize,
) -> io::Result<VecDeque<EgressRecord>> {
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
        if query.refused && record.outcome != "refused" {
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
fn record(line: &str, sandbox: &str) -> Option<EgressRecord> {
    let Line { at, sandbox: whose, kind, record } = serde_json::from_str(line).ok()?;
    if kind != "exchange" || whose.as_deref() != Some(sandbox) {
        return None;
    }
    let refusal = record.get("refusal").filter(|refusal| !refusal.is_null());
    let of = |from: Option<&serde_json::Value>, key: &str| {
        from.and_then(|from| from.get(key)?.as_str().map(str::to_owned))
    };
    let mut told: EgressRecord = serde_json::from_value(record.clone()).ok()?;
    told.at_millis = at;
    told.code = of(refusal, "code");
    told.reason = of(refusal, "reason").or_else(|| of(Some(&record), "broken"));
    told.rule = of(refusal, "rule").or(told.rule);
    Some(told)
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
        let at = |query: EgressLogQuery| -> Vec<i64> {
            let read = read(&log, SandboxId::from_u128(1), query).unwrap();
            read.records.iter().map(|record| record.at_millis).collect()
        };
        assert_eq!(at(EgressLogQuery::default()), [1, 2, 4]);
        assert_eq!(at(EgressLogQuery { most: Some(2), refused: false }), [2, 4]);
        let refused = EgressLogQuery { refused: true, most: None };
        assert_eq!(at(refused), [2]);
        let one = read(&log, SandboxId::from_u128(1), refused).unwrap().records.remove(0);
        assert_eq!(
            (one.code.as_deref(), one.rule.as_deref()),
            (Some("not_allowed"), Some("organisation"))
        );
        assert_eq!((one.cause.as_deref(), one.reason.as_deref()), (Some("curl"), Some("no")));
    }
}
