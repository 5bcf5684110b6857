//! A server that is stopped while somebody waits for a command.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use unsupported::supported;

use crate::{server::Server, world::World};

/// Says that it has begun, waits for a word, and tells that it ended; by its files, too.
const SCRIPT: &str = "echo x >> begun; echo begun; while test ! -e go; do sleep 0.05; done; \
                      echo whole > file; echo ended; exit 5";

const BUILD: [&str; 9] =
    ["sandbox", "exec", "fox", "--name", "build", "--", "/bin/sh", "-c", SCRIPT];

#[test]
fn a_command_goes_on_when_the_server_is_stopped_and_whoever_waits_is_told_how_to_attach() {
    let server = Server::start_lasting(World::new());
    supported!(server.has_standard());
    let made = server.lamp(&["sandbox", "create", "fox", "--memory", "256MiB"]);
    assert_eq!(made.code(), Some(0), "{}", made.err());
    let mut waiting =
        server.client(&BUILD).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waiting.stdout.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert_eq!(first, "begun\n");

    let world = server.stop();
    let mut told = String::new();
    waiting.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
    assert_eq!(
        told,
        "error: the server was stopped; the command goes on in the sandbox\n\
         hint: once `lamp up` runs again, the same `lamp sandbox exec fox` with `--name build` attaches to it\n"
    );

    let server = Server::start_with(world, &[]);
    let inside = |script: &str| {
        let ended = server.lamp(&["sandbox", "exec", "fox", "--", "/bin/sh", "-c", script]);
        assert_eq!(ended.code(), Some(0), "{}", ended.err());
        ended.out()
    };
    assert_eq!(inside("cat begun; ls file 2>/dev/null || touch go"), "x\n");
    let attached = server.lamp(&BUILD);
    assert_eq!(attached.code(), Some(5), "{}", attached.err());
    assert!(attached.out().ends_with("ended\n"), "{}", attached.out());
    assert_eq!(inside("cat begun file"), "x\nwhole\n", "it began once, and ran to its end");
}

#[test]
fn who_waits_for_a_command_of_a_temporary_server_is_told_that_all_has_ended() {
    let server = Server::start();
    supported!(server.has_standard());
    let made = server.lamp(&["sandbox", "create", "fox", "--memory", "256MiB"]);
    assert_eq!(made.code(), Some(0), "{}", made.err());
    let mut waiting =
        server.client(&BUILD).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(waiting.stdout.take().unwrap()).read_line(&mut first).unwrap();
    drop(server);
    let mut told = String::new();
    waiting.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
    assert_eq!(told, "error: the server was stopped, and ended its sandboxes\n");
}
