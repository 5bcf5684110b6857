//! Words from outside, made fit to be kept.
//!
//! PostgreSQL refuses a text that holds the character NUL, and a list shows one line. What comes from
//! people and tools may hold anything. Events need none of this: JSON escapes what it must.

/// How many letters of a reason are kept.
const REASON: usize = 4_000;

/// Without NUL, which not every database can keep.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// On one line: what would move a terminal's cursor becomes a space.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A reason that a person reads: a tool's megabytes of output are not one.
pub(crate) fn brief(reason: &str) -> String {
    let reason = without_nul(reason);
    match reason.char_indices().nth(REASON) {
        None => reason,
        Some((end, _)) => format!("{}…", reason.get(..end).unwrap_or_default()),
    }
}
