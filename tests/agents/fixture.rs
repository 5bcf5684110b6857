//! A server with images of agents, a scripted model, and a small repository with a bug.

use std::{path::PathBuf, process::Command};

use serde_json::Value;
use testkit::model::{Model, serve};
use tests::internet::{OwnHouse, Plan, Said, declared, npm, program};

/// A worker without a model: it looks which phase it is in what it is told, and answers in a file.
const MENDER: &str = r#"lamp: { version: 1, name: mender }
agent:
  driver: command
  command: |
    read -r task
    answer() { printf '%s' "$1" > "$LAMP_ANSWER"; }
    case "$task" in
      *'"mode":"plan"'*) answer '{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "calc.py", "why": "it subtracts"}], "tests": [], "expected_behaviour": "2 and 3 is 5", "commands": [], "hosts": [], "risks": []}}' ;;
      *'"mode":"implement"'*) sed -i 's/a - b/a + b/' calc.py ;;
      *'"mode":"review"'*) answer '{"review": {"findings": []}}' ;;
      *) answer '{"notes": "it subtracts"}' ;;
    esac
sandbox: { repositories: [{ name: sample-python }] }
"#;

pub(crate) struct Fixture {
    pub(crate) house: OwnHouse,
    pub(crate) model: Model,
    /// Where the model listens, on this host.
    pub(crate) port: u16,
    repository: PathBuf,
}

/// What `lamp agent run --json` said.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) lines: Vec<Value>,
    pub(crate) said: Said,
}

impl Told {
    pub(crate) fn of(said: Said) -> Self {
        let lines = said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self { lines, said }
    }

    pub(crate) fn events(&self, kind: &str) -> Vec<&Value> {
        let events = self.lines.iter().map(|line| &line["event"]);
        events.filter(|event| event["kind"] == kind).collect()
    }

    /// All that it said, its messages joined.
    pub(crate) fn messages(&self) -> String {
        let texts = self.events("message").into_iter().filter_map(|it| it["text"].as_str());
        texts.collect()
    }

    /// The last line: how it ended.
    pub(crate) fn end(&self) -> &Value {
        self.lines.last().unwrap_or(&Value::Null)
    }

    pub(crate) fn answer(&self) -> &Value {
        &self.end()["answer"]
    }

    pub(crate) fn session(&self) -> String {
        self.end()["session"].as_str().unwrap_or_default().to_owned()
    }
}

impl Fixture {
    /// With data that are kept, for agents that have to be installed.
    pub(crate) fn build() -> Self {
        Self::with("agents-project", |plan| OwnHouse::start_on(&data(), plan))
    }

    /// With nothing in it, for agents that need no image.
    pub(crate) fn small(test: &str) -> Self {
        Self::with(&format!("agents-project-{test}"), OwnHouse::start)
    }

    fn with(project: &str, start: impl FnOnce(&Plan) -> OwnHouse) -> Self {
        let model = Model::new();
        let port = serve_in_the_background(model.clone());
        let models = [("anthropic", ""), ("openai", "/v1"), ("gemini", "")].map(|(name, path)| {
            format!(
                "  - {{ name: {name}, provider: {name}, url: 'http://localhost:{port}{path}', addresses: [127.0.0.1] }}\n"
            )
        });
        // For checks in Rust.
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let sysroot = String::from_utf8(sysroot.stdout).unwrap();
        let server = format!(
            "version: 1\nsandboxes: {{ warm: 0, disk_budget: 8GiB, disk_guaranteed: 256MiB, toolchains: ['{}'] }}\nmodels:\n{}",
            sysroot.trim(),
            models.concat()
        );
        let allow = "['model:anthropic', 'model:openai', 'model:gemini']";
        let phases = ["research", "implement", "review"]
            .map(|phase| format!("  {phase}: {{ allow: {allow} }}\n"));
        let policy = format!(
            "version: 1\negress:\n  setup: {{ allow: ['registry:npm'] }}\n{}{}",
            phases.concat(),
            declared(npm().iter())
        );
        // A toolchain is seen at its own place, and a check says where that is.
        let rust = format!(
            "lamp: {{ version: 1, name: rust-mender }}\nagent: {{ driver: opencode, model: model-of-opencode }}\n\
             sandbox: {{ repositories: [{{ name: sample-rust }}] }}\n\
             checks: [{{ name: tests, run: 'PATH={}/bin:$PATH cargo test --offline' }}]\n",
            sysroot.trim()
        );
        let agents =
            vec![("mender".to_owned(), MENDER.to_owned()), ("rust-mender".to_owned(), rust)];
        let house = start(&Plan { policy, server, agents });
        Self { house, model, port, repository: repository(project) }
    }

    /// `NAME=PATH`, as a sandbox wants it.
    pub(crate) fn repository(&self) -> String {
        format!("project={}", self.repository.display())
    }

    pub(crate) fn lamp(&self, words: &[&str]) -> Told {
        Told::of(self.house.lamp(words))
    }
}

/// Beside the build, so that images are found again, and go with it.
fn data() -> PathBuf {
    program().parent().unwrap().join("agents-house")
}

fn serve_in_the_background(model: Model) -> u16 {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().port()).unwrap();
            serve(listener, model).await.unwrap();
        });
    });
    told.recv().unwrap()
}

/// At one place and the same each time: a server knows a repository by its name, and its data are kept.
fn repository(name: &str) -> PathBuf {
    let directory = program().parent().unwrap().join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    let at = |name: &str| directory.join(name);
    std::fs::write(at("calc.py"), "def add(a, b):\n    return a - b\n").unwrap();
    std::fs::write(at("AGENTS.md"), "# Rules\n\nKeep it small.\n").unwrap();
    let script = "git init --quiet --initial-branch main && git add . && git -c user.name=Ann -c user.email=ann@example.com commit --quiet --message first";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(&directory)
        .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-01T00:00:00Z")))
        .status();
    assert!(made.unwrap().success());
    directory
}
