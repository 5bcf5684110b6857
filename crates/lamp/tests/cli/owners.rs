//! Repositories own their agents (PO2), and a wrong file breaks its own agent alone.

use std::{path::PathBuf, process::Command};

use unsupported::supported;

use crate::{fixture::Fixture, world::World};

const SERVER: &str = "version: 1\nsandboxes: { warm: 0 }\n";

/// A worker whose plan says who wrote it. When it works, its change brings another definition of itself, which wants more.
fn own(summary: &str) -> String {
    let script = r#"lamp: { version: 1, name: own, description: Mends sums }
agent:
  driver: command
  command: |
    read -r task
    answer() { printf '%s' "$1" > "$LAMP_ANSWER"; }
    case "$LAMP_MODE" in
      plan) answer '{"plan": {"summary": "SUMMARY", "files": [{"path": "calc.py", "why": "it subtracts"}, {"path": "agents/own.yaml", "why": "more"}], "tests": [], "expected_behaviour": "2 and 3 is 5", "commands": [], "hosts": [], "risks": []}}' ;;
      implement) sed -i 's/a - b/a + b/' calc.py; sed -i 's/"summary": "[^"]*"/"summary": "By its own change"/; s/^limits:.*/limits: { attempts: 20 }/' agents/own.yaml ;;
      review) answer '{"review": {"findings": []}}' ;;
      *) answer '{"notes": "it subtracts"}' ;;
    esac
sandbox: { repositories: [{ name: any }] }
checks: [{ name: adds, run: "python3 -c 'from calc import add; assert add(2, 3) == 5'" }]
limits: { attempts: 2 }
"#;
    script.replace("SUMMARY", summary)
}

fn place(fixture: &Fixture) -> PathBuf {
    fixture.server.world().path().join("calc")
}

