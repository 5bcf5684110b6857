//! `lamp backup` of a server with tasks, and `lamp restore` elsewhere: what was proven is still proven, and tasks go on.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use unsupported::supported;

use crate::{
    fixture::Fixture,
    server::Server,
    world::{Ended, World},
};

/// Greets as well, when somebody on the pull request says so.
const GREETS: &str = r#"make the sum right
#implement
if grep -q 'say hel''lo' "$TOLD"; then echo hello > HELLO; fi
"#;

/// Works until somebody lets it go on.
const WORKS: &str = "make the sum right once more\n#implement\nmkfifo ~/go; echo at $((1 + 1)) work; read -r _ < ~/go\n";

fn mode(path: &Path) -> u32 {
    fs_err::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Sets a secret, whose value is piped in.
fn set_secret(fixture: &Fixture, name: &str) {
    let mut set = fixture.command(&["secret", "set", name, "--host", "api.example.com"]);
    let set = set.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut set = set.unwrap();
    std::io::Write::write_all(&mut set.stdin.take().unwrap(), b"a-value-nobody-may-see\n").unwrap();
    let set = Ended::of(set.wait_with_output().unwrap());
    assert_eq!(set.code(), Some(0), "{}", set.story());
}

/// A server with the same files in another directory, on what was brought back from `copy`; the repository is where it was.
fn elsewhere(old: &Path, copy: &Path) -> Fixture {
    let world = World::outside_of_tmp();
    for file in ["lamp.yaml", "policy.yaml", "agents/actor.yaml", "agents/mender.yaml"] {
        world.write(file, fs_err::read(old.join(file)).unwrap());
    }
    std::os::unix::fs::symlink(old.join("calc"), world.path().join("calc")).unwrap();
    let restored = world.lamp(&format!("restore {} --data data", copy.display()));
    assert_eq!(restored.code(), Some(0), "{}", restored.story());
    assert!(!restored.out().contains("There is no key"), "{}", restored.story());
    let file = world.path().join("lamp.yaml");
    Fixture { server: Server::start_with(world, &["--config", file.to_str().unwrap()]) }
}

#[test]
fn a_server_that_is_brought_back_elsewhere_proves_explains_and_goes_on() {
    let fixture = supported!(Fixture::build());
    set_secret(&fixture, "TOKEN");
    let delivered = fixture.planned(GREETS);
    fixture.approve(&delivered);
    let first = fixture.wait(&delivered, "pull request open")["commit"].clone();
    let waiting = fixture.planned("make the sum right again");
    let working = fixture.planned(WORKS);
    fixture.approve(&working);
    fixture.heard(&working, "at 2 work");
    let spent = fixture.json(&["usage", &delivered])["total"].clone();

    // While it runs. Then all that it had is gone.
    let copy = fixture.server.world().path().join("copy");
    fixture.fine(&["backup", copy.to_str().unwrap()]);
    let world = fixture.server.stop();
    let keys = fs_err::read(world.path().join("data/keys/signing.key")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a whole data directory")]
    fs_err::rename(world.path().join("data"), world.path().join("lost")).unwrap();
    let fixture = elsewhere(world.path(), &copy);

    // The keys are the same, and for their owner only.
    let data = fixture.server.world().path().join("data");
    assert_eq!(fs_err::read(data.join("keys/signing.key")).unwrap(), keys);
    for place in [&copy, &data] {
        assert_eq!(mode(place), 0o700);
        for file in ["keys/signing.key", "master.key", "owner"] {
            assert_eq!(mode(&place.join(file)), 0o600, "{file}");
        }
    }
    assert!(fixture.fine(&["secret", "list"]).contains("TOKEN"));

    // What was proven is proven, and what was paid is paid.
    let verified = fixture.json(&["verify", &delivered]);
    assert_eq!((&verified["holds"], &verified["commit"]), (&true.into(), &first), "{verified:#}");
    assert_eq!(fixture.json(&["usage", &delivered])["total"], spent);

    // The plan that waited can be approved, though its sandbox is gone.
    fixture.approve(&waiting);
    fixture.wait(&waiting, "pull request open");

    // What had not left its sandbox is lost with it, which is told, and is begun again when somebody says so.
    let lost = fixture.until("it has noticed", || {
        let task = fixture.json(&["get", &working]);
        (task["state"] == "failed").then(|| task["failure"]["kind"].clone())
    });
    assert_eq!(lost, "sandbox_lost");
    fixture.fine(&["retry", &working]);
    fixture.until("it works again", || {
        let go = ["shell", &working, "--", "sh", "-c", "test -p ~/go && echo > ~/go"];
        let stands = fixture.json(&["get", &working])["state"].clone();
        (stands == "implementing" && fixture.lamp(&go).code() == Some(0)).then_some(())
    });
    fixture.wait(&working, "pull request open");

    // A comment wakes the task that was delivered, and what it makes is signed with the same key.
    fixture.fine(&["pr", "comment", "1", "say hello", "--path", "calc.py", "--line", "2"]);
    fixture.until("it has gone on", || {
        let task = fixture.json(&["get", &delivered]);
        assert_ne!(task["state"], "paused", "{task:#}");
        (task["state"] == "pull request open" && task["commit"] != first).then_some(())
    });
    assert_eq!(fixture.json(&["verify", &delivered])["holds"], true);
    fixture.fine(&["pr", "merge", "1"]);
    let why = fixture.fine(&["why", "calc.py:2"]);
    assert!(why.contains("make the sum right"), "{why}");
}

#[test]
fn what_is_there_already_is_not_overwritten() {
    let fixture = supported!(Fixture::build());
    let copy = fixture.server.world().path().join("copy");
    fixture.fine(&["backup", copy.to_str().unwrap()]);
    let world = World::new();
    let restore = format!("restore {} --data data", copy.display());
    // The key of another server.
    world.write("data/keys/signing.key", "another");
    let refused = world.lamp(&restore);
    assert_eq!(refused.code(), Some(1), "{}", refused.story());
    assert!(refused.err().contains("data/keys/signing.key` is there already"), "{}", refused.err());
    assert!(!world.path().join("data/lamp.db").exists(), "{}", refused.story());
    // A restore that was interrupted can be done again.
    fs_err::remove_file(world.path().join("data/keys/signing.key")).unwrap();
    let again = world.lamp(&restore);
    assert_eq!(again.code(), Some(0), "{}", again.story());
}
