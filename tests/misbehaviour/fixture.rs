//! What the tests share: a house with a model, sandboxes in it, and what `lamp agent run` told.

use std::{
    collections::BTreeSet,
    fmt,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use testkit::model::Model;
use tests::internet::{House, Internet, Plan};
use unsupported::supported;

/// Everything that a hostile agent does, by name.
const HOSTILE: &str = include_str!("hostile.py");

/// Where it is, inside.
pub(crate) const PLACE: &str = "/home/lamp/hostile.py";

/// The host of the scripted model.
pub(crate) const HOST: &str = "api.anthropic.com";

/// What the company pays with. Nothing that any row prints may have it.
pub(crate) const KEY: &str = "sk-ant-the-companys-own-key";

pub(crate) const POLICY: &str = "version: 1\negress: { implement: { allow: [model:anthropic] }, research: { allow: [model:anthropic] } }\n";

/// A server with a model, whose agents are taken for hung after three seconds, and may say 24 MiB.
pub(crate) const SERVER: &str = "version: 1\nsandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }\ndefaults: { silence: 3s, output: 24MiB }\n\
    models:\n  - { name: anthropic, provider: anthropic, secret: KEY }\n";

/// How long what was stopped may take to be gone. An agent that is cancelled is gone in two seconds, which `tests/agents` shows; a fork bomb shares
/// its core with whoever ends it, and that on a machine that does ten other things.
pub(crate) const GONE: Duration = Duration::from_secs(20);

/// A house, and the model that its agents ask.
#[derive(Debug)]
pub(crate) struct Fixture<'a> {
    pub(crate) internet: &'a Internet,
    /// Behind a lock because several rows are played at once. Nobody holds it while a command runs.
    house: Mutex<House<'a>>,
    pub(crate) model: Model,
    /// Sandboxes that there are already.
    made: Mutex<BTreeSet<String>>,
}

/// Plays on a fixture, or says why this host has none.
pub(crate) fn on_stage(server: &str, act: impl FnOnce(&Fixture<'_>)) {
    let internet = supported!(Internet::build());
    let model = Model::new();
    internet.model(HOST, &model);
    let plan = Plan { server: server.to_owned(), ..Plan::new(POLICY) };
    let house = House::start_with(&internet, &plan);
    let set = house.lamp_reading(&["secret", "set", "KEY", "--host", HOST], KEY.as_bytes());
    assert!(set.succeeded(), "{set}");
    house.write("hostile.py", HOSTILE);
    let fixture =
        Fixture { internet: &internet, house: Mutex::new(house), model, made: Mutex::default() };
    act(&fixture);
}

impl<'a> Fixture<'a> {
    /// Does something quick with the house.
    pub(crate) fn house<T>(&self, ask: impl FnOnce(&House<'a>) -> T) -> T {
        ask(&self.house.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `lamp` with these words, to its end.
    pub(crate) fn lamp(&self, words: &[&str]) -> Output {
        self.house(|house| house.command(words)).output().unwrap()
    }

    /// A sandbox that reaches the model, with everything hostile in it. One that is there already stays as it is.
    pub(crate) fn sandbox(&self, name: &str, words: &[&str]) {
        let is_new =
            self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if !is_new {
            return;
        }
        let all = [&["sandbox", "create", name, "--allow", "model:anthropic"], words].concat();
        let made = self.lamp(&all);
        assert!(made.status.success(), "{made:?}");
        let from = self.house(|house| house.path().join("hostile.py"));
        let pushed =
            self.lamp(&["sandbox", "cp", from.to_str().unwrap(), &format!("{name}:{PLACE}")]);
        assert!(pushed.status.success(), "{pushed:?}");
    }

    /// `lamp agent run` with these words, to be started.
    pub(crate) fn agent(&self, sandbox: &str, words: &[&str]) -> Command {
        let all = [&["agent", "run", "--json", "--sandbox", sandbox], words].concat();
        let mut command = self.house(|house| house.command(&all));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Where the server keeps its files.
    pub(crate) fn data(&self) -> String {
        self.house(|house| house.path().join("data").display().to_string())
    }

    /// Where the server's socket is.
    pub(crate) fn socket(&self) -> PathBuf {
        self.house(|house| house.path().join("run/lamp.sock"))
    }

    /// What still runs inside after the time in which all of a run has to be gone.
    pub(crate) fn left(&self, sandbox: &str) -> Vec<String> {
        until(GONE, || self.inside(sandbox), Vec::is_empty)
    }

    /// What runs inside, beside the first process and the one who looks.
    pub(crate) fn inside(&self, sandbox: &str) -> Vec<String> {
        let look =
            ["sandbox", "exec", "--user", "root", sandbox, "--", "ps", "-eo", "ppid=,pid=,args="];
        let said = self.lamp(&look);
        if !said.status.success() {
            // There may be no room for one who looks.
            return vec![String::from_utf8_lossy(&said.stderr).into_owned()];
        }
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let lines = said.lines().map(str::trim);
        let is_other = |line: &&str| !line.contains(" lamp-guest ") && !line.contains(" ps -eo ");
        lines.filter(is_other).map(str::to_owned).collect()
    }
}

/// What `look` sees as soon as it is right, or when the time is over.
pub(crate) fn until<T>(limit: Duration, look: impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> T {
    let end = Instant::now() + limit;
    loop {
        let seen = look();
        if is_right(&seen) || Instant::now() > end {
            return seen;
        }
    }
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    /// All that was told, one value for each line.
    pub(crate) told: Vec<Value>,
    pub(crate) errors: String,
    /// As it came.
    pub(crate) text: String,
}

impl Ran {
    pub(crate) fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { exit: output.status.code(), told, errors, text }
    }

    fn last(&self) -> &Value {
        self.told.last().unwrap_or(&Value::Null)
    }

    /// `finished`, or the code of the failure.
    pub(crate) fn ending(&self) -> &str {
        match self.last()["type"].as_str() {
            Some("failed") => self.last()["error"]["code"].as_str().unwrap_or_default(),
            Some(other) => other,
            None => "nothing",
        }
    }

    /// What a person is told about a failure.
    pub(crate) fn message(&self) -> &str {
        self.last()["error"]["message"].as_str().unwrap_or_default()
    }

    /// The last lines that the program said.
    pub(crate) fn log(&self) -> &str {
        self.last()["error"]["log"].as_str().unwrap_or_default()
    }

    /// The events of one kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<&Value> {
        let events = self.told.iter().filter_map(|it| it.get("event"));
        events.filter(|event| event["kind"] == kind).collect()
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last: String = self.last().to_string().chars().take(1500).collect();
        let errors: String = self.errors.chars().take(500).collect();
        write!(
            f,
            "exit {:?}, {} lines, the last: {last}; on stderr: {errors}",
            self.exit,
            self.told.len()
        )
    }
}
