//! What a `lamp.yaml` gives to a server and its sandboxes.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use unsupported::supported;

use crate::{server::Server, world::World};

#[test]
fn a_server_listens_and_logs_as_its_file_says_and_tells_what_it_does_not_obey() {
    let world = World::new();
    world.write(
        "lamp.yaml",
        "version: 1\nlisten: { http: 127.0.0.2:0, ssh: 127.0.0.1:7122 }\n\
         log: { format: json, level: debug }\nsandboxes: { warm: 0 }\n",
    );
    let log = world.path().join("log");
    let mut child = world
        .command("up --data data --run run --temporary --config lamp.yaml")
        .stdout(Stdio::piped())
        .stderr(fs_err::File::create(&log).unwrap().into_file())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while !said.contains("Ctrl-C ends it") && lines.read_line(&mut said).unwrap() > 0 {}
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(said.contains("http    http://127.0.0.2:"), "{said}");
    let note = "note    lamp.yaml:2:35: `listen.ssh` is not obeyed yet: there is no SSH door yet";
    assert!(said.contains(note), "{said}");
    let log = fs_err::read_to_string(log).unwrap();
    assert!(!log.is_empty(), "at this level it says something");
    for line in log.lines() {
        let told: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(told["level"].is_string(), "{line}");
    }
}

#[test]
fn an_address_on_a_network_in_the_file_is_refused_too() {
    let world = World::new();
    world.write("lamp.yaml", "version: 1\nlisten: { http: 0.0.0.0:7180 }\n");
    let ended = world.lamp("up --data data --run run --config lamp.yaml");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err().contains("cannot serve 0.0.0.0:7180"), "{}", ended.err());
}

#[test]
fn a_toolchain_is_seen_inside_at_its_own_path_and_cannot_be_written() {
    // Every sandbox has a `/tmp` of its own, so a toolchain is never in there.
    let world = World::outside_of_tmp();
    world.write("tools/hello", "from a toolchain");
    world.write("lamp.yaml", "version: 1\nsandboxes: { warm: 0, toolchains: [tools] }\n");
    let tools = world.path().join("tools");
    let file = world.path().join("lamp.yaml");
    let server = Server::start_with(world, &["--config", file.to_str().unwrap()]);
    supported!(server.has_standard());
    let script = "cat hello; touch new 2>&1 | grep -o 'Read-only file system'; ls ..";
    let words = ["sandbox", "run", "--workdir", tools.to_str().unwrap(), "--", "sh", "-c", script];
    let seen = server.lamp(&words);
    // Beside it on the host is more; inside, there is nothing else.
    assert_eq!(seen.out(), "from a toolchainRead-only file system\ntools\n", "{}", seen.err());
}

#[test]
fn a_toolchain_that_holds_more_is_refused_by_its_key() {
    let world = World::new();
    for forbidden in ["/root", "/home", "/nowhere", "tools"] {
        world.write("lamp.yaml", format!("sandboxes: {{ toolchains: [/usr, {forbidden}] }}\n"));
        let ended = world.lamp("up --data data --run run --listen 127.0.0.1:0 --config lamp.yaml");
        assert_eq!((ended.code(), ended.out().as_str()), (Some(1), ""), "{forbidden}");
        let err = ended.err();
        assert!(err.contains("`sandboxes.toolchains[1]` of `lamp.yaml`"), "{err}");
        assert!(err.contains(&format!("{forbidden}` is not shown to sandboxes: ")), "{err}");
        assert!(!world.path().join("data").exists());
    }
}
