//! What the tests share: the toy internet with a house in it, and the right to push.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::internet::House;

/// A branch that may be pushed to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Right<'a> {
    pub(crate) host: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) branch: &'a str,
}

/// Gives a sandbox the right to push. Only a task has one, and none is played here: so it is written into what the server remembers of
/// the sandbox's network, while it is down, and holds when it is up again.
pub(crate) fn grant(house: &mut House<'_>, sandbox: &str, rights: &[Right<'_>]) {
    let told = house.lamp(&["sandbox", "get", sandbox, "--json"]);
    let shown: Value = serde_json::from_str(&told.out).unwrap();
    let id = shown.pointer("/id").and_then(Value::as_str).unwrap().to_owned();
    house.kill();
    let data = house.path().join("data/egress");
    let path = find(&data, &format!("{id}.json")).expect("its network is remembered");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let shape = |Right { host, repository, branch }: &Right<'_>| json!({ "host": host, "repository": repository, "branch": branch });
    kept["pushes"] = rights.iter().map(shape).collect();
    std::fs::write(&path, kept.to_string()).unwrap();
    house.restart();
    // A server that has just started says so before all of its sandboxes have their doors again.
    let end = Instant::now() + Duration::from_secs(30);
    while !house.run(sandbox, &["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128"]).succeeded() {
        assert!(Instant::now() < end, "the sandbox has no doors after a restart");
    }
}

fn find(directory: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        if path.file_name().is_some_and(|it| it == name) {
            return Some(path);
        }
        if path.is_dir()
            && let Some(found) = find(&path, name)
        {
            return Some(found);
        }
    }
    None
}