fn git(fixture: &Fixture, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(place(fixture)).args([
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=a@example.com",
    ]);
    let said = git.args(words).output().unwrap();
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// A person merges this into the default branch; the commit.
fn merged(fixture: &Fixture, file: &str, text: &str) -> String {
    fixture.server.world().write(&format!("calc/{file}"), text);
    git(fixture, &["add", "--all"]);
    git(fixture, &["commit", "--quiet", "--message=more"]);
    git(fixture, &["rev-parse", "HEAD"])
}

fn summary(fixture: &Fixture, task: &str) -> String {
    fixture.json(&["plan", task])["plan"]["summary"].as_str().unwrap().to_owned()
}

#[test]
fn a_wrong_file_breaks_its_own_agent_and_neither_the_server_nor_others() {
    let wrong = "lamp: { version: 1, name: wrong }\nagent: { driver: claude }\nsandbox: { repositories: [{ name: any }] }\n";
    let fixture = supported!(Fixture::build_among(SERVER, &[("agents/wrong.yaml", wrong)]));
    let said = &fixture.server.said;
    assert!(said.contains("broken  the agent of `agents/wrong.yaml`"), "{said}");
    let refused = fixture.lamp(&["run", "mend it", "--agent", "wrong"]);
    let told = refused.err();
    assert_eq!(refused.code(), Some(1), "{}", refused.story());
    assert!(told.contains("agents/wrong.yaml:2:18: ") && told.contains("must be one of"), "{told}");
    let list = fixture.fine(&["agent", "list"]);
    assert!(list.contains("wrong.yaml:2:18") && list.contains("mender"), "{list}");
    let run = fixture.lamp(&["run", "mend it", "--agent", "mender"]);
    assert_eq!(run.code(), Some(3), "others work: {}", run.story());
    // It is mended while the server runs, and another is broken: the rest is taken.
    fixture.server.world().write("agents/wrong.yaml", wrong.replace("claude }", "builtin }"));
    fixture.server.world().write("agents/late.yaml", "lamp: {");
    fixture.fine(&["policy", "reload"]);
    let list = fixture.json(&["agent", "list"]);
    let of = |name: &str| {
        let all = list["written"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap().clone()
    };
    assert!(of("wrong").get("problem").is_none() && of("wrong")["origin"] == "server", "{list:#}");
    assert!(of("late")["problem"].as_str().unwrap().contains("agents/late.yaml:1:"), "{list:#}");
}

#[test]
fn a_repository_defines_its_agents_and_a_change_never_its_own_run() {
    let fixture = supported!(Fixture::build());
    let first = merged(&fixture, "agents/own.yaml", &own("By the repository"));
    // Nobody says who works: the repository has one agent.
    let run = fixture.lamp(&["run", "mend it"]);
    assert_eq!(run.code(), Some(3), "{}", run.story());
    let task = fixture.json(&["get", "last"])["id"].as_str().unwrap().to_owned();
    assert_eq!(summary(&fixture, &task), "By the repository");
    let list = fixture.json(&["agent", "list"]);
    let written = list["written"].as_array().unwrap();
    let own_one = written.iter().find(|it| it["name"] == "own").unwrap();
    assert_eq!(
        (&own_one["origin"], &own_one["commit"]),
        (&"repository".into(), &first.clone().into())
    );
    assert!(written.iter().any(|it| it["name"] == "mender" && it["origin"] == "server"));
    // What is merged meanwhile is for tasks to come.
    let second = merged(&fixture, "agents/own.yaml", &own("By a later commit"));
    fixture.fine(&["reject", &task, "name the risk"]);
    fixture.until("another plan", || {
        let plan = fixture.json(&["plan", &task]);
        (plan["earlier"] == 1 && plan["plan"]["summary"] == "By the repository").then_some(())
    });
    let newer = fixture.lamp(&["run", "mend it again", "--agent", "own"]);
    assert_eq!(newer.code(), Some(3), "{}", newer.story());
    let later = fixture.json(&["get", "last"])["id"].as_str().unwrap().to_owned();
    assert_eq!(summary(&fixture, &later), "By a later commit");
    let log = fixture.fine(&["log", &later, "--json"]);
    assert!(log.contains(&second) && log.contains("agents/own.yaml"), "{log}");
    // The change brings a definition of its own. It is delivered as any other file, and configures nothing: not the checks or
    // reviews of this task, nor a task that begins on its branch.
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
    let branch = git(&fixture, &["for-each-ref", "--format=%(refname:short)", "refs/heads/agent"]);
    assert!(
        git(&fixture, &["show", &format!("{branch}:agents/own.yaml")])
            .contains("By its own change")
    );
    git(&fixture, &["checkout", "--quiet", &branch]);
    for words in [&["run", "more"][..], &["run", "more", "--agent", "own"]] {
        let refused = fixture.lamp(words);
        assert_eq!(refused.code(), Some(1), "{}", refused.story());
        assert!(refused.err().contains("which a task made"), "{}", refused.story());
    }
    git(&fixture, &["checkout", "--quiet", "main"]);
    // A wrong one breaks itself, with the place at its commit.
    merged(&fixture, "agents/own.yaml", &own("x").replace("limits:", "limit:"));
    let refused = fixture.lamp(&["run", "mend it"]);
    assert!(refused.err().contains(":agents/own.yaml:15:1: "), "{}", refused.story());
    let wide = own("x").replace("{ repositories", "{ push: agent, repositories");
    merged(&fixture, "agents/own.yaml", &wide);
    let refused = fixture.lamp(&["run", "mend it"]);
    assert!(refused.err().contains("does not push past the inspection"), "{}", refused.story());
    assert_eq!(
        fixture.lamp(&["run", "mend it", "--agent", "mender"]).code(),
        Some(3),
        "others work"
    );
}

#[test]
fn a_repository_s_agents_are_checked_where_they_are() {
    let world = World::new();
    world.write("agents/own.yaml", own("x"));
    world.write("agents/theirs.yaml", "tools: []\n");
    let right = world.lamp("config check");
    assert_eq!(right.code(), Some(0), "{}", right.story());
    assert!(right.out().contains("1 file checked"), "{}", right.story());
    world.write(
        "agents/own.yaml",
        own("x").replace("{ repositories", "{ push: agent, repositories"),
    );
    let wrong = world.lamp("config check");
    assert_eq!(wrong.code(), Some(1), "{}", wrong.story());
    assert!(wrong.out().contains("own.yaml:13:18: "), "{}", wrong.story());
    let nothing = World::new().lamp("config check");
    assert!(nothing.err().contains("no `lamp.yaml`"), "{}", nothing.story());
}
