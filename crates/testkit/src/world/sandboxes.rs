//! Sandboxes that exist as files, and run nothing but what the script says.

use std::collections::BTreeMap;

use contracts::{
    Key,
    sandbox::{
        Capabilities, Cut, Ended, Exec, Finished, Listed, Output, SandboxError, Sandboxes, Spec,
        State, Streams,
    },
};
use domain::{
    agent::Tier,
    cost::Cost,
    id::{SandboxId, TaskId},
};

use crate::{ledger::Ledger, script::Script};

/// The image that a scripted sandbox knows.
const IMAGE: &str = "host";

#[derive(Debug, Clone)]
pub struct ScriptedSandboxes {
    ledger: Ledger,
}

impl ScriptedSandboxes {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }

    fn record(&self, id: SandboxId) -> Option<Record> {
        Record::parse(&self.ledger.read("sandbox", &id.to_string())?)
    }

    fn is_destroyed(&self, id: SandboxId) -> bool {
        self.ledger.read("tombstone", &id.to_string()).is_some()
    }

    fn write(&self, id: SandboxId, record: &Record) -> Result<(), SandboxError> {
        self.ledger.set("sandbox", &id.to_string(), &record.to_string()).map_err(busy)
    }

    /// What a check of this commit ends with: the script knows which changes are still red.
    fn exit_code(&self, record: &Record, command: &Exec) -> i32 {
        let script = command.argv.last().map_or("", String::as_str);
        if let Some(code) = script.strip_prefix("exit ") {
            return code.parse().unwrap_or(1);
        }
        let Some(change) = self.ledger.read("commit", &record.commit) else { return 0 };
        let (number, text) = change.split_once(' ').unwrap_or_default();
        let number: u32 = number.parse().unwrap_or_default();
        i32::from(number <= Script::parse(text).red)
    }
}

/// One sandbox, as a line of text.
struct Record {
    owner: TaskId,
    state: State,
    commit: String,
}

impl Record {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let owner = words.next()?.parse().ok()?;
        let state = match words.next()? {
            "open" => State::Open,
            _resting => State::Resting,
        };
        Some(Self { owner, state, commit: words.next().unwrap_or_default().to_owned() })
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::Open => "open",
            State::Resting => "resting",
        };
        write!(f, "{} {state} {}", self.owner, self.commit)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> SandboxError {
    SandboxError::Busy { reason: error.to_string() }
}

impl Sandboxes for ScriptedSandboxes {
    fn capabilities(&self) -> Capabilities {
        Capabilities { tiers: vec![Tier::Standard], missing: BTreeMap::new() }
    }

    async fn open(&self, spec: &Spec) -> Result<(), SandboxError> {
        self.ledger.called(&format!("open {}", spec.id)).map_err(busy)?;
        if self.is_destroyed(spec.id) {
            return Err(SandboxError::Destroyed { id: spec.id });
        }
        if spec.image != IMAGE {
            let reason = "it is not in the script".to_owned();
            return Err(SandboxError::Image { image: spec.image.clone(), reason });
        }
        let commit = spec.sources.first().map(|source| source.commit.to_string());
        let record =
            Record { owner: spec.owner, state: State::Open, commit: commit.unwrap_or_default() };
        self.write(spec.id, &record)?;
        let meter = format!("meter-{}", spec.owner);
        self.ledger.once(&meter, &spec.id.to_string(), "100").map_err(busy)?;
        // Destroyed while it was being opened: then it goes again at once.
        if self.is_destroyed(spec.id) {
            self.ledger.remove("sandbox", &spec.id.to_string()).map_err(busy)?;
            return Err(SandboxError::Destroyed { id: spec.id });
        }
        Ok(())
    }

    async fn exec(
        &self,
        sandbox: SandboxId,
        key: Key,
        command: &Exec,
        streams: Streams,
    ) -> Result<Finished, SandboxError> {
        let record = self.record(sandbox).ok_or(SandboxError::NotFound { id: sandbox })?;
        self.ledger.called(&format!("exec {key}")).map_err(busy)?;
        let code = self.exit_code(&record, command).to_string();
        let name = format!("{sandbox}/{key}");
        let code = self.ledger.once("exec", &name, &code).map_err(busy)?;
        let code: i32 = code.parse().unwrap_or(1);
        let said = match command.argv.last().and_then(|script| script.strip_prefix("echo ")) {
            Some(words) => format!("{words}\n"),
            None => format!("the scripted check ended with {code}\n"),
        };
        // A reader that has gone does not stop the command.
        drop(streams.output.send(Output::Out(said.into_bytes())).await);
        Ok(Finished { ending: Ended::Exited(code), cut: Cut::Whole, cost: Cost::ZERO })
    }

    async fn rest(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.ledger.called(&format!("rest {sandbox}")).map_err(busy)?;
        let record = self.record(sandbox).ok_or(SandboxError::NotFound { id: sandbox })?;
        self.write(sandbox, &Record { state: State::Resting, ..record })
    }

    async fn destroy(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.ledger.called(&format!("destroy {sandbox}")).map_err(busy)?;
        self.ledger.once("tombstone", &sandbox.to_string(), "").map_err(busy)?;
        self.ledger.remove("sandbox", &sandbox.to_string()).map_err(busy)
    }

    async fn bill(&self, owner: TaskId) -> Result<Cost, SandboxError> {
        let meters = self.ledger.names(&format!("meter-{owner}")).map_err(busy)?;
        Ok(Cost { cpu_millis: 100 * meters.len() as u64, ..Cost::ZERO })
    }

    async fn list(&self) -> Result<Vec<Listed>, SandboxError> {
        let names = self.ledger.names("sandbox").map_err(busy)?;
        let listed = |name: String| {
            let id = name.parse().ok()?;
            let Record { owner, state, .. } = self.record(id)?;
            Some(Listed { id, owner, state })
        };
        Ok(names.into_iter().filter_map(listed).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn scripted_sandboxes_keep_their_promises() {
        let directory = tempfile::tempdir().unwrap();
        let sandboxes = ScriptedSandboxes::new(Ledger::open(directory.path()).unwrap());
        let first = SandboxId::from_u128(100);
        contracts::promises::sandbox::kept(&sandboxes, first, IMAGE).await.unwrap();
    }
}
