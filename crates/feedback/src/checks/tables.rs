//! The headers of TOML and INI files: which tables are there?
//!
//! No more is asked of a manifest than whether it has a `[workspace]` or a `[tool.ruff]`, so no more is read. Text of several lines is
//! passed over, so that what stands in a description is not taken for a table.

use std::collections::BTreeSet;

const TABLES_LIMIT: usize = 2_000;

pub(super) struct Tables<'a>(BTreeSet<&'a str>);

impl<'a> Tables<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut tables = BTreeSet::new();
        let mut inside: Option<&str> = None;
        for line in text.lines() {
            if inside.is_none()
                && let Some(name) = header(line)
                && tables.len() < TABLES_LIMIT
            {
                tables.insert(name);
            }
            inside = quotes_after(line, inside);
        }
        Self(tables)
    }

    /// Is there this table, or one below it?
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|table| {
            table
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
        })
    }
}

fn header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("[[").or_else(|| line.strip_prefix('['))?;
    let name = line.split(']').next().unwrap_or_default().trim();
    let is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-:\"'".contains(c));
    is_plain.then_some(name)
}

/// The quotes that are still open after a line, if some were open before it or are opened on it.
fn quotes_after<'q>(line: &str, mut inside: Option<&'q str>) -> Option<&'q str> {
    const QUOTES: [&str; 2] = ["\"\"\"", "'''"];
    let mut rest = line;
    loop {
        let next = if let Some(quotes) = inside {
            rest.split_once(quotes).map(|(_, rest)| (None, rest))
        } else {
            let open = QUOTES.iter().filter_map(|quotes| Some((rest.find(quotes)?, *quotes)));
            open.min().and_then(|(at, quotes)| Some((Some(quotes), rest.get(at + quotes.len()..)?)))
        };
        let Some((now, left)) = next else { return inside };
        (inside, rest) = (now, left);
    }
}
