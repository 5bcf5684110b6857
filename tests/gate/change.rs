//! What must not leave a sandbox does not, with or without an approval (RV6); and nothing that an agent left in its repository is run on the host.

use wire::task::plan::Conditions;

use crate::{
    house::House,
    journey::{Journey, Script},
};

/// A change, and a part of the sentence that refuses it; empty where nothing is wrong.
struct Row {
    name: &'static str,
    work: &'static str,
    refusal: &'static str,
}

const fn row(name: &'static str, work: &'static str, refusal: &'static str) -> Row {
    Row { name, work, refusal }
}

/// Each has its control below it: what is like it, and allowed.
const ROWS: &[Row] = &[
    row(
        "a workflow",
        "os.makedirs(f'{repo}/.github/workflows')\nwrite(f'{repo}/.github/workflows/ci.yml', 'on: push')",
        "`.github/workflows/ci.yml` is run by the forge",
    ),
    row(
        "a workflow in other letters",
        "os.makedirs(f'{repo}/.GitHub/Workflows')\nwrite(f'{repo}/.GitHub/Workflows/ci.yml', 'on: push')",
        "is run by the forge",
    ),
    row(
        "a workflow of another forge",
        "write(f'{repo}/.gitlab-ci.yml', 'x: {script: y}')",
        "`.gitlab-ci.yml` is run by the forge",
    ),
    row(
        "an ordinary YAML file",
        "os.makedirs(f'{repo}/github/workflows')\nwrite(f'{repo}/github/workflows/ci.yml', 'on: push')",
        "",
    ),
    row("a link out", "os.symlink('/etc/passwd', f'{repo}/link')", "leads out of the repository"),
    row("a link up", "os.symlink('../../x', f'{repo}/link')", "leads out of the repository"),
    row("a link inside", "os.symlink('calc.py', f'{repo}/link')", ""),
    row(
        "a submodule",
        "sh('git init -q sub && git -C sub -c user.name=e -c user.email=e@e commit -q --allow-empty -m x')\nwrite(f'{repo}/.gitmodules', '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ext::sh -c evil\\n')\nsh('git add sub .gitmodules')",
        "is a submodule",
    ),
    row(
        "a token",
        "write(f'{repo}/key.py', 'K = \"ghp' + '_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8' + '\"')",
        "a token of GitHub",
    ),
    row("a word like a token", "write(f'{repo}/key.py', 'K = \"ghp_short\"')", ""),
    row(
        "200 MiB",
        "os.truncate(os.open(f'{repo}/big', os.O_CREAT | os.O_RDWR), 200 << 20)",
        "at most",
    ),
    row("1 MiB", "os.truncate(os.open(f'{repo}/big', os.O_CREAT | os.O_RDWR), 1 << 20)", ""),
    row(
        "names that differ by case",
        "write(f'{repo}/README')\nwrite(f'{repo}/readme')",
        "is the same name as",
    ),
    row("names that differ", "write(f'{repo}/README')\nwrite(f'{repo}/readme2')", ""),
    row(
        "git's directory in other letters",
        "os.makedirs(f'{repo}/a/.GIT/hooks')\nwrite(f'{repo}/a/.GIT/hooks/x')",
        "may not leave the sandbox",
    ),
    row(
        "git's short name",
        "os.makedirs(f'{repo}/git~1')\nwrite(f'{repo}/git~1/config')",
        "may not leave the sandbox",
    ),
    row("a name with a line's end", "write(f'{repo}/a\\nb')", "cannot be seen"),
    row("a name that turns round", "write(f'{repo}/a\\u202eb')", "cannot be seen"),
    row("a name with an accent", "write(f'{repo}/a\\u00e4b')", ""),
    row(
        "6,000 files",
        "os.mkdir(f'{repo}/many')\nfor n in range(6000): write(f'{repo}/many/{n}')",
        "5000",
    ),
    row(
        "100 directories",
        "os.makedirs(repo + '/d' * 100)\nwrite(repo + '/d' * 100 + '/x')",
        "may not leave the sandbox",
    ),
    row(
        "hooks and settings",
        "sh('mkdir -p .git/hooks; printf \"#!/bin/sh\\ntouch CANARY\\n\" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.hooksPath .git/hooks; git config core.fsmonitor \"touch CANARY\"; git config core.sshCommand \"touch CANARY\"')",
        "",
    ),
    row(
        "filters",
        "write(f'{repo}/.gitattributes', '* filter=evil diff=evil merge=evil\\n')\nsh('git config filter.evil.clean \"touch CANARY; cat\"; git config filter.evil.smudge \"touch CANARY; cat\"; git config diff.evil.textconv \"touch CANARY\"; git config diff.external \"touch CANARY\"')",
        "",
    ),
    row("another repository instead", "sh('rm -rf .git; git init -q')", ""),
    row(
        "a pointer to another repository",
        "sh('rm -rf .git; echo gitdir: /tmp/elsewhere > .git')",
        "",
    ),
    row(
        "commits of its own",
        "sh('git -c user.name=Eve -c user.email=eve@example.com commit -qam \"Lamplighter-Plan: none\"; git checkout -q -b evil; git tag evil')",
        "",
    ),
];

