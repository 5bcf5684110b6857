//! Sandboxes that exist as files, and run nothing but what the script says.
//!
//! They know three commands: `exit CODE`, `echo WORDS`, and `cat`, which gives back what it is sent. Every
//! other command is a check of the first repository's commit. They keep the part of the promises that the
//! engine lives on; there are no processes, no ports and no images.

mod files;
mod record;

use std::collections::BTreeMap;

use contracts::sandbox::{
    BuildNews, Capabilities, CommandName, Cut, Ended, Exec, FileAsk, Finished, Image, Input,
    Listed, Output, Owner, Reading, Recipe, SandboxError, Sandboxes, Spec, Streams, Transfer,
};
use domain::{agent::Tier, cost::Cost, id::SandboxId};
use tokio::sync::mpsc;

use self::record::{Life, Record, owner_text};
use crate::{ledger::Ledger, script::Script};

/// The image that a scripted sandbox knows.
const IMAGE: &str = "host";
/// What a shell ends with where a program is missing: every check of a host that `lacks` something.
const COMMAND_NOT_FOUND: i32 = 127;
/// What opening one costs.
const PRICE: Cost = Cost { cpu_millis: 100, ..Cost::ZERO };

#[derive(Debug, Clone)]
pub struct ScriptedSandboxes {
    ledger: Ledger,
}

