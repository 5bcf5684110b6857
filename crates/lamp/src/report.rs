//! Prints an error once: what failed, why, and one line about what to do.
//!
//! ```text
//! error: cannot tell where the data directory is
//!   caused by: neither `XDG_DATA_HOME` nor `HOME` is set
//! hint: name it with `--data DIR`
//! ```

use std::{
    fmt,
    io::{self, Write},
};

use crate::terminal::Colors;

/// A context for [`anyhow`] that also says what to do:
/// `.with_context(|| Hint::new("cannot open the store", "run `lamp doctor`"))`.
///
/// The outermost hint of a chain is the one that is printed.
#[derive(Debug)]
pub(crate) struct Hint {
    what: String,
    hint: String,
}

impl Hint {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

pub(crate) fn print(error: &anyhow::Error, colors: Colors, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} {error}", colors.bad("error:"))?;
    for cause in error.chain().skip(1) {
        writeln!(out, "  {} {cause}", colors.weak("caused by:"))?;
    }
    if let Some(Hint { hint, .. }) = error.downcast_ref() {
        writeln!(out, "{} {hint}", colors.strong("hint:"))?;
    }
    Ok(())
}

/// Whether the error only says that nobody reads our output any more.
pub(crate) fn is_reader_gone(error: &anyhow::Error) -> bool {
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
    fn a_reader_that_left_is_told_from_other_errors() {
        let left = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_reader_gone(&left.context("cannot print")));
        assert!(!is_reader_gone(&anyhow::Error::from(io::Error::other("full"))));
    }
}
