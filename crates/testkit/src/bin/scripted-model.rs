//! A model that plays scripts, as a program: `scripted-model --port 0` prints its address, and serves until it is ended.
//!
//! See `testkit::model::script` for what a script is. A script that begins with `@` is read from that file.

use std::{io::Write as _, path::PathBuf};

use anyhow::Context as _;
use clap::Parser;
use testkit::model::{Model, Script, serve};
use tokio::net::TcpListener;

/// A model that plays scripts, for tests of programs that talk to models.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where to listen, on loopback. 0 takes a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// What is played for prompts that have no script.
    #[arg(long)]
    script: Option<String>,
    /// What is played for prompts that contain a marker.
    #[arg(long, value_name = "MARKER=>SCRIPT")]
    when: Vec<String>,
    /// A script that `play: script NAME` stands for.
    #[arg(long, value_name = "NAME=>SCRIPT")]
    named: Vec<String>,
    /// Where programs work that do not say it.
    #[arg(long)]
    directory: Option<String>,
    /// The only key that is taken.
    #[arg(long)]
    require_key: Option<String>,
    /// Gets a line of JSON for each request.
    #[arg(long)]
    log: Option<PathBuf>,
    /// Gets the address as soon as somebody listens there.
    #[arg(long)]
    ready_file: Option<PathBuf>,
}

fn script(text: &str) -> anyhow::Result<Script> {
    let read = match text.strip_prefix('@') {
        Some(path) => fs_err::read_to_string(path)?,
        None => text.to_owned(),
    };
    let script = Script::parse(&read)?;
    anyhow::ensure!(!script.steps.is_empty(), "`{text}` has no directives");
    Ok(script)
}

fn pair(text: &str) -> anyhow::Result<(&str, Script)> {
    let (name, after) = text.split_once("=>").with_context(|| format!("`{text}` has no `=>`"))?;
    Ok((name.trim(), script(after.trim())?))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let model = Model::new();
    if let Some(text) = &arguments.script {
        model.otherwise(script(text)?);
    }
    for text in &arguments.when {
        let (marker, script) = pair(text)?;
        model.on(marker, script);
    }
    for text in &arguments.named {
        let (name, script) = pair(text)?;
        model.named(name, script);
    }
    if let Some(directory) = &arguments.directory {
        model.at(directory);
    }
    if let Some(key) = &arguments.require_key {
        model.require_key(key);
    }
    if let Some(path) = &arguments.log {
        model.log_to(fs_err::OpenOptions::new().create(true).append(true).open(path)?);
    }
    let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await?;
    let address = format!("http://{}", listener.local_addr()?);
    writeln!(std::io::stdout(), "{address}")?;
    if let Some(path) = &arguments.ready_file {
        fs_err::write(path, &address)?;
    }
    serve(listener, model).await?;
    Ok(())
}