impl ScriptedSandboxes {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }

    fn record(&self, id: SandboxId) -> Option<Record> {
        serde_json::from_str(&self.ledger.read("sandbox", &id.to_string())?).ok()
    }

    fn existing(&self, id: SandboxId) -> Result<Record, SandboxError> {
        self.record(id).ok_or(SandboxError::NotFound { id })
    }

    /// The record of one that can do something.
    fn awake(&self, id: SandboxId) -> Result<Record, SandboxError> {
        let record = self.existing(id)?;
        match record.state {
            Life::Open | Life::Frozen => Ok(record),
            Life::Resting => Err(SandboxError::Resting { id }),
        }
    }

    fn is_destroyed(&self, id: SandboxId) -> bool {
        self.ledger.read("tombstone", &id.to_string()).is_some()
    }

    fn write(&self, id: SandboxId, record: &Record) -> Result<(), SandboxError> {
        let text = serde_json::to_string(record)
            .map_err(|error| SandboxError::Busy { reason: error.to_string() })?;
        self.ledger.set("sandbox", &id.to_string(), &text).map_err(busy)
    }

    /// What cannot be opened, whoever asks.
    async fn check(&self, spec: &Spec) -> Result<(), SandboxError> {
        if self.is_destroyed(spec.id) {
            return Err(SandboxError::Destroyed { id: spec.id });
        }
        if spec.image != IMAGE {
            let reason = "it is not in the script".to_owned();
            return Err(SandboxError::Image { image: spec.image.clone(), reason });
        }
        if spec.tier != Tier::Standard {
            let reason = "it is not in the script".to_owned();
            return Err(SandboxError::TierMissing { tier: spec.tier, reason });
        }
        spec.compute.check().map_err(|reason| SandboxError::Limit { reason })?;
        let Some(name) = &spec.name else { return Ok(()) };
        let listed = self.list().await?;
        let taken = listed.iter().find(|it| it.id != spec.id && it.name.as_ref() == Some(name));
        match taken {
            None => Ok(()),
            Some(it) => Err(SandboxError::NameTaken { name: name.to_string(), id: it.id }),
        }
    }

    /// What a check of this commit ends with: the script knows which changes are still red.
    fn exit_code(&self, record: &Record, command: &Exec) -> i32 {
        let script = command.argv.last().map_or("", String::as_str);
        if let Some(code) = script.strip_prefix("exit ") {
            return code.parse().unwrap_or(1);
        }
        if self.ledger.read("host", "lacks").is_some() {
            return COMMAND_NOT_FOUND;
        }
        let Some(change) = self.ledger.read("commit", &record.commit) else { return 0 };
        let (number, text) = change.split_once(' ').unwrap_or_default();
        let number: u32 = number.parse().unwrap_or_default();
        i32::from(number <= Script::parse(text).red)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> SandboxError {
    SandboxError::Busy { reason: error.to_string() }
}

fn not_in_the_script() -> SandboxError {
    SandboxError::Unsupported { reason: "it is not in the script".to_owned() }
}

impl Sandboxes for ScriptedSandboxes {
    fn capabilities(&self) -> Capabilities {
        let reason = || "it is not in the script".to_owned();
        Capabilities {
            tiers: vec![Tier::Standard],
            missing: BTreeMap::from([(Tier::Verified, reason()), (Tier::Untrusted, reason())]),
            weaker: Vec::new(),
        }
    }

    async fn open(&self, spec: &Spec) -> Result<(), SandboxError> {
        self.ledger.called(&format!("open {}", spec.id)).map_err(busy)?;
        self.check(spec).await?;
        // The meter first: whoever finds the sandbox finds what it costs.
        let meter = format!("meter-{}", owner_text(&spec.owner));
        self.ledger.once(&meter, &spec.id.to_string(), "").map_err(busy)?;
        self.write(spec.id, &Record::new(spec))?;
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
        name: &CommandName,
        command: &Exec,
        mut streams: Streams,
    ) -> Result<Finished, SandboxError> {
        let record = self.existing(sandbox)?;
        self.write(sandbox, &Record { state: Life::Open, ..record.clone() })?;
        self.ledger.called(&format!("exec {name}")).map_err(busy)?;
        let code = self.exit_code(&record, command).to_string();
        let name = format!("{sandbox}/{name}");
        let code = self.ledger.once("exec", &name, &code).map_err(busy)?;
        let code: i32 = code.parse().unwrap_or(1);
        let script = command.argv.last().map_or("", String::as_str);
        if script == "cat" {
            while let Some(input) = streams.input.recv().await {
                match input {
                    // A reader that has gone does not stop the command.
                    Input::Bytes(bytes) => drop(streams.output.send(Output::Out(bytes)).await),
                    Input::Signal(signal) => {
                        let ending = Ended::Killed { signal };
                        return Ok(Finished { ending, cut: Cut::Whole, cost: Cost::ZERO });
                    }
                    Input::Resize(_) => {}
                    Input::End => break,
                }
            }
        } else {
            let said = match script.strip_prefix("echo ") {
                Some(words) => format!("{words}\n"),
                None => format!("the scripted check ended with {code}\n"),
            };
            drop(streams.output.send(Output::Out(said.into_bytes())).await);
        }
        Ok(Finished { ending: Ended::Exited(code), cut: Cut::Whole, cost: Cost::ZERO })
    }

    async fn file(
        &self,
        sandbox: SandboxId,
        ask: &FileAsk,
        streams: Streams,
    ) -> Result<Transfer, SandboxError> {
        self.awake(sandbox)?;
        files::file(&self.ledger, sandbox, ask, streams).await
    }

    async fn forward(
        &self,
        sandbox: SandboxId,
        _port: u16,
        _streams: Streams,
    ) -> Result<(), SandboxError> {
        self.awake(sandbox)?;
        Err(not_in_the_script())
    }

    async fn freeze(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.ledger.called(&format!("freeze {sandbox}")).map_err(busy)?;
        let record = self.awake(sandbox)?;
        self.write(sandbox, &Record { state: Life::Frozen, ..record })
    }

    async fn thaw(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.ledger.called(&format!("thaw {sandbox}")).map_err(busy)?;
        let record = self.awake(sandbox)?;
        self.write(sandbox, &Record { state: Life::Open, ..record })
    }

    async fn rest(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.ledger.called(&format!("rest {sandbox}")).map_err(busy)?;
        let record = self.existing(sandbox)?;
        self.write(sandbox, &Record { state: Life::Resting, ..record })
    }

    async fn fork(&self, from: SandboxId, spec: &Spec) -> Result<(), SandboxError> {
        self.ledger.called(&format!("fork {from} {}", spec.id)).map_err(busy)?;
        self.existing(from)?;
        self.open(spec).await?;
        let (old, new) = (format!("file-{from}"), format!("file-{}", spec.id));
        for name in self.ledger.names(&old).map_err(busy)? {
            let content = self.ledger.read(&old, &name).unwrap_or_default();
            self.ledger.set(&new, &name, &content).map_err(busy)?;
        }
        Ok(())
    }

    async fn destroy(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.ledger.called(&format!("destroy {sandbox}")).map_err(busy)?;
        self.ledger.once("tombstone", &sandbox.to_string(), "").map_err(busy)?;
        self.ledger.remove("sandbox", &sandbox.to_string()).map_err(busy)
    }

    async fn stats(&self, sandbox: SandboxId) -> Result<Reading, SandboxError> {
        self.existing(sandbox)?;
        Ok(Reading { cost: PRICE, ..Reading::default() })
    }

    async fn bill(&self, owner: &Owner) -> Result<Cost, SandboxError> {
        let meters = self.ledger.names(&format!("meter-{}", owner_text(owner))).map_err(busy)?;
        Ok(meters.iter().fold(Cost::ZERO, |bill, _| bill + PRICE))
    }

    async fn list(&self) -> Result<Vec<Listed>, SandboxError> {
        let names = self.ledger.names("sandbox").map_err(busy)?;
        let listed = |name: String| {
            let id = name.parse().ok()?;
            self.record(id)?.listed(id)
        };
        Ok(names.into_iter().filter_map(listed).collect())
    }

    async fn prepare_image(
        &self,
        _recipe: &Recipe,
        _news: mpsc::Sender<BuildNews>,
    ) -> Result<Image, SandboxError> {
        Err(not_in_the_script())
    }

    async fn images(&self) -> Result<Vec<Image>, SandboxError> {
        Ok(Vec::new())
    }

    async fn prune_images(&self, _keep_bytes: u64) -> Result<Vec<Image>, SandboxError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn scripted_sandboxes_keep_the_promises_that_the_engine_lives_on() {
        let directory = tempfile::tempdir().unwrap();
        let sandboxes = ScriptedSandboxes::new(Ledger::open(directory.path()).unwrap());
        let first = SandboxId::from_u128(100);
        contracts::promises::sandbox::kept_by_scripts(&sandboxes, first, IMAGE).await.unwrap();
    }
}
