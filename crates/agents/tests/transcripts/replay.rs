//! Our drivers against the recorded programs: they must still say what they said when it was recorded.
//!
//! So whoever changes what a driver says has to record again, and what is held against the schema is what is said today. Prompts are
//! left out: they are the templates'. So is `steer`, in which somebody speaks at a moment that no transcript can give.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use agents::{Crew, Limits, Parts, Post, Roster, brief::Templates};
use contracts::{
    Key,
    agent::{AgentError, Brief, Exchanges, Mode, ModelMeter, Run},
    sandbox::{
        CommandName, Cut, Ended, Exec, FileAsk, Finished, Input, Output, Owner, SandboxError,
        Sandboxes, Streams, Transfer,
    },
};
use domain::{
    cost::Cost,
    id::{SandboxId, TaskId},
    money::Money,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{Line, Transcript, transcripts};

#[tokio::test]
async fn our_drivers_still_say_what_was_recorded() {
    for transcript in transcripts().into_iter().filter(|it| it.scenario != "steer") {
        let what = format!("{} {}", transcript.program.name, transcript.scenario);
        let player = Arc::new(Player::new(transcript));
        play(&player).await;
        let left = player.left.lock().unwrap();
        let said: Vec<&Value> = left.iter().filter_map(Line::said).collect();
        assert!(said.is_empty(), "{what}: it was not said: {said:?}");
        let wrong = player.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{what}: {}", wrong.join("\n"));
    }
}

async fn play(player: &Arc<Player>) {
    let directory = tempfile::tempdir().unwrap();
    let crew = Crew::open(Parts {
        sandboxes: Arc::clone(player),
        meter: Arc::new(Generous::default()),
        roster: Nobody,
        templates: Templates::builtin().unwrap(),
        directory: directory.path().to_owned(),
        limits: Limits::default(),
        builtin: &[],
    })
    .unwrap();
    let post = Post {
        program: player.program,
        model: "scripted-model".to_owned(),
        endpoint: None,
        command: None,
    };
    let task = TaskId::from_u128(0);
    let run = Run {
        key: Key { task, seq: 0, part: "agent", number: 0 },
        task,
        sandbox: SandboxId::from_u128(0),
        agent: "recorder".parse().unwrap(),
        mode: if player.scenario == "reading" { Mode::Research } else { Mode::Implement },
        directories: vec!["/workspace/project".to_owned()],
        base: None,
        brief: Brief::default(),
        session: (player.scenario == "resume").then(|| "id-1".to_owned()),
        limit: std::time::Duration::from_mins(1),
        budget: Money::ZERO,
    };
    let (_say, words) = mpsc::channel(1);
    let (tell, mut told) = mpsc::channel(16);
    let listening = async { while told.recv().await.is_some() {} };
    let (_outcome, ()) = tokio::join!(crew.run_once(&run, &post, words, tell), listening);
}

/// Says what a program said, and looks at what it is told.
#[derive(Debug)]
struct Player {
    program: &'static agents::Program,
    scenario: &'static str,
    left: Mutex<Vec<Line>>,
    wrong: Mutex<Vec<String>>,
}

impl Player {
    fn new(transcript: Transcript) -> Self {
        let mut left = transcript.lines;
        left.reverse();
        Self {
            program: transcript.program,
            scenario: transcript.scenario,
            left: Mutex::new(left),
            wrong: Mutex::default(),
        }
    }

    /// The next line of this process.
    fn next(&self) -> Option<Line> {
        let mut left = self.left.lock().unwrap();
        match left.last() {
            Some(Line::Start) | None => None,
            Some(Line::Said(_) | Line::Heard(_)) => left.pop(),
        }
    }

    fn compare(&self, wanted: &Value, said: Option<Input>) {
        let said = match said {
            Some(Input::Bytes(bytes)) => String::from_utf8(bytes).unwrap(),
            other => format!("{other:?}"),
        };
        let said = serde_json::from_str(&said).unwrap_or(Value::from(said));
        let (wanted, said) = (without_prompt(wanted), without_prompt(&said));
        if wanted != said {
            self.wrong.lock().unwrap().push(format!("{wanted} was said, and now {said}"));
        }
    }
}

/// All but what the templates say, and our own version.
fn without_prompt(said: &Value) -> Value {
    let mut said = said.clone();
    if said.is_string() {
        return Value::from("a prompt");
    }
    let places = ["/params/prompt/0/text", "/message/content/0/text", "/params/clientInfo/version"];
    for at in places {
        if let Some(text) = said.pointer_mut(at) {
            *text = Value::from("some text");
        }
    }
    said
}

impl Sandboxes for Player {
    async fn exec(
        &self,
        _sandbox: SandboxId,
        name: &CommandName,
        command: &Exec,
        mut streams: Streams,
    ) -> Result<Finished, SandboxError> {
        let done = Finished { ending: Ended::Exited(0), cut: Cut::Whole, cost: Cost::ZERO };
        let number = name.as_str().rsplit('/').next().map(str::parse::<u32>);
        if !matches!(number, Some(Ok(_))) || command.argv.first().is_some_and(|it| it == "mkdir") {
            return Ok(done);
        }
        let start = self.left.lock().unwrap().pop();
        assert!(matches!(start, Some(Line::Start)), "{name}: one process too many");
        while let Some(line) = self.next() {
            match line {
                Line::Said(wanted) => self.compare(&wanted, streams.input.recv().await),
                Line::Heard(heard) => {
                    let bytes = (heard.to_string() + "\n").into_bytes();
                    // What comes after the answer is for nobody.
                    if streams.output.send(Output::Out(bytes)).await.is_err() {
                        break;
                    }
                }
                Line::Start => break,
            }
        }
        Ok(done)
    }

    async fn file(
        &self,
        _sandbox: SandboxId,
        ask: &FileAsk,
        mut streams: Streams,
    ) -> Result<Transfer, SandboxError> {
        while let Some(Input::Bytes(_)) = streams.input.recv().await {}
        match ask {
            FileAsk::Write { .. } => Ok(Transfer::Done),
            other @ (FileAsk::Stat { .. }
            | FileAsk::List { .. }
            | FileAsk::Read { .. }
            | FileAsk::TarOut { .. }
            | FileAsk::TarIn { .. }) => panic!("{other:?}"),
        }
    }

    contracts::never_asked!();
}

/// Has always seen one more answer.
#[derive(Debug, Default)]
struct Generous(AtomicU64);

impl ModelMeter for Generous {
    fn used_by(&self, _owner: &Owner) -> Cost {
        Cost::ZERO
    }

    fn exchanges(&self, _sandbox: SandboxId) -> Exchanges {
        Exchanges { answered: self.0.fetch_add(1, Ordering::Relaxed), ..Exchanges::default() }
    }
}

struct Nobody;

impl Roster for Nobody {
    fn post(&self, _run: &Run) -> Result<Post, AgentError> {
        unreachable!()
    }
}
