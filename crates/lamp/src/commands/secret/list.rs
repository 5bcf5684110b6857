//! `lamp secret list`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned, write_json},
    refusal::Explained as _,
};
use wire::{
    client::Client,
    secret::{Expose, Place, Secret},
};

use crate::amount;

/// List the secrets, and what each may be used for; never their values
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let found = client.secrets().await.explained()?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(&found), out)?,
            Format::People if found.secrets.is_empty() && found.broken.is_empty() => {
                writeln!(out, "There are no secrets. `lamp secret set` makes one.")?;
            }
            Format::People => {
                for (index, secret) in found.secrets.iter().enumerate() {
                    if index > 0 {
                        writeln!(out)?;
                    }
                    show(secret, out)?;
                }
                for broken in &found.broken {
                    writeln!(out, "\n{}\n  broken   {}", broken.name, broken.reason)?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn show(secret: &Secret, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}", secret.name)?;
    if !secret.note.is_empty() {
        writeln!(out, "  note     {}", secret.note)?;
    }
    if !secret.hosts.is_empty() {
        writeln!(out, "  hosts    {}", secret.hosts.join(", "))?;
        let places: Vec<String> = secret.places.iter().map(place).collect();
        writeln!(out, "  places   {}", places.join(", "))?;
    }
    let agents = if secret.agents.is_empty() {
        "all that name it".to_owned()
    } else {
        secret.agents.join(", ")
    };
    writeln!(out, "  agents   {agents}")?;
    match secret.expose {
        Some(Expose::Env) => writeln!(out, "  exposed  as a variable of single processes")?,
        None => {}
    }
    writeln!(out, "  created  {}", amount::moment(secret.created_at_millis))?;
    writeln!(
        out,
        "  updated  {}, value number {}",
        amount::moment(secret.updated_at_millis),
        secret.version
    )
}

fn place(place: &Place) -> String {
    match place {
        Place::Header { name, prefix } if prefix.is_empty() => format!("header `{name}`"),
        Place::Header { name, prefix } => format!("header `{name}: {}`", prefix.trim_end()),
        Place::Basic => "Basic".to_owned(),
        Place::Query { name } => format!("parameter `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_by_what_it_is_for() {
        let secret = Secret {
            name: "GITHUB".to_owned(),
            hosts: vec!["api.github.com".to_owned(), "*.example.com".to_owned()],
            places: vec![
                Place::Header { name: "authorization".to_owned(), prefix: "Bearer ".to_owned() },
                Place::Header { name: "x-key".to_owned(), prefix: String::new() },
                Place::Basic,
                Place::Query { name: "key".to_owned() },
            ],
            agents: Vec::new(),
            expose: Some(Expose::Env),
            note: "reads issues".to_owned(),
            version: 3,
            created_at_millis: 1_794_787_200_000,
            updated_at_millis: 1_794_787_260_000,
        };
        let mut out = Vec::new();
        show(&secret, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
