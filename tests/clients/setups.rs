//! Projects that nobody wrote a setup for, set up by real package managers from the real registries of this machine; and the agent's file of
//! `docs/start/first-task.md` on one of them. What was installed is used without any network.

use std::{path::Path, process::Command};

use tests::internet::{OwnHouse, Plan, declared, npm};
use unsupported::{part, unsupported};

use crate::registries::{answers, crates, pypi};

struct Project {
    name: &'static str,
    bundle: &'static str,
    places: Vec<String>,
    files: &'static [(&'static str, &'static str)],
    /// What works only where it was set up, in its directory.
    check: &'static str,
}

const TEST: &str = "import six\n\n\ndef test_six():\n    assert six.PY3\n";

fn projects() -> Vec<Project> {
    vec![
        Project {
            name: "snake",
            bundle: "registry:pypi",
            places: pypi(),
            files: &[
                ("requirements.txt", "six==1.16.0\n"),
                ("test_six.py", TEST),
                ("pyproject.toml", "[tool.black]\n"),
            ],
            check: "pytest -q && black --version && test \"$VIRTUAL_ENV\" = ~/.venv && test -z \"$(git status --porcelain --untracked-files=no)\"",
        },
        Project {
            name: "leaf",
            bundle: "registry:npm",
            places: npm(),
            files: &[
                (
                    "package.json",
                    r#"{"name":"leaf","private":true,"dependencies":{"is-number":"7.0.0"},"devDependencies":{"semver":"7.6.3"}}"#,
                ),
                (".gitignore", "node_modules\n"),
            ],
            check: "node -e 'require(\"is-number\")' && semver 1.2.3 && test -z \"$(git status --porcelain)\"",
        },
        Project {
            name: "iron",
            bundle: "registry:crates",
            places: crates(),
            files: &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"iron\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"=1.0.11\"\n",
                ),
                (
                    "src/lib.rs",
                    "pub fn one() -> String { itoa::Buffer::new().format(1).to_owned() }\n",
                ),
            ],
            check: "cargo check --offline --quiet",
        },
    ]
}

fn made(below: &Path, project: &Project) -> String {
    let path = below.join(project.name);
    for (name, text) in project.files {
        let place = path.join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }
    for words in [
        &["init", "--quiet", "--template="][..],
        &["add", "--all"],
        &["commit", "--quiet", "-m", "first"],
    ] {
        let mut git = Command::new("git");
        git.current_dir(&path).args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]);
        assert!(git.args(words).status().unwrap().success(), "{words:?}");
    }
    format!("{}={}", project.name, path.display())
}

/// Builds an image, and runs something on it that reaches nothing.
fn try_it(house: &OwnHouse, repository: &str, setup: &[&str], check: &str) {
    let build = [&["image", "build", "--json", "--repository", repository], setup].concat();
    let said = house.lamp(&build);
    assert!(said.succeeded(), "{repository}: {said}");
    let image: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let base = format!("image:{}", image["key"].as_str().unwrap());
    let name = repository.split('=').next().unwrap();
    let directory = format!("/workspace/{name}");
    let run =
        ["sandbox", "run", "--base", &base, "--repository", repository, "--workdir", &directory];
    let said = house.lamp(&[&run[..], &["--", "sh", "-ec", check]].concat());
    assert!(said.succeeded(), "{repository}: {said}");
    println!("{name}: set up, and works");
}

#[test]
fn projects_that_nobody_wrote_a_setup_for_are_set_up_from_real_registries() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("a house that sandboxes reach the world from needs root");
    }
    let mut projects = projects();
    projects.retain(|project| {
        let there = project.places.first().is_some_and(|place| answers(place));
        if !there {
            part(project.bundle, "its registry does not answer this machine");
        }
        there
    });
    if projects.is_empty() {
        unsupported!("no registry answers");
    }
    let allow: Vec<&str> = projects.iter().map(|it| it.bundle).collect();
    let hosts = declared(projects.iter().flat_map(|it| it.places.iter()));
    let policy =
        format!("version: 1\negress:\n  setup: {{ allow: ['{}'] }}\n{hosts}", allow.join("', '"));
    let server = "version: 1\nsandboxes: { warm: 0, disk_budget: 6GiB, disk_guaranteed: 256MiB }\n";
    let house = OwnHouse::start(&Plan { server: server.to_owned(), ..Plan::new(&policy) });
    let place = tempfile::tempdir().unwrap();
    for project in &projects {
        let repository = made(place.path(), project);
        try_it(&house, &repository, &[], project.check);
        if project.name == "snake" {
            let (setup, check) = first_task();
            try_it(
                &house,
                &repository,
                &["--setup", &setup],
                &format!("{check} && test -f junit.xml"),
            );
        }
    }
}

/// The setup and the check of the agent's file in the guide, as they are written there.
fn first_task() -> (String, String) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/start/first-task.md");
    let text = std::fs::read_to_string(page).unwrap();
    let between = |from: &str, to: &str| {
        let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {page}")).1;
        rest.split_once(to).unwrap().0.to_owned()
    };
    (between("image: { setup: '", "' }"), between("checks: [{ name: tests, run: ", ", report:"))
}
