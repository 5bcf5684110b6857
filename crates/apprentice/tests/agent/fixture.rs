//! The agent as a process, and a client that speaks with it.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use agent_client_protocol_schema::v1;
use serde_json::{Value, json};

use crate::model::{Language, Model, Play};

/// Longer than anything here takes, on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

const NOBODY: u32 = 65534;

/// A tree, a home, and the variables for an agent.
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    pub(crate) model: Model,
    pub(crate) variables: BTreeMap<String, String>,
}

impl Fixture {
    pub(crate) fn new(plays: Vec<Play>) -> Self {
        Self::of(Language::Anthropic, plays)
    }

    pub(crate) fn of(language: Language, plays: Vec<Play>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let model = Model::start(language, plays);
        std::fs::create_dir(directory.path().join("tree")).unwrap();
        let home = directory.path().join("home").to_string_lossy().into_owned();
        let url = format!("http://127.0.0.1:{}/{}", model.port, language.name());
        let variables = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", home),
            ("LAMP_MODEL_FORMAT", language.name().to_owned()),
            ("LAMP_MODEL_URL", url),
            ("LAMP_MODEL", "scripted".to_owned()),
            ("LAMP_MODEL_KEY", "token-of-this-run".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into();
        Self { directory, model, variables }
    }

    pub(crate) fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.variables.insert(name.to_owned(), value.to_string());
        self
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.tree().join(path), text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.tree().join(path)).unwrap()
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.directory.path().join("home/.lamp-agent/sessions")
    }

    pub(crate) fn start(&self) -> Agent {
        Agent::start(Command::new(env!("CARGO_BIN_EXE_lamp-agent")), &self.variables)
    }

    /// As a user who is not root, with a copy that such a user can reach.
    pub(crate) fn begin_as_nobody(&self) -> Agent {
        let copy = self.directory.path().join("lamp-agent");
        std::fs::copy(env!("CARGO_BIN_EXE_lamp-agent"), &copy).unwrap();
        let mut command = Command::new(&copy);
        if rustix::process::getuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
            for path in [self.directory.path(), &self.tree()] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let mut agent = Agent::start(command, &self.variables);
        agent.introduce();
        agent.new_session(&self.tree());
        agent
    }

    /// An agent with a session.
    pub(crate) fn begin(&self) -> Agent {
        let mut agent = self.start();
        agent.introduce();
        agent.new_session(&self.tree());
        agent
    }
}

/// A running agent.
pub(crate) struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
    next: u64,
    pub(crate) session: String,
}

/// What came of a prompt.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) updates: Vec<Value>,
    pub(crate) answer: Result<Value, Value>,
}

impl Agent {
    fn start(mut command: Command, variables: &BTreeMap<String, String>) -> Self {
        let mut process = command
            .env_clear()
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("what it says is UTF-8");
                let value = serde_json::from_str(&line).expect("what it says is JSON");
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        let input = process.stdin.take();
        Self { process, input, lines, next: 0, session: String::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Any bytes at all.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": parameters });
        self.write(format!("{message}\n").as_bytes());
        self.next
    }

    pub(crate) fn notify(&mut self, method: &str, parameters: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": parameters });
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn next_line(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line in time");
        assert_eq!(line["jsonrpc"], "2.0");
        if line["method"] == "session/update" {
            // The protocol's own types understand it.
            let told: Result<v1::SessionNotification, _> =
                serde_json::from_value(line["params"].clone());
            told.unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        line
    }

    /// Listens until `id` is answered.
    pub(crate) fn listen(&mut self, id: u64) -> Turn {
        let mut updates = Vec::new();
        loop {
            let mut line = self.next_line();
            if line["method"] == "session/update" {
                updates.push(line["params"]["update"].take());
                continue;
            }
            assert_eq!(line["id"], id, "{line}");
            let answer = match line.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(line["result"].take()),
            };
            return Turn { updates, answer };
        }
    }

    pub(crate) fn request(&mut self, method: &str, parameters: &Value) -> Turn {
        let id = self.send(method, parameters);
        self.listen(id)
    }

    pub(crate) fn introduce(&mut self) {
        let parameters = json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false } });
        let answer = self.request("initialize", &parameters).answer.unwrap();
        let _understood: v1::InitializeResponse = serde_json::from_value(answer).unwrap();
    }

    pub(crate) fn new_session(&mut self, tree: &Path) {
        let turn = self.request("session/new", &json!({ "cwd": tree, "mcpServers": [] }));
        let answer = turn.answer.unwrap();
        let _understood: v1::NewSessionResponse = serde_json::from_value(answer.clone()).unwrap();
        answer["sessionId"].as_str().unwrap().clone_into(&mut self.session);
    }

    pub(crate) fn take_up(&mut self, method: &str, session: &str, tree: &Path) -> Turn {
        session.clone_into(&mut self.session);
        let parameters = json!({ "sessionId": session, "cwd": tree, "mcpServers": [] });
        self.request(method, &parameters)
    }

    pub(crate) fn ask(&mut self, text: &str) -> u64 {
        let parameters =
            json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        self.send("session/prompt", &parameters)
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Turn {
        let id = self.ask(text);
        let turn = self.listen(id);
        if let Ok(answer) = &turn.answer {
            let _understood: v1::PromptResponse = serde_json::from_value(answer.clone()).unwrap();
        }
        turn
    }

    pub(crate) fn cancel(&mut self) {
        let parameters = json!({ "sessionId": self.session });
        self.notify("session/cancel", &parameters);
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes its input, and waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.close_input();
        let begun = Instant::now();
        let status = self.process.wait().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?} to end", begun.elapsed());
        status
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input = None;
        // It may have ended already.
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

impl Turn {
    pub(crate) fn reason(&self) -> &str {
        match &self.answer {
            Ok(answer) => answer["stopReason"].as_str().unwrap(),
            Err(error) => panic!("the turn failed: {error}"),
        }
    }

    pub(crate) fn failure(&self) -> &Value {
        match &self.answer {
            Ok(answer) => panic!("the turn did not fail: {answer}"),
            Err(error) => error,
        }
    }

    pub(crate) fn kind(&self) -> &str {
        self.failure()["data"]["kind"].as_str().unwrap()
    }

    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// What the agent said, all of it.
    pub(crate) fn text(&self) -> String {
        let chunks = self.of("agent_message_chunk");
        chunks.iter().map(|chunk| chunk["content"]["text"].as_str().unwrap()).collect()
    }

    /// What came of the calls: status and text.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let told = self.of("tool_call_update");
        let pair = |update: &&Value| {
            let text = update["content"][0]["content"]["text"].as_str().unwrap();
            (update["status"].as_str().unwrap().to_owned(), text.to_owned())
        };
        told.iter().map(pair).collect()
    }
}

/// Waits until it is so; how long it took.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    begun.elapsed()
}
