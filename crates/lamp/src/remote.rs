//! Finds the server to talk to, and turns its refusals into errors for people.

use anyhow::{Context as _, anyhow};
use wire::{
    client::{Client, ClientError, Endpoint},
    error::Problem,
};

use crate::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    report::Hint,
    run_directory,
    session::clean::Cleaner,
    terminal::Stream,
    token,
};

/// `--server`, for every command that talks to one.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerFlag {
    /// The server: the path of its socket, or `http://127.0.0.1:7180`; `LAMP_SERVER` names it too
    /// [default: the socket of this user's `lamp up`]
    #[arg(long, value_name = "URL|PATH", global = true)]
    server: Option<String>,
}

impl ServerFlag {
    pub(crate) fn client(&self, environment: &Environment) -> anyhow::Result<Client> {
        let named = self.server.as_ref().or(environment.server.as_ref());
        if let Some(text) = named {
            return Ok(Client::new(with_token(text.parse()?, environment)?));
        }
        let account = Account::own();
        let data = DataFlag::default().directory(environment, None, account)?;
        let run = run_directory::usual(environment, account, &data);
        Ok(Client::new(Endpoint::Unix(run.join(run_directory::SOCKET))))
    }
}

/// The loopback wants a token: from the environment, or from the data directory.
fn with_token(endpoint: Endpoint, environment: &Environment) -> anyhow::Result<Endpoint> {
    let Endpoint::Http { authority, .. } = endpoint else { return Ok(endpoint) };
    if let Some(token) = environment.token.clone() {
        return Ok(Endpoint::Http { authority, token: Some(token) });
    }
    let data = DataFlag::default().directory(environment, None, Account::own())?;
    let token = token::read(&data).with_context(|| {
        Hint::new("the loopback wants a token", "give it with `LAMP_TOKEN` or `LAMP_DATA`")
    })?;
    Ok(Endpoint::Http { authority, token: Some(token) })
}

/// The base as the server wants it: of an image's key, a person may write the beginning.
pub(crate) async fn whole_base(client: &Client, base: &str) -> anyhow::Result<String> {
    const WHOLE: usize = 64;
    match base.strip_prefix("image:").filter(|key| key.len() < WHOLE) {
        Some(beginning) => Ok(format!("image:{}", client.image(beginning).await.explained()?.key)),
        None => Ok(base.to_owned()),
    }
}

/// An answer, or an error that says what to do.
pub(crate) trait Explained<T> {
    fn explained(self) -> anyhow::Result<T>;
}

impl<T> Explained<T> for Result<T, ClientError> {
    fn explained(self) -> anyhow::Result<T> {
        self.map_err(explain)
    }
}

pub(crate) fn explain(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::NoServer { at, source } => {
            let what = format!("no server answers at `{at}`");
            let hint = "start one with `lamp up`, or name another with `--server`";
            anyhow::Error::from(source).context(Hint::new(what, hint))
        }
        ClientError::Refused(problem) => refused(problem),
        ClientError::Broken { .. } | ClientError::Strange { .. } => anyhow::Error::from(error),
    }
}

/// What the server said stays what it is, so that programs are told its code; a log is one more cause.
pub(crate) fn refused(problem: Problem) -> anyhow::Error {
    let Problem { code, message, help, log } = problem;
    let log = log.map(|log| harmless(&log)).filter(|log| !log.trim().is_empty());
    let help = help.map(|help| harmless(&help));
    let told = Problem { code, message: harmless(&message), help, log: None };
    match log {
        None => anyhow::Error::new(told),
        Some(log) => anyhow!("its log ends so:\n{}", log.trim_end()).context(told),
    }
}

/// Names and logs come from inside, and errors go to terminals.
fn harmless(text: &str) -> String {
    let cleaned = Cleaner::of(Stream::Terminal).clean(text.as_bytes()).into_owned();
    String::from_utf8(cleaned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use wire::error::Code;

    use super::*;

    #[test]
    fn what_a_server_passes_on_cannot_speak_to_the_terminal() {
        let mut problem = Problem::new(Code::SetupFailed, "no \u{1b}]0;title\u{7}");
        problem.log = Some("\u{1b}[2Jlast words\n".to_owned());
        let error = format!("{:?}", refused(problem));
        assert!(!error.contains('\u{1b}') && error.contains("last words"), "{error}");
    }
}
