//! Images of the built program: built from scripts and from repositories, used, and pruned.

use unsupported::{supported, unsupported};

use crate::server::Server;

#[test]
fn an_image_is_built_used_and_pruned() {
    let server = Server::start();
    supported!(server.has_standard());
    server
        .world()
        .write("setup.sh", "echo made by the setup > /opt/made || echo made > /home/lamp/made\n");
    let built = server.lamp(&["image", "build", "--setup-file", "setup.sh", "--json"]);
    assert_eq!(built.code(), Some(0), "{}", built.err());
    let image: serde_json::Value = serde_json::from_str(&built.out()).unwrap();
    let key = image["key"].as_str().unwrap();
    assert!(server.lamp(&["image", "list"]).out().contains(&key[..16]));
    assert!(server.lamp(&["image", "get", &key[..12]]).out().contains("made by the setup"));
    // The beginning of a key is enough.
    let base = format!("image:{}", &key[..12]);
    let ended = server.lamp(&[
        "sandbox",
        "run",
        "--base",
        &base,
        "--",
        "sh",
        "-c",
        "cat /opt/made /home/lamp/made 2>/dev/null | grep made",
    ]);
    assert_eq!(ended.code(), Some(0), "{}", ended.err());

    server.world().write("broken.sh", "echo about to fail\nexit 9\n");
    let broken = server.lamp(&["image", "build", "--setup-file", "broken.sh"]);
    assert_eq!(broken.code(), Some(1));
    assert_eq!(broken.err().matches("about to fail").count(), 2, "{}", broken.err());
    let named = server.lamp(&["image", "build", "--setup", "broken.sh"]);
    assert!(named.err().contains("`--setup-file broken.sh`"), "{}", named.err());

    let pruned = server.lamp(&["image", "prune"]);
    assert_eq!(pruned.code(), Some(0), "{}", pruned.err());
    // A computer that waits in the pool may still stand on it; nothing else does.
    let left = server.lamp(&["image", "list", "--json"]).out();
    let left: serde_json::Value = serde_json::from_str(&left).unwrap();
    let left = left["images"].as_array().unwrap();
    assert!(left.iter().all(|image| image["users"].as_u64().unwrap() > 0), "{left:?}");
}

#[test]
fn an_image_holds_what_a_setup_made_in_a_repository() {
    let server = Server::start();
    supported!(server.has_standard());
    let repository = server.world().repository("demo", "hello", "from the repository");
    let words = ["image", "build", "--repository", &repository, "--setup", "cat hello > made"];
    let built = server.lamp(&words);
    assert_eq!(built.code(), Some(0), "{}", built.err());
    assert!(built.err().contains("==> running the setup"), "{}", built.err());
    assert!(built.out().contains("source   acme/demo@"), "{}", built.out());
    assert!(built.out().contains(&format!("--repository {repository} ")), "{}", built.out());
    let again = server.lamp(&[&words[..], &["--json"]].concat());
    assert!(again.err().contains("it is built already"), "{}", again.err());
    let image: serde_json::Value = serde_json::from_str(&again.out()).unwrap();
    let base = format!("image:{}", image["key"].as_str().unwrap());
    let (create, inside) = (["sandbox", "create", "den", "--base", &base], "/workspace/demo");
    let made = server.lamp(&[&create[..], &["--repository", &repository]].concat());
    assert_eq!(made.code(), Some(0), "{}", made.err());
    let look = ["sh", "-c", "cat made; git status --short"];
    let seen =
        server.lamp(&[&["sandbox", "exec", "den", "--workdir", inside, "--"], &look[..]].concat());
    assert_eq!(seen.out(), "from the repository?? made\n", "{}", seen.err());
}

/// No sandbox has a network, so this setup cannot work: it must say so, and leave nothing.
#[test]
fn a_setup_that_nobody_wrote_is_proposed_and_its_failure_leaves_nothing() {
    let server = Server::start();
    supported!(server.has_standard());
    let repository = server.world().repository("snake", "requirements.txt", "no-such-thing==1\n");
    let build = ["image", "build", "--repository", &repository, "--timeout", "10s"];
    let failed = server.lamp(&build);
    assert_eq!((failed.code(), failed.out().as_str()), (Some(1), ""), "{}", failed.err());
    for told in
        ["proposed from `requirements.txt`", "pip install", "policy.yaml", "error: ", "hint: "]
    {
        assert!(failed.err().contains(told), "{told}: {}", failed.err());
    }
    assert!(server.lamp(&["image", "list"]).out().contains("There are no images"));
    assert!(server.lamp(&["sandbox", "list"]).out().contains("There are no sandboxes"));
    let missing = server.lamp(&["image", "build", "--repository", "acme/none=/no/such/place"]);
    assert_eq!(missing.code(), Some(1));
    assert!(missing.err().contains("acme/none"), "{}", missing.err());
}

/// Its only dependency lies beside it, so npm needs no network: what was proposed is run, and works.
#[test]
fn a_setup_that_nobody_wrote_installs_what_the_lockfile_says() {
    let server = Server::start();
    supported!(server.has_standard());
    if !std::path::Path::new("/usr/bin/npm").exists() {
        unsupported!(
            "there is no npm in `/usr/bin`, where sandboxes of this host have their programs"
        );
    }
    let world = server.world();
    world.write("web/near/package.json", r#"{"name": "near", "version": "1.0.0"}"#);
    world.write("web/near/index.js", "module.exports = 'found';");
    world.write(
        "web/package-lock.json",
        r#"{"name": "web", "version": "1.0.0", "lockfileVersion": 3, "packages": {
            "": {"name": "web", "version": "1.0.0", "dependencies": {"near": "file:near"}},
            "near": {"version": "1.0.0"},
            "node_modules/near": {"resolved": "near", "link": true}}}"#,
    );
    let manifest = r#"{"name": "web", "version": "1.0.0", "dependencies": {"near": "file:near"}}"#;
    let repository = world.repository("web", "package.json", manifest);
    let words = ["image", "build", "--repository", &repository, "--json"];
    let built = server.lamp(&words);
    assert_eq!(built.code(), Some(0), "{}", built.err());
    assert!(built.err().contains("proposed from `package.json`"), "{}", built.err());
    assert!(built.err().contains("npm ci"), "{}", built.err());
    let image: serde_json::Value = serde_json::from_str(&built.out()).unwrap();
    let base = format!("image:{}", image["key"].as_str().unwrap());
    let (create, inside) = (["sandbox", "create", "den", "--base", &base], "/workspace/web");
    let made = server.lamp(&[&create[..], &["--repository", &repository]].concat());
    assert_eq!(made.code(), Some(0), "{}", made.err());
    let look = ["node", "-p", "require('near')"];
    let seen =
        server.lamp(&[&["sandbox", "exec", "den", "--workdir", inside, "--"], &look[..]].concat());
    assert_eq!(seen.out(), "found\n", "{}", seen.err());
}
