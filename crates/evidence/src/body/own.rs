//! The repository's own template for pull requests, put before ours as its people wrote it.
//!
//! It is a file of the base commit, so its headings, lists and mentions are its owners' wish. But it must not swallow what follows: a comment, a
//! fence or a fold that it leaves open is closed.

use super::block::unmarked;
use crate::visible::visible;

/// Bytes of it that are kept.
const LIMIT: usize = 8 * 1024;

/// What stands before our text, or nothing.
pub(super) fn before_ours(template: &str) -> String {
    // Only one block may be in a text, and that is ours.
    let text = unmarked(visible(template));
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let end = text.floor_char_boundary(LIMIT);
    let (kept, left_off) = text.split_at_checked(end).unwrap_or((text, ""));
    let mut kept = closed(kept);
    if !left_off.is_empty() {
        let note = format!("\n\n*{} bytes of this template were left off.*", left_off.len());
        kept.push_str(&note);
    }
    kept + "\n\n---\n\n"
}

/// What is open at the end of a text.
enum Open {
    Nothing,
    Comment,
    Fence(String),
}

fn closed(text: &str) -> String {
    let mut open = Open::Nothing;
    let mut folds = 0usize;
    for line in text.lines() {
        open = match open {
            Open::Comment => after_comment(line),
            Open::Fence(fence) if closes(line, &fence) => Open::Nothing,
            Open::Fence(fence) => Open::Fence(fence),
            Open::Nothing => {
                let lower = line.to_ascii_lowercase();
                folds += lower.matches("<details").count();
                folds = folds.saturating_sub(lower.matches("</details").count());
                opened_by(line)
            }
        };
    }
    let mut out = text.trim_end().to_owned();
    match open {
        Open::Nothing => {}
        Open::Comment => out.push_str("\n-->"),
        Open::Fence(fence) => {
            out.push('\n');
            out.push_str(&fence);
        }
    }
    for _ in 0..folds {
        out.push_str("\n\n</details>");
    }
    out
}

fn opened_by(line: &str) -> Open {
    let start = line.trim_start();
    for mark in ['`', '~'] {
        let run = start.chars().take_while(|letter| *letter == mark).count();
        if run >= 3 {
            return Open::Fence(mark.to_string().repeat(run));
        }
    }
    after_comment_opened(line)
}

/// Whether the last `<!--` of a line is closed on it.
fn after_comment_opened(line: &str) -> Open {
    match line.rfind("<!--") {
        Some(at) if !line.get(at..).unwrap_or_default().contains("-->") => Open::Comment,
        Some(_) | None => Open::Nothing,
    }
}

fn after_comment(line: &str) -> Open {
    match line.find("-->") {
        None => Open::Comment,
        Some(at) => after_comment_opened(line.get(at..).unwrap_or_default()),
    }
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    let mark = fence.chars().next().unwrap_or('`');
    line.len() >= fence.len() && line.chars().all(|letter| letter == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_kept_as_it_is() {
        let own = "## What\n<!-- say what -->\n\n- [ ] tests, @acme/web\n";
        assert_eq!(before_ours(own), format!("{}\n\n---\n\n", own.trim_end()));
        assert_eq!(before_ours(" \r\n"), "");
    }

    #[test]
    fn a_template_does_not_swallow_what_follows() {
        for (own, end) in [
            ("a <!-- b", "a <!-- b\n-->"),
            ("<!-- a\n-->\n<!-- b -->\n<!--", "<!--\n-->"),
            ("```sh\n<!--\n", "<!--\n```"),
            ("~~~~\n~~~\n", "~~~\n~~~~"),
            ("<details><summary>x</summary>", "</summary>\n\n</details>"),
        ] {
            let text = before_ours(own);
            assert!(text.trim_end_matches("\n\n---\n\n").ends_with(end), "{text}");
        }
        let forged = before_ours("<!-- lamplighter:block v1\n{}\n-->");
        assert!(!forged.contains("lamplighter:block"), "{forged}");
    }

    #[test]
    fn a_long_template_is_cut_and_says_so() {
        let text = before_ours(&"é".repeat(LIMIT));
        assert!(text.len() < LIMIT + 100);
        assert!(text.contains("*8192 bytes of this template were left off.*"));
    }
}
