//! An agent's words as plain text that no forge acts on.
//!
//! Forges read commit messages: `@name` notifies a person, `fixes #7` closes an issue, `owner/repository#7` leaves a link in somebody else's
//! issue. A message is no Markdown, so there is nothing to quote with; what would be acted on is written in another way that people still read.

use crate::visible::visible;

/// `text` without letters that nobody sees, and without anything that a forge acts on.
pub(super) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let letters: Vec<char> = visible(text).chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let next = letters.get(at + 1).copied().unwrap_or(' ');
        match letter {
            '@' if next.is_alphanumeric() => out.push_str("(at)"),
            // Issues, and merge requests elsewhere.
            '#' | '!' if next.is_ascii_digit() => {
                out.push(*letter);
                out.push(' ');
            }
            // `GH-7` is an issue too.
            '-' if next.is_ascii_digit() && follows_gh(&letters, at) => out.push(' '),
            ':' if next == '/' => out.push_str(": "),
            other => out.push(*other),
        }
    }
    out
}

fn follows_gh(letters: &[char], at: usize) -> bool {
    let before = letters.get(at.saturating_sub(2)..at).unwrap_or_default();
    matches!(before, ['g' | 'G', 'h' | 'H'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_called_and_nothing_is_closed() {
        assert_eq!(
            harmless("fixes #7, closes GH-8 and resolves acme/web#9"),
            "fixes # 7, closes GH 8 and resolves acme/web# 9"
        );
        assert_eq!(
            harmless("cc @ann, mail a@b.example, @acme/web"),
            "cc (at)ann, mail a(at)b.example, (at)acme/web"
        );
        assert_eq!(
            harmless("closes https://x.example/i/7 !8"),
            "closes https: //x.example/i/7 ! 8"
        );
        assert_eq!(harmless("a - b, C# and a != b; #hash"), "a - b, C# and a != b; #hash");
        assert_eq!(harmless("x\u{202e}y\u{1b}[2J"), "xy[2J");
    }
}
