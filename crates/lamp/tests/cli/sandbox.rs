//! Sandboxes of the built program, as a newcomer meets them.

use std::{io::Write as _, process::Stdio};

use unsupported::supported;

use crate::{
    server::Server,
    world::{Ended, World},
};

fn run(server: &Server, words: &[&str]) -> Ended {
    server.lamp(&[&["sandbox", "run"], words].concat())
}

#[test]
fn amounts_are_checked_before_anything_is_asked() {
    let world = World::new();
    for line in [
        "sandbox create --memory 8GB",
        "sandbox create --lifetime 2",
        "sandbox create --cpu lots",
        "sandbox create --tier strict",
        "sandbox run --env NAME -- true",
        "sandbox run --user bob -- true",
        "sandbox run",
        "sandbox cp here",
    ] {
        assert_eq!(world.lamp(line).code(), Some(2), "{line}");
    }
}

#[test]
fn a_command_runs_in_a_fresh_sandbox_and_we_end_as_it_does() {
    let server = Server::start();
    supported!(server.has_standard());
    let ended = run(&server, &["--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((ended.code(), ended.out().as_str()), (Some(7), "out\n"));
    assert!(ended.err().starts_with("err\n"), "{}", ended.err());
    assert!(ended.err().contains("this sandbox has no network"), "{}", ended.err());

    let ended = run(&server, &["--", "true"]);
    assert_eq!((ended.code(), ended.err().as_str()), (Some(0), ""));

    let ended = run(&server, &["--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(ended.code(), Some(143), "{}", ended.err());

    let ended = run(&server, &["--timeout", "300ms", "--", "sleep", "60"]);
    assert_eq!(ended.code(), Some(124));
    assert!(ended.err().contains("the time was up"), "{}", ended.err());

    let ended = run(&server, &["--", "no-such-program"]);
    assert_eq!(ended.code(), Some(127));
    assert!(ended.err().contains("no program `no-such-program`"), "{}", ended.err());

    let words = ["--env", "A=one two", "--workdir", "/tmp", "--", "sh", "-c", "echo $A; pwd"];
    assert_eq!(run(&server, &words).out(), "one two\n/tmp\n");

    let json = run(&server, &["--json", "--", "sh", "-c", "echo hi; exit 3"]);
    assert_eq!(json.code(), Some(3));
    let json: serde_json::Value = serde_json::from_str(&json.out()).unwrap();
    assert_eq!((&json["stdout"], &json["exit_code"]), (&"hi\n".into(), &3.into()));

    // Input goes in, also more of it than fits into any pipe.
    let mut child = server
        .client(&["sandbox", "run", "--", "wc", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&vec![b'x'; 3_000_000]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "3000000");

    assert!(server.lamp(&["sandbox", "list"]).out().contains("There are no sandboxes"));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy_and_leaves_nothing() {
    let server = Server::start();
    supported!(server.has_standard());
    let table: [(&[&str], &str); 7] = [
        (&["run", "--base", "no-such-base", "--", "true"], "no-such-base"),
        (&["run", "--base", "dir:/no/such/place", "--", "true"], "/no/such/place"),
        (&["run", "--memory", "0", "--", "true"], "memory is 0 MiB"),
        (
            &["run", "--workdir", "/no/where", "--", "true"],
            "the directory `/no/where` in the sandbox",
        ),
        (&["create", "a/b"], "is not a sandbox's name"),
        (&["get", "nobody"], "there is no sandbox `nobody`"),
        (&["exec", "nobody", "--", "true"], "there is no sandbox `nobody`"),
    ];
    for (words, expected) in table {
        let ended = server.lamp(&[&["sandbox"], words].concat());
        assert_eq!(ended.code(), Some(1), "{words:?}");
        assert!(ended.err().contains(expected), "{words:?}: {}", ended.err());
        assert!(ended.err().contains("hint: "), "{words:?}: {}", ended.err());
    }
    if server.said.contains("`untrusted` is missing") {
        let ended = server.lamp(&["sandbox", "run", "--tier", "untrusted", "--", "true"]);
        assert_eq!(ended.code(), Some(1));
        assert!(ended.err().contains("`lamp doctor`"), "{}", ended.err());
    }
    assert!(server.lamp(&["sandbox", "list"]).out().contains("There are no sandboxes"));
}

#[test]
fn why_a_sandbox_ended_by_itself_is_shown() {
    let server = Server::start();
    supported!(server.has_standard());
    let made = server.lamp(&["sandbox", "create", "fly", "--lifetime", "1s"]);
    assert_eq!(made.code(), Some(0), "{}", made.err());
    let told = (0..1_000).map(|_| server.lamp(&["sandbox", "get", "fly"]).out());
    let told = told.into_iter().find(|told| told.contains("hibernating")).unwrap();
    assert!(told.contains("\nended      its lifetime has passed\n"), "{told}");
    let json = server.lamp(&["sandbox", "get", "fly", "--json"]).out();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["died"], "its lifetime has passed");
    assert_eq!(server.lamp(&["sandbox", "resume", "fly"]).code(), Some(0));
}

#[test]
fn a_sandbox_is_made_used_put_away_and_removed() {
    let server = Server::start();
    supported!(server.has_standard());
    let fine = |words: &[&str]| {
        let ended = server.lamp(&[&["sandbox"], words].concat());
        assert_eq!(ended.code(), Some(0), "{words:?}: {}", ended.err());
        ended.out()
    };
    fine(&["create", "fox", "--memory", "512MiB", "--cpu", "0.5"]);
    let taken = server.lamp(&["sandbox", "create", "fox"]);
    assert!(taken.err().contains("the name `fox` belongs to"), "{}", taken.err());

    // Files, there and back.
    server.world().write("tree/sub/file", "content");
    std::os::unix::fs::symlink("sub/file", server.world().path().join("tree/link")).unwrap();
    fine(&["cp", "tree", "fox:/home/lamp/tree"]);
    let seen =
        fine(&["exec", "fox", "--", "sh", "-c", "cd ~/tree && cat link sub/file && test -L link"]);
    assert_eq!(seen, "contentcontent");
    fine(&[
        "exec",
        "fox",
        "--",
        "sh",
        "-c",
        "cd ~/tree && ln -s /etc/passwd out && chmod 6755 sub/file",
    ]);
    fine(&["cp", "fox:/home/lamp/tree", "back"]);
    let back = server.world().path().join("back");
    assert_eq!(fs_err::read_to_string(back.join("link")).unwrap(), "content");
    assert!(!back.join("out").is_symlink());
    fine(&["cp", "fox:/home/lamp/tree/sub/file", "one"]);
    assert_eq!(fs_err::read_to_string(server.world().path().join("one")).unwrap(), "content");
    fine(&["cp", "one", "fox:/home/lamp"]);
    assert_eq!(fine(&["exec", "fox", "--", "cat", "/home/lamp/one"]), "content");

    assert_eq!(fine(&["freeze", "fox"]), "`fox` is frozen.\n");
    assert_eq!(fine(&["thaw", "fox"]), "`fox` is open.\n");
    assert_eq!(fine(&["hibernate", "fox"]), "`fox` is hibernating.\n");
    assert_eq!(fine(&["resume", "fox"]), "`fox` is open.\n");
    fine(&["fork", "fox", "cub"]);
    assert_eq!(fine(&["exec", "cub", "--", "cat", "/home/lamp/one"]), "content");
    let stats: serde_json::Value =
        serde_json::from_str(&fine(&["stats", "fox", "--json"])).unwrap();
    assert!(stats["disk_bytes"].is_u64() && stats["version"] == 1);
    assert!(fine(&["list"]).contains("cub"));
    fine(&["delete", "fox", "cub"]);
    assert!(fine(&["list"]).contains("There are no sandboxes"));
}

#[test]
fn a_repository_is_there_when_the_sandbox_opens() {
    let server = Server::start();
    supported!(server.has_standard());
    let repository = server.world().repository("demo", "hello", "from the repository");
    let words = ["--repository", &repository, "--workdir", "/workspace/demo", "--", "cat", "hello"];
    let ended = run(&server, &words);
    assert_eq!(
        (ended.code(), ended.out().as_str()),
        (Some(0), "from the repository"),
        "{}",
        ended.err()
    );
    let wrong = format!("{repository}#no-such-branch");
    let ended = run(&server, &["--repository", &wrong, "--", "true"]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err().contains("no-such-branch"), "{}", ended.err());
}

#[test]
fn ctrl_c_deletes_what_it_interrupts() {
    let server = Server::start();
    supported!(server.has_standard());
    let mut child = server
        .client(&["sandbox", "run", "--", "sh", "-c", "echo ready; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(server.lamp(&["sandbox", "list"]).out().contains("There are no sandboxes"));
}

#[test]
fn hooks_run_at_the_turns_of_a_sandbox() {
    let server = Server::start();
    supported!(server.has_standard());
    let words = [
        ["sandbox", "create"].as_slice(),
        &["hen", "--post-clone", "echo cloned > ~/told", "--post-start", "echo started >> ~/told"],
        &["--pre-teardown", "echo stopping >> ~/told"],
    ];
    let made = server.lamp(&words.concat());
    assert_eq!(made.code(), Some(0), "{}", made.err());
    for turn in ["hibernate", "resume"] {
        assert_eq!(server.lamp(&["sandbox", turn, "hen"]).code(), Some(0), "{turn}");
    }
    let told = server.lamp(&["sandbox", "exec", "hen", "--", "cat", "/home/lamp/told"]).out();
    assert_eq!(told, "cloned\nstarted\nstopping\nstarted\n");

    let failed = run(&server, &["--post-start", "echo not today; exit 3", "--", "true"]);
    assert_eq!(failed.code(), Some(1));
    assert!(failed.err().contains("the hook `post_start` failed: not today"), "{}", failed.err());
    server.lamp(&["sandbox", "delete", "hen"]);
    assert!(server.lamp(&["sandbox", "list"]).out().contains("There are no sandboxes"));
}

/// A failing hook is logged by a thread of the server. Once, the first such line stopped the server for good.
#[test]
fn a_read_only_workspace_is_asked_for_shown_and_kept() {
    let server = Server::start();
    supported!(server.has_standard());
    let write = "cat /workspace/note; echo x > /tmp/x && echo x > ~/x && echo x > /workspace/x";
    let words =
        ["--read-only", "--post-clone", "echo here > /workspace/note", "--", "sh", "-c", write];
    let ended = run(&server, &words);
    assert_eq!((ended.code(), ended.out().as_str()), (Some(2), "here\n"), "{}", ended.err());
    assert!(ended.err().contains("/workspace/x: Read-only file system"), "{}", ended.err());
    assert_eq!(run(&server, &["--", "sh", "-c", write]).code(), Some(0), "the control");

    let made = server.lamp(&["sandbox", "create", "reader", "--read-only"]);
    assert!(made.out().contains("workspace  read-only\n"), "{}", made.out());
    let listed = server.lamp(&["sandbox", "list", "--json"]);
    assert!(listed.out().contains(r#""read_only": true"#), "{}", listed.out());
    for turn in ["hibernate", "resume"] {
        assert_eq!(server.lamp(&["sandbox", turn, "reader"]).code(), Some(0), "{turn}");
    }
    for sandbox in ["reader", "copy"] {
        let shown = server.lamp(&["sandbox", "get", sandbox]);
        assert!(shown.out().contains("workspace  read-only\n"), "{}", shown.out());
        let words = ["sandbox", "exec", "--user", "root", sandbox, "--", "touch", "/workspace/x"];
        let ended = server.lamp(&words);
        assert!(ended.err().contains("Read-only file system"), "{}", ended.err());
        if sandbox == "reader" {
            let forked = server.lamp(&["sandbox", "fork", "reader", "copy"]);
            assert_eq!(forked.code(), Some(0), "{}", forked.err());
        }
    }
}

#[test]
fn a_server_that_logs_goes_on_answering() {
    let server = Server::start();
    supported!(server.has_standard());
    let made = server.lamp(&["sandbox", "create", "owl", "--pre-teardown", "exit 1"]);
    assert_eq!(made.code(), Some(0), "{}", made.err());
    assert_eq!(server.lamp(&["sandbox", "delete", "owl"]).code(), Some(0));
    assert!(server.lamp(&["sandbox", "list"]).out().contains("There are no sandboxes"));
}

#[test]
fn a_shell_without_a_terminal_names_what_to_use_instead() {
    let server = Server::start();
    let ended = server.lamp(&["sandbox", "shell", "hen"]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err().contains("`lamp sandbox exec hen -- sh`"), "{}", ended.err());
}
