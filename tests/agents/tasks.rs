//! Whole tasks: the real programs go from a sentence to a merged change, in Python, JavaScript and Rust; and so does a script without any
//! model.

use std::{
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;
use testkit::model::stories::{Bug, Phase};
use tests::internet::{breathe, program};

use crate::fixture::Fixture;

/// Machines are slow, and an agent has to start four times.
const PATIENCE: Duration = Duration::from_mins(5);

const MARKERS: [(Phase, &str); 4] = [
    (Phase::Research, "# Phase: research"),
    (Phase::Plan, "# Phase: plan"),
    (Phase::Implement, "# Phase: implement"),
    (Phase::Review, "# Phase: review"),
];

const REVIEW: &str = "```lamp-answer\n{\"review\": {\"findings\": []}}\n```";

/// A small repository with a bug that one of its tests finds.
pub(crate) struct Sample {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    file: &'static str,
    right: &'static str,
    test: &'static str,
}

pub(crate) const PYTHON: Sample = Sample {
    name: "sample-python",
    files: &[
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "test_calc.py",
            "import unittest\n\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n    def test_nothing(self):\n        self.assertEqual(add(0, 0), 0)\n\n    def test_two_and_three(self):\n        self.assertEqual(add(2, 3), 5)\n",
        ),
        ("Makefile", "test:\n\tpython3 -B -m unittest -v\n"),
    ],
    file: "calc.py",
    right: "a + b",
    test: "python3 -B -m unittest",
};

pub(crate) const JAVASCRIPT: Sample = Sample {
    name: "sample-javascript",
    files: &[
        ("calc.js", "exports.add = (a, b) => a - b;\n"),
        (
            "calc.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('./calc.js');\n\ntest('nothing', () => assert.equal(add(0, 0), 0));\ntest('two and three', () => assert.equal(add(2, 3), 5));\n",
        ),
        (
            "package.json",
            "{ \"name\": \"calc\", \"version\": \"1.0.0\", \"private\": true, \"scripts\": { \"test\": \"node --test\" } }\n",
        ),
    ],
    file: "calc.js",
    right: "a + b",
    test: "node --test",
};

pub(crate) const RUST: Sample = Sample {
    name: "sample-rust",
    files: &[
        (
            "src/lib.rs",
            "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[test]\nfn nothing() {\n    assert_eq!(add(0, 0), 0);\n}\n\n#[test]\nfn two_and_three() {\n    assert_eq!(add(2, 3), 5);\n}\n",
        ),
        ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
        (".gitignore", "target\n"),
    ],
    file: "src/lib.rs",
    right: "a + b",
    test: "cargo test --offline",
};

impl Sample {
    /// What is asked for. It tells the tasks of one model apart.
    fn request(&self) -> String {
        format!("Mend the sum of {}: 2 and 3 should be 5.", self.name)
    }

    fn plan(&self) -> String {
        format!(
            "```lamp-answer\n{{\"plan\": {{\"summary\": \"Add instead of subtracting\", \"files\": [{{\"path\": \"{}\", \"why\": \"it subtracts\"}}], \
             \"tests\": [\"there is one\"], \"expected_behaviour\": \"2 and 3 is 5\", \"commands\": [\"{}\"], \"hosts\": [], \"risks\": []}}}}\n```",
            self.file, self.test
        )
    }

    /// At one place and the same each time: a server knows a repository by its name, and its data are kept.
    fn make(&self) -> PathBuf {
        let directory = program().parent().unwrap().join(format!("agents-{}", self.name));
        let _ = std::fs::remove_dir_all(&directory);
        for (path, text) in self.files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let script = "git init --quiet --initial-branch main && git add . && git -c user.name=Ann -c user.email=ann@example.com commit --quiet --message first";
        let made = Command::new("sh").args(["-c", script]).current_dir(&directory).status();
        assert!(made.unwrap().success());
        directory
    }

    fn teach(&self, fixture: &Fixture) {
        let bug = Bug {
            file: self.file.to_owned(),
            wrong: "a - b".to_owned(),
            half: "a * b + 0".to_owned(),
            right: self.right.to_owned(),
            test: self.test.to_owned(),
            answers: [(Phase::Plan, self.plan()), (Phase::Review, REVIEW.to_owned())].into(),
        };
        let request = self.request();
        for (phase, marker) in MARKERS {
            let request = request.clone();
            let holds = move |asked: &testkit::model::Asked<'_>| {
                asked.text.contains(marker) && asked.text.contains(&request)
            };
            fixture.model.when(holds, bug.script(phase));
        }
    }

    /// A sentence becomes a merged change, and the receipt holds.
    pub(crate) fn is_mended_by(&self, fixture: &Fixture, agent: &str, words: &[&str]) {
        let (repository, request) = (self.make(), self.request());
        self.teach(fixture);
        let place = format!("{}={}", self.name, repository.display());
        let order = ["run", &request, "--agent", agent, "--repo", &place, "--detach", "--json"];
        let begun = json(fixture, &[&order, words].concat());
        let task = begun["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        let waits = until(fixture, &task, "awaiting approval");
        let plan = waits["plan_waiting"].as_str().unwrap();
        let approved = fixture.house.lamp(&["approve", &task, plan, "--path", self.file]);
        assert!(approved.succeeded(), "{agent}: {approved}");
        let open = until(fixture, &task, "pull request open");

        let checks = json(fixture, &["checks", &task, "--json"]);
        let outcome = &checks["checks"][0]["outcome"];
        assert_eq!(outcome, "fixed", "{agent} in {}: {checks}", self.name);
        let keys = fixture.house.keys().display().to_string();
        let verified = fixture.house.lamp(&["verify", &task, "--keys", &keys]);
        assert!(verified.succeeded(), "{agent}: {verified}");
        let number = open["pull_request"].as_u64().unwrap().to_string();
        let shown = fixture.house.lamp(&["pr", "get", &number, "--repo", self.name]);
        assert!(shown.out.contains("Add instead of subtracting"), "{agent}: {shown}");

        let merged = fixture.house.lamp(&["pr", "merge", &task, "--yes"]);
        assert!(merged.succeeded(), "{agent}: {merged}");
        until(fixture, &task, "done");
        let text = std::fs::read_to_string(repository.join(self.file)).unwrap();
        assert!(text.contains(self.right), "{agent}: the work tree has the change: {text}");
    }
}

fn json(fixture: &Fixture, words: &[&str]) -> Value {
    let said = fixture.house.lamp(words);
    assert!(said.succeeded(), "{words:?}: {said}");
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{words:?}: {error}: {said}"))
}

/// Waits until the task stands there; one that stands elsewhere for good is a failure.
fn until(fixture: &Fixture, task: &str, wanted: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let told = json(fixture, &["get", task, "--json"]);
        if told["state"] == wanted {
            return told;
        }
        let is_stuck = ["failed", "paused", "cancelled", "waiting for an answer"]
            .iter()
            .any(|stuck| told["state"] == *stuck);
        assert!(!is_stuck && Instant::now() < end, "waiting for `{wanted}`: {told:#}");
        breathe();
    }
}
