//! `lamp config check`.

use std::{path::Path, process::Command};

use crate::world::{Ended, World};

const RIGHT: &str = "version: 1\nlisten: { http: 127.0.0.1:7180 }\n";
const WRONG: &str = "version: 1\nlisen: { http: nowhere }\ndatabase: mysql://ann@db/lamp\n";

#[test]
fn a_right_file_is_right() {
    let world = World::new();
    world.write("lamp.yaml", RIGHT);
    insta::assert_snapshot!(world.lamp("config check lamp.yaml").story(), @r"
    exit 0
    --- out
    lamp.yaml: right (server file)

    1 file checked, nothing is wrong.
    ");
}

#[test]
fn a_wrong_file_shows_every_problem() {
    let world = World::new();
    world.write("lamp.yaml", WRONG);
    insta::assert_snapshot!(world.lamp("config check lamp.yaml").story(), @r"
    exit 1
    --- out
    lamp.yaml:2:1: the file has no key `lisen`
      help: did you mean `listen`?
    lamp.yaml:3:11: `database`: `mysql://ann@db/lamp` is not a database that we know
      help: write `sqlite:lamp.db` or `postgres://USER@HOST/NAME`; a password goes into the server's PGPASSFILE

    1 file checked, 2 problems in 1 file.
    ");
}

#[test]
fn what_nothing_obeys_yet_is_told_and_is_no_mistake() {
    let world = World::new();
    world.write("lamp.yaml", "version: 1\nretention: { logs: 3d, images: 3d }\n");
    insta::assert_snapshot!(world.lamp("config check lamp.yaml").story(), @r"
    exit 0
    --- out
    lamp.yaml: right (server file)
    lamp.yaml:2:20: `retention.logs` is not obeyed yet: what programs printed is kept for good
      help: remove it

    1 file checked, nothing is wrong; 1 value is not obeyed yet.
    ");
    let json = world.lamp("config check --json lamp.yaml");
    let json: serde_json::Value = serde_json::from_str(&json.out()).unwrap();
    assert_eq!((&json["ok"], &json["files"][0]["notes"][0]["line"]), (&true.into(), &2.into()));
}

#[test]
fn one_wrong_file_does_not_hide_the_others() {
    let world = World::new();
    world.write("lamp.yaml", RIGHT);
    world.write("wrong/lamp.yaml", WRONG);
    world.write("binary.yaml", [b"version: 1\n".as_slice(), &[0xff, 0xfe, 0x00]].concat());
    world.write("empty.yaml", "");
    world.write("large.yaml", vec![b'#'; (1 << 20) + 1]);
    world.write("agents/fix.yaml", "lamp: { version: 1, nam: fix }\n");
    let line = "config check missing.yaml lamp.yaml wrong/lamp.yaml binary.yaml empty.yaml large.yaml agents";
    insta::assert_snapshot!(world.lamp(line).story());
}

#[test]
fn programs_get_the_same_as_json() {
    let world = World::new();
    world.write("lamp.yaml", RIGHT);
    world.write("wrong/lamp.yaml", WRONG);
    let ended = world.lamp("config check --json lamp.yaml wrong/lamp.yaml missing.yaml");
    assert_eq!((ended.code(), ended.err()), (Some(1), String::new()));
    let json: serde_json::Value = serde_json::from_str(&ended.out()).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["ok"], false);
    assert_eq!(json["files"][0]["kind"], "server");
    assert_eq!(json["files"][0]["problems"].as_array().unwrap().len(), 0);
    assert_eq!(json["files"][1]["file"], "wrong/lamp.yaml");
    assert_eq!(json["files"][1]["problems"][0]["line"], 2);
    assert_eq!(json["files"][2]["problems"][0]["line"], serde_json::Value::Null);
    assert_eq!(json["files"][2]["problems"][0]["what"], "there is no such file");
}

#[test]
fn a_file_that_may_not_be_read_says_so() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};

    let world = World::new();
    world.write("lamp.yaml", RIGHT);
    let allow = |path: &Path, mode| {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&world.path().join("lamp.yaml"), 0o000);
    // Root may read everything, so this is asked as somebody else, from a place that everybody can read.
    let lamp = world.path().join("lamp");
    fs_err::copy(env!("CARGO_BIN_EXE_lamp"), &lamp).unwrap();
    allow(world.path(), 0o755);
    allow(&lamp, 0o755);
    let mut command = Command::new(&lamp);
    command.args(["config", "check", "lamp.yaml"]).env_clear().current_dir(world.path());
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code(), Some(1));
    assert!(ended.out().contains("lamp.yaml: it cannot be read: permission denied"));
}
