//! `lamp secret set`

use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
};

use contracts::secret::binding::Header;
use terminal::{exit::Exit, refusal::Explained as _};
use wire::{
    client::Client,
    secret::{Expose, Place, SetSecret},
};

/// Set a secret, or replace its value
///
/// The value is read from standard input, or from a file: `lamp secret set GITHUB --host api.github.com < token`. On a terminal it is
/// asked for, and not shown. It is never an argument: those are seen by every user of this computer, and kept by shells.
#[derive(Debug, clap::Args)]
pub(super) struct Set {
    /// Its name: letters, digits and `_`
    #[arg(value_name = "NAME")]
    name: String,

    /// A host that it may be sent to; `*.example.com` is every host below
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,

    /// A header that it may stand in, as `X-Api-Key` or `'Authorization: Bearer'` [default: `Authorization`]
    #[arg(long = "header", value_name = "NAME")]
    headers: Vec<String>,

    /// It may be the user or the password of Basic authentication
    #[arg(long)]
    basic: bool,

    /// A parameter of the query that it may stand in
    #[arg(long = "query", value_name = "NAME")]
    queries: Vec<String>,

    /// An agent whose runs may use it, as they say with `--agent`; may be repeated [default: every run]
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,

    /// Let programs that cannot do without have the value itself: `env` is a variable of one process that asks for it with
    /// `--secret`
    #[arg(long, value_name = "HOW")]
    expose: Option<ExposeChoice>,

    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,

    /// Read the value from this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    // Taken only to be refused without being repeated.
    #[arg(hide = true)]
    more: Vec<OsString>,

    #[arg(long, hide = true)]
    value: Option<OsString>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ExposeChoice {
    Env,
}

const NO_ARGUMENT: &str = "a value is not given as an argument: every user of this computer can see it there, and shells keep it\n\
    hint: pipe it in, as in `lamp secret set NAME --host HOST < FILE`, or type it when asked";

/// How known tokens begin.
const TOKENS: [&str; 9] =
    ["ghp_", "gho_", "ghs_", "github_pat_", "sk-", "xoxb-", "glpat-", "AKIA", "eyJ"];

impl Set {
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Why these words are refused, if they hold a value. It is not repeated.
    pub(super) fn refused(&self) -> Option<&'static str> {
        let looks_like_a_value = self.name.contains('=')
            || TOKENS.iter().any(|token| self.name.starts_with(token))
            || self.name.parse::<contracts::secret::SecretName>().is_err() && self.name.len() > 20;
        let is_given = !self.more.is_empty() || self.value.is_some() || looks_like_a_value;
        is_given.then_some(NO_ARGUMENT)
    }

    pub(super) async fn run(
        &self,
        client: &Client,
        value: String,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let headers = self.headers.iter().map(|header| header.parse::<Header>());
        let headers: Vec<Header> = headers.collect::<Result<_, _>>()?;
        let headers = headers.iter().map(|header| Place::Header {
            name: header.name().to_owned(),
            prefix: header.prefix().to_owned(),
        });
        let basic = self.basic.then_some(Place::Basic);
        let queries = self.queries.iter().map(|name| Place::Query { name: name.clone() });
        let wish = SetSecret {
            value,
            hosts: self.hosts.clone(),
            places: headers.chain(basic).chain(queries).collect(),
            agents: self.agents.clone(),
            expose: self.expose.map(|ExposeChoice::Env| Expose::Env),
            note: self.note.clone(),
        };
        let set = client.set_secret(&self.name, &wish).await.explained()?;
        match set.version {
            1 => writeln!(out, "Set `{}`.", set.name)?,
            version => {
                writeln!(out, "Replaced `{}`. This is its value number {version}.", set.name)?;
            }
        }
        Ok(Exit::Done)
    }
}
