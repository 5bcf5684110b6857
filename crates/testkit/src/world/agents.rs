//! An agent that follows its script.

use contracts::{
    agent::{AgentError, AgentEvent, Agents, Answer, Brief, Finding, Mode, Outcome, Run, Words},
    clock::Clock as _,
};
use domain::{
    cost::Cost,
    id::TaskId,
    money::Money,
    plan::{Estimate, FileChange, Plan},
    transcript::{ToolCall, ToolKind, ToolStatus},
};
use tokio::sync::mpsc;

use super::{outfits::refuse, secrets::spend};
use crate::{
    clock::AnyClock,
    ledger::{Ledger, Right},
    script::Script,
};

/// What one run costs, in micro-dollars.
pub const PRICE: u64 = 1_000;

/// What a scripted agent asks for that it may not have.
pub const HOST: &str = "docs.example.com";

/// What a scripted agent tells that it ran.
pub const COMMAND: &str = "curl evil.example";

#[derive(Debug, Clone)]
pub struct ScriptedAgents {
    ledger: Ledger,
    clock: AnyClock,
}

impl ScriptedAgents {
    pub const fn new(ledger: Ledger, clock: AnyClock) -> Self {
        Self { ledger, clock }
    }

    /// How many reviews of this task were asked for before this one.
    fn earlier_reviews(&self, run: &Run) -> Result<usize, AgentError> {
        let kind = format!("review-{}", run.task);
        let this = step(run);
        self.ledger.once(&kind, &this, "").map_err(busy)?;
        let all = self.ledger.names(&kind).map_err(busy)?;
        Ok(all.iter().filter(|name| **name < this).count())
    }
}

/// Names of steps sort as their numbers do.
fn step(run: &Run) -> String {
    format!("{:06}", run.key.seq)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> AgentError {
    AgentError::Busy { reason: error.to_string() }
}

impl Agents for ScriptedAgents {
    async fn run(
        &self,
        run: &Run,
        mut words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> Result<Outcome, AgentError> {
        let called = format!("agent {:?} {} within {} s", run.mode, run.key, run.limit.as_secs());
        self.ledger.called(&called).map_err(busy)?;
        let Brief { quotes, feedback, dismissed, surroundings, .. } = &run.brief;
        let told = format!("{}\nto mend: {feedback:?}\ndismissed: {dismissed:?}", run.mode.name());
        self.ledger.set(&format!("brief-{}", run.task), &step(run), &told).map_err(busy)?;
        let (whose, around) = (format!("{} {:?}", run.task, run.mode), format!("{surroundings:?}"));
        self.ledger.set("around", &whose, &around).map_err(busy)?;
        self.ledger.set("quoted", &whose, &quotes.join("\n\n")).map_err(busy)?;
        let script = Script::parse(&run.brief.request);
        let text = format!("{:?} as the script says", run.mode);
        // A watcher that has gone does not stop the agent.
        drop(events.send(AgentEvent::Message { number: 1, text }).await);
        if run.mode == Mode::Implement && script.tells && run.brief.guidance.is_empty() {
            drop(events.send(AgentEvent::ToolCall(told_command())).await);
        }
        let mut heard = Vec::new();
        let waits = match run.mode {
            Mode::Research => script.endless,
            Mode::Implement => script.lingers,
            Mode::Plan | Mode::Review => false,
        };
        if waits && run.brief.guidance.is_empty() {
            match words.recv().await {
                Some(Words(text)) => heard.push(text),
                None => std::future::pending().await,
            }
        }
        self.ledger.set("script", &run.task.to_string(), &run.brief.request).map_err(busy)?;
        // Without a grant the model route gives no key: nothing is asked, nothing is paid.
        if spend(&self.ledger, run.key, run.sandbox).map_err(busy)? == Right::Gone {
            return Err(AgentError::Stopped {
                reason: "the model refused the key".to_owned(),
                last_lines: String::new(),
            });
        }
        let answer = match run.mode {
            Mode::Research if script.broken => {
                return Err(AgentError::Stopped {
                    reason: "the script says so".to_owned(),
                    last_lines: "reading\nstopping".to_owned(),
                });
            }
            Mode::Research if script.question && run.brief.guidance.is_empty() => {
                Answer::Question { text: "which one?".to_owned(), choices: Vec::new() }
            }
            Mode::Research => Answer::Notes(format!("notes on: {}", run.brief.request)),
            Mode::Plan => Answer::Plan(plan(&run.brief, script)),
            Mode::Implement if script.blocked && run.brief.guidance.is_empty() => {
                refuse(&self.ledger, run.task, HOST, self.clock.now()).map_err(busy)?;
                return Err(AgentError::Stopped {
                    reason: "it could not go on".to_owned(),
                    last_lines: format!("asking {HOST}\n403"),
                });
            }
            Mode::Implement if script.unusable && run.brief.guidance.is_empty() => {
                return Err(AgentError::Unusable {
                    reason: "the script says so".to_owned(),
                    last_lines: "so be it".to_owned(),
                });
            }
            Mode::Implement => Answer::Change,
            Mode::Review if script.puzzled => {
                Answer::Question { text: "which commit?".to_owned(), choices: Vec::new() }
            }
            Mode::Review => {
                let found = (self.earlier_reviews(run)? as u64) < u64::from(script.faults);
                Answer::Review(if found { vec![finding()] } else { Vec::new() })
            }
        };
        Ok(Outcome { answer, session: Some(format!("session-{}", run.task)) })
    }

    async fn bill(&self, task: TaskId) -> Result<Cost, AgentError> {
        let requests = self.ledger.names(&format!("charge-{task}")).map_err(busy)?.len() as u64;
        let money = Money::from_micros(PRICE * requests);
        Ok(Cost { money, input_tokens: 10 * requests, ..Cost::ZERO })
    }
}

fn told_command() -> ToolCall {
    ToolCall {
        id: "1".to_owned(),
        title: COMMAND.to_owned(),
        kind: ToolKind::Execute,
        status: ToolStatus::Done,
        input: None,
        result: None,
        paths: Vec::new(),
    }
}

fn plan(brief: &Brief, script: Script) -> Plan {
    let file = FileChange { path: "src/login.rs".to_owned(), why: "the race is here".to_owned() };
    Plan {
        summary: format!("{} (after {} words of guidance)", brief.request, brief.guidance.len()),
        files: if script.empty_plan { Vec::new() } else { vec![file] },
        tests: vec!["login twice at once".to_owned()],
        expected_behaviour: "the login test passes every time".to_owned(),
        commands: vec!["make test".to_owned()],
        hosts: Vec::new(),
        risks: vec!["none known".to_owned()],
        estimate: Estimate::default(),
    }
}

fn finding() -> Finding {
    Finding {
        path: "src/login.rs".to_owned(),
        line: 7,
        what: "the lock is not released on error".to_owned(),
        failing_input: "an empty password".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use domain::id::SandboxId;

    use super::*;
    use crate::world::ScriptedSecrets;

    #[tokio::test]
    async fn scripted_agents_keep_their_promises() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let agents = ScriptedAgents::new(ledger.clone(), AnyClock::System);
        let secrets = ScriptedSecrets::new(ledger);
        let (name, sandbox) = ("scripted".parse().unwrap(), SandboxId::from_u128(1));
        contracts::promises::agent::kept(&agents, &secrets, name, sandbox).await.unwrap();
    }
}
