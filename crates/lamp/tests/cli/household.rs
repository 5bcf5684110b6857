//! What a `lamp.yaml` gives to the sandboxes of a server.

use crate::{server::Server, world::World};

#[test]
fn a_toolchain_is_seen_inside_at_its_own_path_and_cannot_be_written() {
    // Every sandbox has a `/tmp` of its own, so a toolchain is never in there.
    let world = World::outside_of_tmp();
    world.write("tools/hello", "from a toolchain");
    world.write("lamp.yaml", "version: 1\nsandboxes: { warm: 0, toolchains: [tools] }\n");
    let tools = world.path().join("tools");
    let file = world.path().join("lamp.yaml");
    let server = Server::start_with(world, &["--config", file.to_str().unwrap()]);
    if !server.has_standard() {
        return;
    }
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
