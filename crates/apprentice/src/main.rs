//! `lamp-agent`: the built-in agent as a program. It reads the environment, and speaks on standard input and output.

use std::{
    collections::BTreeMap,
    io::{BufReader, Write as _},
    process::ExitCode,
};

use apprentice::{acp, settings::Settings, tools};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => serve(),
        [only] if only == "--version" => {
            let told = writeln!(std::io::stdout(), "lamp-agent {}", env!("CARGO_PKG_VERSION"));
            if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        [_, ..] => {
            complain("usage: lamp-agent [--version]; everything else is set by environment");
            ExitCode::from(2)
        }
    }
}

fn serve() -> ExitCode {
    let variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let settings = Settings::read(&variables);
    if let Err(error) = &settings {
        complain(&error.to_string());
    }
    // Whatever a tool leaves behind becomes our child, so that it can be found and ended.
    if let Err(error) = tools::processes::adopt_orphans() {
        complain(&format!("orphans cannot be adopted: {error}"));
    }
    // What a command could read of us is our environment, with the token of this run.
    if let Err(error) = tools::processes::hide() {
        complain(&format!("commands can look at this program: {error}"));
    }
    let ended = acp::serve(settings, BufReader::new(std::io::stdin()), std::io::stdout());
    tools::processes::end_all();
    match ended {
        acp::Ended::InputClosed => ExitCode::SUCCESS,
        acp::Ended::Broken => ExitCode::FAILURE,
        acp::Ended::Unusable => ExitCode::from(2),
    }
}

/// Standard output is the protocol's; what a person should know goes to standard error.
fn complain(text: &str) {
    // Nobody to tell when that fails.
    let _told = writeln!(std::io::stderr(), "lamp-agent: {text}");
}
