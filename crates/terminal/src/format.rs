//! For whom a command prints: people by default, programs with `--json`.

use std::{fmt::Write as _, io::Write};

use domain::visible::is_visible;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    People,
    Json,
}

/// `--json`, for every command that prints something.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct FormatFlag {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

impl FormatFlag {
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { Format::People }
    }
}

/// A JSON document, with the version of its form.
#[derive(Debug, Serialize)]
pub struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    what: T,
}

impl<T> Versioned<T> {
    pub const fn new(what: T) -> Self {
        Self { version: 1, what }
    }
}

/// One JSON document, ending in a line feed.
pub fn write_json(value: &impl Serialize, out: &mut impl Write) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// One JSON document on one line. What a terminal would obey is escaped, which JSON has a spelling for.
pub fn json_line(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(escaped(&serde_json::to_string(value)?))
}

/// The same over several lines.
pub fn json_page(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(escaped(&serde_json::to_string_pretty(value)?))
}

/// Such letters stand only inside of strings: outside of them JSON has none.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_visible(letter) {
            escaped.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _written = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}
