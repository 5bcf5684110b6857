//! Before the gate, writing is impossible and nothing can be called (GA2, GA3): one table of attempts, played in research and in plan.
//!
//! The controls are the same lines. On the host, as the owner, all of them work: they push, find the token, and approve the very task that could not approve
//! itself. Behind the gate those that write work, because there they are allowed; and what they leave in `.git` is run by nobody.

use std::{
    collections::BTreeSet,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::{
    house::{HOSTILE, House, git},
    journey::{Journey, Script, Tried},
};

const ATTEMPTS: &str = include_str!("before.py");

/// Behind the gate the workspace may be written to, and the change must be one that can be taken.
const TIDY: &str = "\nsh('git config --unset core.fsmonitor; git checkout --quiet --force HEAD; git reset --quiet --hard; git clean --quiet --force -d')\n\
                    sh('rm -rf ../beside')\n\
                    write(f'{repo}/.git/config', open(f'{repo}/.git/config').read() + f'[core]\\n\\tfsmonitor = touch {canary}\\n')\nmend()\n";

/// Those that are allowed behind the gate.
const WRITING: [&str; 18] = [
    "write a new file",
    "write into a file",
    "append to a file",
    "remove a file",
    "rename a file",
    "make a link",
    "change a mode",
    "write through the directory of a process",
    "write through the root of a process",
    "write through an open directory",
    "make a directory beside it",
    "commit",
    "move a branch",
    "a hook",
    "a monitor of files",
    "alternates",
    "a second work tree",
    "an index",
];

/// Where things are, for whoever plays the attempts.
fn places(house: &House, target: &str, searched: &[&str], canary: &str) -> String {
    let turned = |text: &str| text.chars().rev().collect::<String>();
    let needles = json!({
        "the token": turned(&house.token()),
        "another task": turned(CANARY),
    });
    let at = |name: &str| house.path(name).display().to_string();
    format!(
        "target = {}\nsocket_path = {}\naddress = {}\ndata = {}\nplaces = {}\nneedles = {needles}\ncanary = {}\n",
        json!(target),
        json!(at("run/lamp.sock")),
        json!(house.address),
        json!(at("data")),
        json!(searched),
        json!(at(canary)),
    )
}

/// What another task was asked for.
const CANARY: &str = "the-words-of-somebody-else-4c1f";

#[test]
fn before_the_gate_an_agent_can_neither_write_nor_push_nor_approve_nor_find_a_key() {
    let house = House::start();
    let canary = format!("print('{CANARY}')");
    let (_other, _) = Journey::to_gate(&house, &Script { plan: &canary, ..Script::default() });
    let refs = house.refs();
    let target = house.path("sums").display().to_string();
    let attack = format!("{}{ATTEMPTS}", places(&house, &target, &["/"], "canary"));
    let implement = format!("{attack}{TIDY}");
    let script =
        Script { research: &attack, plan: &attack, implement: &implement, ..Script::default() };
    let (journey, plan) = Journey::to_gate(&house, &script);

    let tried = journey.tried();
    for mode in ["research", "plan"] {
        let of_mode: Vec<&Tried> = tried.iter().filter(|it| it.mode == mode).collect();
        assert!(of_mode.len() >= 58, "{mode}: {of_mode:#?}");
        let worked: BTreeSet<&str> = worked(&of_mode);
        assert_eq!(worked, BTreeSet::from(["find what is there"]), "{mode}: {of_mode:#?}");
    }
    assert_eq!(house.refs(), refs, "nothing came into the repository");
    assert_eq!(journey.approvals(), 0);
    assert!(house.audited("approved").is_empty());
    let pulls = house.wait(house.client.pulls("sums")).unwrap();
    assert!(pulls.is_empty(), "{pulls:?}");
    let research = journey.sandboxes().remove(0);
    let refused: Vec<String> = house
        .audited("egress.refused")
        .iter()
        .filter(|row| row["actor"].as_str().is_some_and(|it| it.contains(&research)))
        .map(|row| row["subject"].to_string())
        .collect();
    for name in ["127.0.0.1", "localhost", "169.254.169.254", "example.com"] {
        assert!(refused.iter().any(|it| it.contains(name)), "{name} is not audited: {refused:#?}");
    }

    // The controls. First the owner, on the host, with the same lines.
    let control = played_on_the_host(&house);
    let failed: Vec<&Tried> = control.iter().filter(|it| !it.worked).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(journey.approvals(), 1, "the same lines approve where they reach the server");
    assert_eq!(house.audited("approved").len(), 2, "this one and the other task");

    // Then the agent itself, behind the gate.
    let task = journey.rest();
    assert_eq!(task.plan_approved, Some(plan));
    let tried = journey.tried();
    let behind: Vec<&Tried> = tried.iter().filter(|it| it.mode == "implement").collect();
    let mut expected = BTreeSet::from(WRITING);
    expected.insert("find what is there");
    assert_eq!(worked(&behind), expected, "{behind:#?}");
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    assert!(
        house.path("canary-of-the-owner").exists(),
        "the control: such settings are run by git"
    );
    assert!(!house.path("canary").exists(), "nothing of the agent's settings was run here");
    let others: Vec<String> = house
        .refs()
        .lines()
        .filter(|line| !refs.contains(line) && !line.starts_with("refs/lamp/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        others.len(),
        2,
        "one branch for each of the two tasks, and nothing else: {others:?}"
    );
    assert!(others.iter().all(|line| line.starts_with("refs/heads/agent/t_")), "{others:?}");
}

fn worked<'t>(tried: &[&'t Tried]) -> BTreeSet<&'t str> {
    tried.iter().filter(|it| it.worked).map(|it| it.name.as_str()).collect()
}

/// Plays the attempts as the owner of this host, in a clone, with a namespace for mounts so that nothing stays. Where this is not root, what only root may do
/// is left out, and that is told.
fn played_on_the_host(house: &House) -> Vec<Tried> {
    let at = |name: &str| house.path(name);
    let (clone, bare) = (at("clone"), at("bare"));
    git(&at(""), &["clone", "--quiet", "sums", "clone"]);
    git(&at(""), &["clone", "--quiet", "--bare", "sums", "bare"]);
    std::fs::write(at("agent.py"), HOSTILE).unwrap();
    let house_itself = at("").display().to_string();
    let attack = format!(
        "{}{ATTEMPTS}",
        places(house, bare.to_str().unwrap(), &[&house_itself], "canary-of-the-owner")
    );
    let request =
        format!("As the owner\n\n{}", json!({ "research": format!("mode = 'control'\n{attack}") }));
    let task = json!({ "mode": "research", "directories": [clone], "request": request });
    let is_root = rustix::process::getuid().is_root();
    let mut command = Command::new(if is_root { "unshare" } else { "python3" });
    if is_root {
        command.args(["--mount", "python3"]);
    }
    command.arg(at("agent.py")).env("LAMP_ANSWER", at("answer.json")).current_dir(&clone);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
        command.env_remove(name);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(task.to_string().as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let mut tried = Tried::all(&String::from_utf8(said.stdout).unwrap());
    if !is_root {
        unsupported::part("the controls of mounts, devices and becoming root", "they need root");
        let needs_root =
            ["mount it again", "mount over it", "bind over it", "a device", "become root"];
        tried.retain(|it| !needs_root.contains(&it.name.as_str()));
    }
    tried
}
