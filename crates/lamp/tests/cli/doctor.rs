//! `lamp doctor` on the computer that runs the tests. What it finds here is
//! unknown; what it says about it has a form.

use std::{
    collections::BTreeSet,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::world::World;

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn its_json_has_stable_keys() {
    let world = World::new();
    let ended = world.lamp("doctor --json --data data");
    let json: Value = serde_json::from_str(&ended.out()).unwrap();
    let top = ["version", "can_run", "findings", "tiers", "tiers_note"];
    assert_eq!(keys(&json), BTreeSet::from(top));
    let expected = ["name", "group", "state", "essential", "measured", "follows", "remedy"];
    for finding in json["findings"].as_array().unwrap() {
        assert_eq!(keys(finding), BTreeSet::from(expected));
        let state = finding["state"].as_str().unwrap();
        assert!(["ok", "limited", "missing"].contains(&state), "{state}");
        assert_eq!(finding["remedy"].is_null(), state == "ok", "{finding}");
    }
    for tier in json["tiers"].as_array().unwrap() {
        assert_eq!(keys(tier), BTreeSet::from(["name", "available", "lacks", "limited_by"]));
    }
    assert_eq!(names(&json["tiers"]), ["verified", "standard", "untrusted"]);
    let found: BTreeSet<&str> = names(&json["findings"]).into_iter().collect();
    let always = [
        "kernel",
        "processors",
        "memory",
        "clock",
        "user namespaces",
        "namespaces",
        "overlay mounts",
        "seccomp",
        "landlock",
        "limits",
        "virtualisation",
        "data directory",
        "git",
        "runsc",
    ];
    assert!(found.is_superset(&BTreeSet::from(always)), "{found:?}");
    assert_eq!(ended.code(), Some(i32::from(json["can_run"] != true)));
}

#[test]
fn it_leaves_nothing_behind() {
    let world = World::new();
    fs_err::create_dir(world.path().join("data")).unwrap();
    world.lamp("doctor --data data");
    assert_eq!(fs_err::read_dir(world.path().join("data")).unwrap().count(), 0);
    world.lamp("doctor --data not-yet/deeper");
    assert!(!world.path().join("not-yet").exists());
}

#[test]
fn a_file_in_the_place_of_the_data_directory_is_essential() {
    let world = World::new();
    world.write("data", "");
    let ended = world.lamp("doctor --data data");
    assert_eq!(ended.code(), Some(1));
    let last = ended.out().lines().last().unwrap().to_owned();
    assert!(
        last.starts_with("lamp cannot run here. Essential, and missing: data directory"),
        "{last}"
    );
}

#[test]
fn the_data_directory_comes_from_the_flag_before_the_environment() {
    let world = World::new();
    let said = |line: &str| {
        let output = world.command(line).env("LAMP_DATA", "from-environment").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said("doctor").contains("from-environment"));
    assert!(said("doctor --data from-flag").contains("from-flag"));
}

#[test]
fn a_configuration_is_looked_at_when_it_is_named() {
    let world = World::new();
    world.write("lamp.yaml", "version: 1\ndata: kept-here\ndatabase: sqlite:nowhere/lamp.db\n");
    let ended = world.lamp("doctor --config lamp.yaml");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.out().contains("kept-here"), "{}", ended.out());
    assert!(ended.out().contains("SQLite cannot use `nowhere/lamp.db`"), "{}", ended.out());

    world.write("lamp.yaml", "version: 1\nlisen: {}\n");
    let ended = world.lamp("doctor --config lamp.yaml");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.out().contains("`lamp.yaml` has 1 problem"), "{}", ended.out());

    let ended = world.lamp("doctor --config missing.yaml");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.out().contains("there is no such file"), "{}", ended.out());
}

#[test]
fn without_a_home_it_asks_for_a_data_directory() {
    let world = World::new();
    // Root needs no home, so this is asked as somebody else, from a place that everybody can read.
    let lamp = world.path().join("lamp");
    fs_err::copy(env!("CARGO_BIN_EXE_lamp"), &lamp).unwrap();
    for path in [world.path(), &lamp] {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(&lamp);
    command.arg("doctor").env_clear().stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r"
    error: cannot tell where the data directory is
      caused by: neither `XDG_DATA_HOME` nor `HOME` is set
    hint: name it with `--data DIR` or `LAMP_DATA`
    ");

    // With one, an ordinary user gets all findings, the one about uid ranges among them.
    let output = command.args(["--json", "--data", "/nowhere/to/be/found"]).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(names(&json["findings"]).contains(&"disk limits"), "{json}");
    assert_eq!(json["can_run"], false);
}
