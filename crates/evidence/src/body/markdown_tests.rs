//! Hostile words stay words.

use proptest::prelude::*;

use super::*;

#[test]
fn nothing_that_markdown_reads_is_left() {
    let shown = |text: &str| inline(text, 1000);
    insta::assert_snapshot!(
        [
            "*bold* _it_ ~~no~~ `code` [link](https://evil.example) ![image](x) <b>html</b> &amp; | cell | $x^2$ \\",
            "<!-- lamplighter:block v1",
            "</details><script>alert(1)</script>",
            "@ann and @acme/team, ann@example.com, #7, acme/web#7, GH-7, !8, C#, a # b",
            "fixes https://forge.example/acme/web/issues/7 and www.evil.example",
            "# heading",
            "- list",
            "1. list",
            "12) list",
            "=== underlined",
            ":- table",
            "://x",
            "    code",
            "two\nlines",
        ]
        .map(shown)
        .join("\n")
    );
}

#[test]
fn every_line_of_a_quotation_is_marked() {
    insta::assert_snapshot!(quote("\n# a\n\n    b\n```\n</details>\n/close\n> c\n---\n", 1000));
}

#[test]
fn what_does_not_fit_is_told() {
    assert_eq!(inline("abcdef", 6), "abcdef");
    assert_eq!(inline("abcdefg", 6), "abc…");
    assert_eq!(inline("<<<<", 10), "&lt;…");
    let cut = "> one\n> t…\n>\n> *Cut here: the whole text has 9 bytes.*";
    assert_eq!(quote("one\ntwoss", 13), cut);
    assert_eq!(fenced("abcdef", 3, Keep::Beginning), "```text\nabc\n[… 3 bytes left off …]\n```");
    assert_eq!(fenced("abcdef", 3, Keep::End), "```text\n[… 3 bytes left off …]\ndef\n```");
}

#[test]
fn a_fence_is_not_closed_from_inside() {
    assert_eq!(fenced("a\n```\nb", 100, Keep::End), "~~~text\na\n```\nb\n~~~");
    let text = fenced("```\n~~~~\n<!-- lamplighter:block v1", 100, Keep::End);
    assert_eq!(text, "````text\n```\n~~~~\n<!-- lamplighter-block v1\n````");
}

proptest! {
    #[test]
    fn an_inline_text_has_no_live_mark(text in r"[-a-z0-9@#!<>&|`*_\[\]()~:/.\\ $\n]{0,60}") {
        let shown = inline(&text, 2000);
        prop_assert!(!shown.contains(['<', '>', '|', '\n', '$']));
        let mut letters = shown.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '`' | '*' | '_' | '[' | ']' | '~' => prop_assert!(false, "{shown}"),
                '@' => prop_assert_eq!(letters.peek(), Some(&'&'), "{}", shown),
                _ => {}
            }
        }
        prop_assert!(!shown.contains("://"));
    }

    #[test]
    fn limits_hold_for_every_text(text in "(?s).{0,200}", limit in 8usize..300) {
        prop_assert!(inline(&text, limit).len() <= limit);
        prop_assert!(quote(&text, limit).len() <= limit + 60);
        prop_assert!(quote(&text, limit).lines().all(|line| line.starts_with('>')));
    }

    #[test]
    fn a_fence_closes_once(text in r"[`~a\n<!-]{0,60}") {
        let shown = fenced(&text, 1000, Keep::End);
        let fence: String = shown.chars().take_while(|it| *it == '`' || *it == '~').collect();
        let closes = |line: &&str| line.trim().starts_with(&fence);
        prop_assert_eq!(shown.lines().filter(closes).count(), 2);
    }
}
