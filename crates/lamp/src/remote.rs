//! Finds the server to talk to.

use anyhow::Context as _;
use terminal::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    refusal::Explained as _,
    report::Hint,
    run_directory, token,
};
use wire::client::{Client, Endpoint};

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