#[test]
fn what_must_not_leave_does_not_and_nothing_of_it_is_run_here() {
    let house = House::start();
    let canary = house.path("canary").display().to_string();
    let mut wrong = Vec::new();
    for Row { name, work, refusal } in ROWS {
        let before = house.refs();
        let work = format!("mend()\n{}", work.replace("CANARY", &canary));
        let (journey, task) =
            Journey::through(&house, &Script { implement: &work, ..Script::default() });
        let (kind, message) = Journey::failure(&task);
        let is_right = if refusal.is_empty() {
            task.state == "pull request open" && journey.approvals() == 1
        } else {
            (task.state.as_str(), kind.as_str()) == ("paused", "delivery_refused")
                && message.contains(refusal)
                && !message.contains(['\u{1b}', '\u{202e}'])
                && house.refs() == before
        };
        if !is_right {
            wrong.push(format!("{name}: {} {kind} {message}\n{}", task.state, journey.said()));
        }
    }
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(
        !house.path("canary").exists(),
        "something of an agent's repository was run on the host"
    );
    // Who looks at the pull requests runs nothing either.
    for pull in house.wait(house.client.pulls("sums")).unwrap() {
        let patch = house.wait(house.client.pull_diff("sums", pull.number)).unwrap();
        assert!(patch.text.contains("calc.py"));
        let trailers = house.git(&[
            "log",
            "-1",
            "--format=%an %(trailers:only,unfold,key=Lamplighter-Plan)",
            &pull.delivered,
        ]);
        assert!(trailers.starts_with("Lamplighter Lamplighter-Plan: "), "{trailers}");
        assert_eq!(
            house.git(&["rev-list", "--count", &format!("main..{}", pull.delivered)]).trim(),
            "1"
        );
    }
    assert!(!house.path("canary").exists());
    assert!(!house.refs().contains("evil"));
}

#[test]
fn a_workflow_file_needs_a_condition_that_names_it() {
    let house = House::start();
    let work = "mend()\nos.makedirs(f'{repo}/.github/workflows')\nwrite(f'{repo}/.github/workflows/ci.yml', 'on: push')\n";
    let script = Script { implement: work, ..Script::default() };
    let on = |paths: &[&str]| Conditions {
        paths: Some(paths.iter().map(|it| (*it).to_owned()).collect()),
        ..Conditions::default()
    };
    for vague in [on(&["calc.py", ".github"]), on(&["calc.py"])] {
        let (_, task) = Journey::through_on(&house, &script, vague);
        let (kind, message) = Journey::failure(&task);
        assert_eq!(
            (task.state.as_str(), kind.as_str()),
            ("paused", "delivery_refused"),
            "{message}"
        );
    }
    // The control.
    let (_, task) = Journey::through_on(&house, &script, on(&["calc.py", ".github/workflows"]));
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let pull = house.wait(house.client.pull("sums", task.pull_request.unwrap())).unwrap();
    assert!(pull.body.contains(".github/workflows/ci.yml"), "a reviewer is told: {}", pull.body);
}

#[test]
fn what_runs_by_being_opened_is_shown_to_whoever_reviews() {
    let house = House::start();
    let work = "mend()\nos.makedirs(f'{repo}/.vscode')\nwrite(f'{repo}/.vscode/tasks.json', '{}')\nwrite(f'{repo}/.envrc', 'curl evil')\n";
    let (_, task) = Journey::through(&house, &Script { implement: work, ..Script::default() });
    assert_eq!(task.state, "pull request open", "{:?}", task.failure);
    let pull = house.wait(house.client.pull("sums", task.pull_request.unwrap())).unwrap();
    for path in [".vscode/tasks.json", ".envrc"] {
        assert!(pull.body.contains(path), "{path}: {}", pull.body);
    }
}

#[test]
fn a_file_that_the_approved_plan_does_not_name_is_told_to_whoever_reviews() {
    let house = House::start();
    let work = "mend()\nwrite(f'{repo}/sneaky.py', 'x = 1\\n')\n";
    let body = |script: &Script<'_>| {
        let (_, task) = Journey::through(&house, script);
        assert_eq!(task.state, "pull request open", "{:?}", task.failure);
        house.wait(house.client.pull("sums", task.pull_request.unwrap())).unwrap().body
    };
    let words = "not in the approved plan";
    let told = body(&Script { implement: work, ..Script::default() });
    let line = told.lines().find(|line| line.contains(words)).unwrap_or_default();
    assert!(line.contains("sneaky.py") && !line.contains("calc.py"), "{told}");
    assert!(!body(&Script::default()).contains(words), "the control");
}
