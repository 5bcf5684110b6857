//! The host's side: what it sees of a sandbox, whatever the sandbox says.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use contracts::sandbox::Sandboxes as _;
use domain::id::SandboxId;
use tests::arena::pause;

use crate::fixture::Fixture;

/// Everything that runs inside one sandbox, found by its namespace.
#[derive(Debug)]
pub(crate) struct Inside {
    /// The first process, as the host numbers it.
    pub(crate) first: u32,
    namespace: PathBuf,
}

impl Inside {
    pub(crate) fn of(fixture: &Fixture, id: SandboxId) -> Self {
        let first = first_process(fixture, id);
        let namespace = std::fs::read_link(format!("/proc/{first}/ns/pid")).unwrap();
        Self { first, namespace }
    }

    /// How many there are now.
    pub(crate) fn processes(&self) -> usize {
        let all = std::fs::read_dir("/proc").unwrap();
        all.flatten()
            .filter(|entry| {
                std::fs::read_link(entry.path().join("ns/pid"))
                    .is_ok_and(|namespace| namespace == self.namespace)
            })
            .count()
    }

    /// Waits until there is none.
    pub(crate) async fn emptied(&self, patience: Duration) {
        until(patience, || self.processes() == 0).await;
    }
}

/// Waits until it is so, and says whether it became so.
pub(crate) async fn until(patience: Duration, is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        pause(Duration::from_millis(10)).await;
    }
    is_so()
}

/// As the provider has written it down.
fn first_process(fixture: &Fixture, id: SandboxId) -> u32 {
    let records = fixture.at.path().join("data/records");
    for entry in std::fs::read_dir(&records).unwrap().flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        if !text.contains(&id.to_string()) {
            continue;
        }
        let record: serde_json::Value = serde_json::from_str(&text).unwrap();
        if let Some(pid) = find(&record, "pid").and_then(serde_json::Value::as_u64) {
            return u32::try_from(pid).unwrap();
        }
    }
    panic!("no record of {id} in {}", records.display());
}

fn find<'a>(value: &'a serde_json::Value, key: &str) -> Option<&'a serde_json::Value> {
    match value {
        serde_json::Value::Object(map) => {
            map.get(key).or_else(|| map.values().find_map(|inner| find(inner, key)))
        }
        serde_json::Value::Array(list) => list.iter().find_map(|inner| find(inner, key)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => None,
    }
}

/// Whether the kernel limits processes and memory here. Without that, a storm inside is a storm outside.
pub(crate) fn storms_are_contained(fixture: &Fixture) -> bool {
    let weaker = fixture.provider.capabilities().weaker;
    !weaker.iter().any(|sentence| sentence.contains("not limited"))
}

/// Whether the kernel keeps the limits of disks here.
pub(crate) fn disks_are_enforced(fixture: &Fixture) -> bool {
    let weaker = fixture.provider.capabilities().weaker;
    !weaker.iter().any(|sentence| sentence.contains("watched, not enforced"))
}

/// What this test itself has in memory.
pub(crate) fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// Who made a sandbox's first process, and still is its parent: the launcher of its provider.
pub(crate) fn launcher_of(inside: &Inside) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", inside.first)).ok()?;
    let parent: i32 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{parent}/cmdline")).ok()?;
    name.contains("--guest-fd").then_some(parent)
}
