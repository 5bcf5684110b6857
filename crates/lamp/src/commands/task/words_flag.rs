//! Words that a person types for somebody: as an argument, from a file, or from standard input.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use config::text_file::{self, Unreadable};
use terminal::report::Hint;

// No doc comment: it would become the help of every command that takes one.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WordsFlag {
    /// What to say; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// A file with it
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
}

impl WordsFlag {
    /// `missing` says what to type where there is nothing.
    pub(crate) fn read(&self, missing: &str) -> anyhow::Result<String> {
        read(self.file.as_deref(), self.text.as_deref(), missing)
    }

    /// Where words are welcome and not needed: nothing where none are given.
    pub(crate) fn read_if_any(&self) -> anyhow::Result<Option<String>> {
        if self.file.is_none() && self.text.is_none() {
            return Ok(None);
        }
        self.read("leave it out, or say something").map(Some)
    }
}

/// From a file, from standard input, or as it was typed.
pub(super) fn read(
    file: Option<&Path>,
    text: Option<&str>,
    missing: &str,
) -> anyhow::Result<String> {
    let text = match (file, text) {
        (Some(path), _) => text_file::read(path).map_err(|error| {
            let what = format!("cannot read `{}`", path.display());
            let help = match &error {
                Unreadable::Directory => "name a file with what is to be said",
                Unreadable::Missing
                | Unreadable::TooLarge
                | Unreadable::NotText { .. }
                | Unreadable::Failed(_) => error.help(),
            };
            anyhow!("{error}").context(Hint::new(what, help))
        })?,
        (None, Some("-")) => std::io::read_to_string(std::io::stdin())
            .context("it cannot be read from standard input")?,
        (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    };
    if text.trim().is_empty() {
        bail!(Hint::new("there is nothing to say", missing));
    }
    Ok(text)
}
