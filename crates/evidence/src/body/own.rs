//! The repository's own template for pull requests, put beside ours as its people wrote it.
//!
//! It is a file of the base commit, so its headings, lists and mentions are its owners' wish. But it must not swallow ours: a comment, a fence or a
//! fold that it leaves open is closed. Where nobody can tell without a whole reader of Markdown what is open at its end, it stands last.

use super::block::unmarked;
use crate::visible::visible;

/// Bytes of it that are kept.
const LIMIT: usize = 8 * 1024;

/// Where a template stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Own {
    Nothing,
    /// Before our text, as people expect.
    Before(String),
    /// After everything of ours, where it can swallow nothing.
    After(String),
}

impl Own {
    pub(super) fn of(template: &str) -> Self {
        // Only one block may be in a text, and that is ours.
        let text = unmarked(visible(template));
        let text = text.trim_matches('\n').trim_end();
        if text.trim().is_empty() {
            return Self::Nothing;
        }
        let end = text.floor_char_boundary(LIMIT);
        let (kept, left_off) = text.split_at_checked(end).unwrap_or((text, ""));
        let note = match left_off.len() {
            0 => String::new(),
            length => format!("\n\n*{length} bytes of this template were left off.*"),
        };
        match closed(kept) {
            Some(closed) => Self::Before(closed + &note),
            None => Self::After(format!("{kept}{note}")),
        }
    }

    /// The template and our text, with `end` after the latter.
    pub(super) fn beside(&self, ours: &str, end: &str) -> String {
        match self {
            Self::Nothing => format!("{ours}\n\n{end}\n"),
            Self::Before(own) => format!("{own}\n\n---\n\n{ours}\n\n{end}\n"),
            Self::After(own) => format!("{ours}\n\n{end}\n\n---\n\n{own}\n"),
        }
    }
}

/// What is open between two lines.
enum Open {
    Nothing,
    Comment,
    /// With the marks that it began with.
    Fence(String),
}

/// `text` with nothing left open, or nothing, if it has something that is hard to tell.
fn closed(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if HARD.iter().any(|begin| lower.replace("<!--", "").contains(begin)) {
        return None;
    }
    let mut open = Open::Nothing;
    let mut folds = 0usize;
    // HTML goes on to the next empty line, and what begins in it means something else.
    let mut in_html = false;
    for line in lower.lines() {
        open = match open {
            Open::Comment if line.contains("-->") => Open::Nothing,
            Open::Comment => Open::Comment,
            Open::Fence(marks) if is_end(line, &marks) => Open::Nothing,
            Open::Fence(marks) => Open::Fence(marks),
            Open::Nothing => {
                folds += line.matches("<details").count();
                folds = folds.saturating_sub(line.matches("</details").count());
                let begun = begun_by(line)?;
                if in_html && !matches!(begun, Open::Nothing) {
                    return None;
                }
                let has_tags = line.replace("<!--", "").contains('<');
                in_html = !line.trim().is_empty() && (in_html || has_tags);
                begun
            }
        };
    }
    let mut out = text.to_owned();
    match open {
        Open::Nothing => {}
        Open::Comment => out.push_str("\n-->"),
        Open::Fence(marks) => {
            out.push('\n');
            out.push_str(&marks);
        }
    }
    for _ in 0..folds {
        out.push_str("\n\n</details>");
    }
    Some(out)
}

/// HTML that Markdown reads on over empty lines, beside comments. Nobody needs it in a template.
const HARD: [&str; 6] = ["<!", "<?", "<script", "<pre", "<style", "<textarea"];

/// What a line leaves open; nothing, if that depends on what it stands in.
fn begun_by(line: &str) -> Option<Open> {
    if let Some(rest) = line.strip_prefix("<!--") {
        let is_closed = rest.contains("-->");
        return Some(if is_closed { Open::Nothing } else { Open::Comment });
    }
    // Within a line it counts only when it ends there.
    let mut rest = line;
    while let Some((_, after)) = rest.split_once("<!--") {
        (_, rest) = after.split_once("-->")?;
    }
    for mark in ['`', '~'] {
        let marks: String = line.trim_start().chars().take_while(|it| *it == mark).collect();
        if marks.len() < 3 {
            continue;
        }
        // Indented, it may belong to a list and end with it. With a mark after it, it may be code within a line.
        let is_plain = line.strip_prefix(&marks).is_some_and(|rest| !rest.contains('`'));
        return is_plain.then_some(Open::Fence(marks));
    }
    Some(Open::Nothing)
}

/// An end may be indented by three spaces; with four it is code.
fn is_end(line: &str, marks: &str) -> bool {
    let start = line.trim_start_matches(' ');
    let is_near = line.len() - start.len() <= 3;
    let line = start.trim_end();
    is_near && line.starts_with(marks) && line.chars().all(|it| marks.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(own: &str) -> String {
        match Own::of(own) {
            Own::Before(text) => text,
            other @ (Own::Nothing | Own::After(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_template_is_kept_as_it_is() {
        let own = "## What\n<!-- say what -->\n\n- [ ] tests <!-- or why not -->, @acme/web\n\n```sh\nmake test\n```";
        assert_eq!(before(own), own);
        assert_eq!(Own::of(" \r\n"), Own::Nothing);
        assert_eq!(Own::of(own).beside("ours", "end"), format!("{own}\n\n---\n\nours\n\nend\n"));
    }

    #[test]
    fn what_a_template_leaves_open_is_closed() {
        for (own, end) in [
            ("<!-- a\n-->\n<!-- b -->\n<!--", "<!--\n-->"),
            ("```sh\n<!--\n", "<!--\n```"),
            ("~~~~\n~~~\n", "~~~\n~~~~"),
            ("<details><summary>x</summary>", "</summary>\n\n</details>"),
        ] {
            assert!(before(own).ends_with(end), "{own}");
        }
    }

    #[test]
    fn a_template_that_nobody_can_be_sure_of_stands_last() {
        for own in ["- a\n  ```\n", "a <!-- b", "<pre>", "<?php", " <!-- a", "```a`b"] {
            let found = Own::of(own);
            assert!(matches!(found, Own::After(_)), "{own}: {found:?}");
            assert!(found.beside("ours", "end").starts_with("ours\n\nend\n\n---\n"));
        }
    }

    #[test]
    fn a_template_cannot_hold_a_block() {
        let forged = before("<!-- lamplighter:block v1\n{}\n-->");
        assert!(!forged.contains("lamplighter:block"), "{forged}");
    }

    #[test]
    fn a_long_template_is_cut_and_says_so() {
        let text = before(&"é".repeat(LIMIT));
        assert!(text.len() < LIMIT + 100);
        assert!(text.contains("*8192 bytes of this template were left off.*"));
    }
}
