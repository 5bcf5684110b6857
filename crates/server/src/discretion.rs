//! Values of secrets in what the server passes on: taken out of output, refusals and its own log; and given to one process, by an explicit word.

use std::{
    borrow::Cow,
    io,
    sync::{Arc, OnceLock},
};

use contracts::{
    clock::{Clock as _, SystemClock},
    sandbox::Listed,
    secret::{ExposeError, SecretName, SecretValue},
};
use domain::{agent::Tier, time::Timestamp};
use futures::future::BoxFuture;
use gateway::sockets::{Cleaned, Exposing, NotCleaned, Values};
use secrets::{
    keeper::{Exposed, Keeper, Use, Witness},
    redact::Redactor,
};
use store::{AuditEntry, Store};
use tracing_subscriber::fmt::MakeWriter;

/// The keeper of secrets, as the door has it.
#[derive(Debug)]
pub(crate) struct Discretion {
    pub(crate) keeper: Keeper,
    pub(crate) store: Arc<Store>,
}

impl Values for Discretion {
    fn stream(&self) -> Result<Option<Box<dyn Cleaned>>, NotCleaned> {
        let redactions = self.keeper.redactions();
        let redactions = redactions.map_err(|error| NotCleaned { reason: error.to_string() })?;
        let is_needed = !redactions.is_empty();
        Ok(is_needed.then(|| Box::new(Stream(Redactor::new(redactions))) as Box<dyn Cleaned>))
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.keeper.redactions() {
            Ok(redactions) => Cow::Owned(redactions.text(text).into_owned()),
            Err(_) => Cow::Borrowed("{}"),
        }
    }

    fn expose<'a>(
        &'a self,
        wish: &'a Exposing,
        sandbox: &'a Listed,
        program: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(SecretName, SecretValue)>, ExposeError>> {
        Box::pin(self.give(wish, sandbox, program))
    }
}

impl Discretion {
    async fn give(
        &self,
        wish: &Exposing,
        sandbox: &Listed,
        program: &str,
    ) -> Result<Vec<(SecretName, SecretValue)>, ExposeError> {
        if sandbox.tier == Tier::Untrusted && !wish.even_untrusted {
            return Err(ExposeError::Untrusted);
        }
        let agent = wish.agent.clone();
        let by = Use { owner: sandbox.owner.clone(), sandbox: sandbox.id, agent };
        // Arguments may hold what nobody should read; the program's name is enough.
        let program: String = program.chars().take(200).collect();
        let witness = AuditLog(&self.store);
        self.keeper.expose(&wish.names, &by, &program, &witness).await
    }
}

/// One row for each value that enters a sandbox, before it does.
struct AuditLog<'a>(&'a Store);

impl Witness for AuditLog<'_> {
    async fn note(&self, exposed: &Exposed) -> Result<(), String> {
        self.0.audit(row(exposed, SystemClock.now())).await.map_err(|error| error.to_string())
    }
}

fn row(exposed: &Exposed, at: Timestamp) -> AuditEntry {
    let Exposed { name, version, by, program } = exposed;
    let detail = serde_json::json!({
        "version": version,
        "sandbox": by.sandbox.to_string(),
        "agent": by.agent.as_ref().map(domain::agent::AgentName::as_str),
        "program": program,
        "as": "environment",
    });
    AuditEntry {
        at,
        actor: by.owner.to_string(),
        action: "secret.exposed".to_owned(),
        subject: name.to_string(),
        detail: detail.to_string(),
    }
}

struct Stream(Redactor);

impl Cleaned for Stream {
    fn feed(&mut self, piece: &[u8]) -> Vec<u8> {
        self.0.feed(piece)
    }

    fn is_holding(&self) -> bool {
        self.0.is_holding()
    }

    fn release(&mut self) -> Vec<u8> {
        self.0.release()
    }

    fn finish(&mut self) -> Vec<u8> {
        self.0.finish()
    }
}

/// What the server logs, on standard error, without values. Until the secrets are open there are none.
#[derive(Debug, Clone, Default)]
pub(crate) struct CleanLog(Arc<OnceLock<Keeper>>);

impl CleanLog {
    pub(crate) fn of(&self, keeper: &Keeper) {
        // A second keeper has the same secrets.
        let _first = self.0.set(keeper.clone());
    }

    fn clean<'t>(&self, line: &'t [u8]) -> Cow<'t, [u8]> {
        match self.0.get().map(Keeper::redactions) {
            None => Cow::Borrowed(line),
            Some(Ok(redactions)) => Cow::Owned(redactions.bytes(line).into_owned()),
            Some(Err(_)) => {
                Cow::Borrowed(b"a line is not shown, because secrets cannot be taken out of it\n")
            }
        }
    }
}

impl<'a> MakeWriter<'a> for CleanLog {
    type Writer = CleanLine;

    fn make_writer(&'a self) -> CleanLine {
        CleanLine(self.clone())
    }
}

/// One event is written in one call.
#[derive(Debug)]
pub(crate) struct CleanLine(CleanLog);

impl io::Write for CleanLine {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::Write::write_all(&mut io::stderr(), &self.0.clean(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::Write::flush(&mut io::stderr())
    }
}

#[cfg(test)]
mod tests {
    use secrets::{
        binding::{Binding, Exposure},
        keeper::{Entry, Master},
        randomness::SystemRandomness,
    };

    use super::*;

    const VALUE: &str = "a-value-nobody-may-see";

    fn keeper(directory: &std::path::Path) -> Keeper {
        let master = Master::File(directory.join("master.key"));
        Keeper::open(directory.join("secrets"), master, SystemRandomness).unwrap()
    }

    #[tokio::test]
    async fn without_secrets_output_is_not_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let place = store::DataDirectory::new(directory.path().join("data"));
        let url = format!("sqlite:{}", directory.path().join("lamp.db").display());
        let store = Arc::new(store::open(&url, &place).await.unwrap());
        let discretion = Discretion { keeper: keeper(directory.path()), store };
        assert!(discretion.stream().unwrap().is_none());
    }

    #[test]
    fn a_line_of_the_log_has_no_value_in_any_form() {
        let directory = tempfile::tempdir().unwrap();
        let keeper = keeper(directory.path());
        let binding = Binding {
            hosts: vec![],
            places: vec![],
            agents: vec![],
            exposure: Exposure::Environment,
        };
        let value = SecretValue::new(VALUE.to_owned());
        let entry = Entry { name: "A".parse().unwrap(), value, binding, note: String::new() };
        let log = CleanLog::default();
        assert_eq!(&*log.clean(VALUE.as_bytes()), VALUE.as_bytes(), "nothing is kept yet");
        log.of(&keeper);
        keeper.set(entry, Timestamp::from_millis(0)).unwrap();
        let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, VALUE);
        for form in [VALUE.to_owned(), base64, format!("https://x/?k={VALUE}")] {
            let told =
                String::from_utf8(log.clean(format!("it is {form}\n").as_bytes()).into_owned());
            let told = told.unwrap();
            assert!(told.contains("[redacted]") && !told.contains(&form), "{told}");
        }
    }
}
