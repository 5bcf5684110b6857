//! Prints an error once: what failed, why, and one line about what to do.
//!
//! ```text
//! error: cannot tell where the data directory is
//!   caused by: neither `XDG_DATA_HOME` nor `HOME` is set
//! hint: name it with `--data DIR`
//! ```
//!
//! With `--json` it is one document on one line, in the form that the API refuses with.

use std::{
    fmt,
    io::{self, Write},
};

use serde::Serialize;
use wire::error::Problem;

use crate::{colors::Colors, format::json_line};

/// A context for [`anyhow`] that also says what to do:
/// `.with_context(|| Hint::new("cannot open the store", "run `lamp doctor`"))`.
///
/// The outermost hint of a chain is the one that is printed.
#[derive(Debug)]
pub struct Hint {
    what: String,
    hint: String,
}

impl Hint {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// An error of a room that knows what to do about itself: the same chain, with that as its hint.
pub fn hinted(error: &dyn std::error::Error, help: Option<String>) -> anyhow::Error {
    let (mut causes, mut cause) = (Vec::new(), error.source());
    while let Some(next) = cause {
        causes.push(next.to_string());
        cause = next.source();
    }
    let chain = causes.into_iter().rev().fold(None, |chain: Option<anyhow::Error>, cause| {
        Some(match chain {
            None => anyhow::Error::msg(cause),
            Some(chain) => chain.context(cause),
        })
    });
    match (chain, help) {
        (None, None) => anyhow::Error::msg(error.to_string()),
        (None, Some(help)) => anyhow::Error::msg(Hint::new(error.to_string(), help)),
        (Some(chain), None) => chain.context(error.to_string()),
        (Some(chain), Some(help)) => chain.context(Hint::new(error.to_string(), help)),
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

pub fn print(error: &anyhow::Error, colors: Colors, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} {error}", colors.bad("error:"))?;
    for cause in error.chain().skip(1) {
        writeln!(out, "  {} {cause}", colors.weak("caused by:"))?;
    }
    if let Some(hint) = hint(error) {
        writeln!(out, "{} {hint}", colors.strong("hint:"))?;
    }
    Ok(())
}

/// What to do: the word of whoever knows most about the moment, which is the outermost, or else what the server said.
fn hint(error: &anyhow::Error) -> Option<&str> {
    let ours = error.downcast_ref::<Hint>().map(|hint| hint.hint.as_str());
    ours.or_else(|| error.downcast_ref::<Problem>()?.help.as_deref())
}

/// An error as programs read it.
#[derive(Debug, Serialize)]
struct Printed<'e> {
    version: u32,
    error: Told<'e>,
}

#[derive(Debug, Serialize)]
struct Told<'e> {
    /// That of the API, where the server refused; otherwise `failed` or `usage`.
    code: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'e str>,
    /// Why, from the nearest to the farthest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<String>,
}

pub fn print_json(error: &anyhow::Error, out: &mut impl Write) -> anyhow::Result<()> {
    let code = error
        .downcast_ref::<Problem>()
        .map_or_else(|| "failed".to_owned(), |problem| problem.code.name());
    let causes = error.chain().skip(1).map(ToString::to_string).collect();
    let told = Told { code, message: error.to_string(), help: hint(error), causes };
    print_told(told, out)
}

/// Arguments that cannot be read: `text` is what a person would be shown.
pub fn print_usage_json(text: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let (message, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
    let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
    let help = Some(rest.trim()).filter(|rest| !rest.is_empty());
    print_told(Told { code: "usage".to_owned(), message, help, causes: Vec::new() }, out)
}

fn print_told(error: Told<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    Ok(writeln!(out, "{}", json_line(&Printed { version: 1, error })?)?)
}

/// Whether the error only says that nobody reads our output any more.
pub fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind).or_else(|| {
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind)
        });
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn printed(error: &anyhow::Error) -> String {
        let mut out = Vec::new();
        print(error, Colors::OFF, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_error_is_a_chain_with_one_hint() {
        let error = Err::<(), _>(io::Error::other("disk on fire"))
            .with_context(|| Hint::new("cannot write the page", "see `lamp help pages`"))
            .with_context(|| Hint::new("cannot open the store", "run `lamp doctor`"))
            .context("cannot verify the audit log")
            .unwrap_err();
        insta::assert_snapshot!(printed(&error), @r"
        error: cannot verify the audit log
          caused by: cannot open the store
          caused by: cannot write the page
          caused by: disk on fire
        hint: run `lamp doctor`
        ");
    }

    #[test]
    fn a_program_reads_an_error_as_one_document_with_its_code() {
        let refused = crate::refusal::refused(
            Problem::new(wire::error::Code::NotNow, "task t_1 is paused")
                .with_help("`lamp resume t_1`"),
        );
        let lost = anyhow::Error::from(io::Error::other("disk on fire"))
            .context(Hint::new("cannot open the store", "run `lamp doctor`"));
        let mut out = Vec::new();
        print_json(&refused, &mut out).unwrap();
        print_json(&lost, &mut out).unwrap();
        print_usage_json("error: no such flag\n\nUsage: lamp get TASK\n", &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
        {"version":1,"error":{"code":"not_now","message":"task t_1 is paused","help":"`lamp resume t_1`"}}
        {"version":1,"error":{"code":"failed","message":"cannot open the store","help":"run `lamp doctor`","causes":["disk on fire"]}}
        {"version":1,"error":{"code":"usage","message":"no such flag","help":"Usage: lamp get TASK"}}
        "#);
    }

    #[test]
    fn a_reader_that_left_is_told_from_other_errors() {
        let left = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_reader_gone(&left.context("cannot print")));
        assert!(!is_reader_gone(&anyhow::Error::from(io::Error::other("full"))));
    }
}
