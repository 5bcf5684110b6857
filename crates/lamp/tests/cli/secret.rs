//! Secrets of the built program: they go in by standard input, and come out nowhere.

use std::{io::Write as _, process::Stdio};

use crate::{
    server::Server,
    world::{Ended, World},
};

const VALUE: &str = "ghp_a-value-nobody-may-see";

/// Runs `lamp` with these words, and `input` piped in.
fn piped(server: &Server, words: &[&str], input: &str) -> Ended {
    let mut command = server.client(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ended::of(child.wait_with_output().unwrap())
}

#[test]
fn a_value_as_an_argument_is_refused_without_being_repeated() {
    let world = World::new();
    let told = world.lamp(&format!("secret set GITHUB {VALUE}"));
    insta::assert_snapshot!(told.story());
    let ways = [
        format!("secret set GITHUB={VALUE}"),
        format!("secret set GITHUB --value {VALUE}"),
        format!("secret set GITHUB --value={VALUE}"),
        format!("secret set {VALUE}"),
        format!("secret set GITHUB --host api.github.com {VALUE}"),
    ];
    for line in ways {
        let ended = world.lamp(&line);
        assert_eq!(ended.code(), Some(2), "{line}");
        assert!(!ended.story().contains("nobody-may-see"), "{line}: {}", ended.story());
    }
}

#[test]
fn secrets_are_set_listed_turned_over_and_deleted() {
    let server = Server::start();
    assert_eq!(
        server.lamp(&["secret", "list"]).out(),
        "There are no secrets. `lamp secret set` makes one.\n"
    );
    let words = [
        "secret",
        "set",
        "GITHUB",
        "--host",
        "api.github.com",
        "--header",
        "Authorization: Bearer",
    ];
    let set = piped(&server, &words, &format!("{VALUE}\n"));
    assert_eq!((set.code(), set.out().as_str()), (Some(0), "Set `GITHUB`.\n"), "{}", set.err());
    server.world().write("key.pem", "line one of a key\nline two of a key\n");
    let from_file = server
        .lamp(&["secret", "set", "AWS", "--expose", "env", "--file", "key.pem", "--note", "signs"]);
    assert_eq!(from_file.code(), Some(0), "{}", from_file.err());
    let again = piped(&server, &words, VALUE);
    assert_eq!(again.out(), "Replaced `GITHUB`. This is its value number 2.\n", "{}", again.err());
    let listed = server.lamp(&["secret", "list"]).out();
    for line in [
        "GITHUB",
        "hosts    api.github.com",
        "places   header `authorization: Bearer`",
        "exposed  as a variable",
        "note     signs",
    ] {
        assert!(listed.contains(line), "{line} is not in {listed}");
    }
    let json = server.lamp(&["secret", "list", "--json"]).out();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["secrets"][1]["version"], 2);
    let turned = server.lamp(&["secret", "rotate-key"]);
    assert_eq!(
        turned.out(),
        "There is a new master key, and 2 secrets have it. The old one is gone.\n",
        "{}",
        turned.err()
    );
    let short = piped(&server, &words, "short");
    assert_eq!(short.code(), Some(1));
    assert!(short.err().contains("the value has 5 bytes"), "{}", short.err());
    assert_eq!(server.lamp(&["secret", "delete", "AWS"]).out(), "Deleted `AWS`.\n");
    let gone = server.lamp(&["secret", "delete", "AWS"]);
    assert_eq!(gone.code(), Some(1));
    assert!(gone.err().contains("there is no secret `AWS`"), "{}", gone.err());
    let world = server.stop();
    for (path, bytes) in files(&world) {
        let has_it = String::from_utf8_lossy(&bytes).contains("nobody-may-see");
        assert!(!has_it, "{} holds the value", path.display());
    }
}

fn files(world: &World) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![world.path().join("data")];
    while let Some(directory) = directories.pop() {
        for entry in fs_err::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() && entry.metadata().unwrap().len() < (1 << 20) {
                found.push((entry.path(), fs_err::read(entry.path()).unwrap()));
            }
        }
    }
    found
}
