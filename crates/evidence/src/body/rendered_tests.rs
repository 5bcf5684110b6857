//! Hostile words, asked of a reader of Markdown that is not ours: they come out as the text that went in, and as nothing else.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;
use crate::body::own::Own;

/// Everything that the forges have switched on, and more.
fn events(text: &str) -> Vec<Event<'_>> {
    Parser::new_ext(text, Options::all()).collect()
}

/// The text of what was rendered, if it is text alone, in paragraphs and quotations.
fn only_text(markdown: &str) -> Result<String, String> {
    let mut out = String::new();
    for event in events(markdown) {
        match event {
            Event::Text(text) => out.push_str(&text),
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::Start(Tag::Paragraph) => {
                if !out.is_empty() {
                    out.push_str("\n\n");
                }
            }
            Event::Start(Tag::BlockQuote(None)) | Event::End(_) => {}
            Event::Start(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => return Err(format!("{event:?} in\n{markdown}")),
        }
    }
    // What keeps forges from acting, and is not seen.
    Ok(out.replace('\u{200b}', ""))
}

/// Pieces that mean something to Markdown, and plain ones.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        r"[-+*_=~`#>|:\[\]()<>!&^$\\.0-9a-z ]{1,8}",
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("    ".to_owned()),
        Just("\t".to_owned()),
        Just("```".to_owned()),
        Just("[x]: http://x".to_owned()),
        Just("[^1]: note".to_owned()),
        Just("<!-- a -->".to_owned()),
        Just("</details>".to_owned()),
        Just("|-|-|".to_owned()),
        Just("---".to_owned()),
        Just("a\n===\n".to_owned()),
        Just("\n````\n".to_owned()),
        Just("\n~~~~\n".to_owned()),
        Just("1. a".to_owned()),
        Just("- [ ] a".to_owned()),
        Just("&lt;b&#62;".to_owned()),
        Just("[!NOTE]".to_owned()),
        Just(":::".to_owned()),
        Just("a\n: b".to_owned()),
        Just("+++".to_owned()),
        Just("{#id}".to_owned()),
        Just("[[wiki]]".to_owned()),
        Just("$$x$$".to_owned()),
        Just("H~2~O".to_owned()),
        Just("\"q\" 'q' -- ...".to_owned()),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// `text` as a person reads it: quotes that are made curly, and dashes, are the same.
fn plain(text: &str) -> String {
    let text = text.replace(['\u{201c}', '\u{201d}'], "\"").replace(['\u{2018}', '\u{2019}'], "'");
    let text = text.replace('\u{2026}', "...").replace('\u{2014}', "---").replace('\u{2013}', "--");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_inline_text_is_rendered_as_it_was_said(text in hostile()) {
        let shown = only_text(&format!("Ours: {}", inline(&text, 10_000)));
        prop_assert_eq!(shown.map(|it| plain(&it)), Ok(plain(&format!("Ours: {text}"))));
        // Also at the beginning of a line.
        let shown = only_text(&inline(&text, 10_000));
        prop_assert_eq!(shown.map(|it| plain(&it)), Ok(plain(&text)));
    }

    #[test]
    fn a_quotation_is_rendered_as_it_was_said(text in hostile()) {
        let shown = only_text(&quote(&text, 10_000));
        prop_assert_eq!(shown.map(|it| plain(&it)), Ok(plain(&text)));
    }

    #[test]
    fn a_cell_stays_one_cell(one in hostile(), two in hostile()) {
        let (a, b) = (inline(&one, 10_000), inline(&two, 10_000));
        let table = format!("| x | y |\n|---|---|\n| {a} | {b} |\n");
        let mut cells: Vec<String> = Vec::new();
        for event in events(&table) {
            let is_frame = matches!(
                event,
                Event::Start(Tag::Table(_) | Tag::TableHead | Tag::TableRow) | Event::End(_)
            );
            if let Event::Start(Tag::TableCell) = event {
                cells.push(String::new());
            } else if let Event::Text(text) = event {
                cells.last_mut().unwrap().push_str(&text.replace('\u{200b}', ""));
            } else {
                prop_assert!(is_frame, "{event:?} in\n{table}");
            }
        }
        let cells: Vec<String> = cells.iter().map(|it| plain(it)).collect();
        prop_assert_eq!(cells, ["x".to_owned(), "y".to_owned(), plain(&one), plain(&two)]);
    }

    #[test]
    fn an_item_stays_one_item(text in hostile()) {
        let list = format!("- {}\n- ours", inline(&text, 10_000));
        let items = events(&list).iter().filter(|it| matches!(it, Event::Start(Tag::Item))).count();
        let lists = events(&list).iter().filter(|it| matches!(it, Event::Start(Tag::List(_)))).count();
        prop_assert_eq!((items, lists), (2, 1), "{}", list);
    }

    #[test]
    fn a_fence_holds_all_that_was_said(text in hostile()) {
        let fence = fenced(&text, 10_000, Keep::End);
        let all = events(&fence);
        prop_assert!(matches!(all.first(), Some(Event::Start(Tag::CodeBlock(_)))), "{fence}");
        let mut said = String::new();
        for event in &all {
            if let Event::Text(text) = event {
                said.push_str(text);
            }
        }
        prop_assert_eq!(said.trim_matches('\n'), text.trim_matches('\n'));
        prop_assert_eq!(all.iter().filter(|it| matches!(it, Event::Start(_))).count(), 1);
    }

    #[test]
    fn a_repositorys_own_template_does_not_swallow_what_follows(own in own_template()) {
        let text = Own::of(&own).beside("## Ours\n\ntext", "<!-- end -->");
        let forges = Options::ENABLE_GFM
            | Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_FOOTNOTES;
        let mut all = Parser::new_ext(&text, forges);
        let ours = std::iter::from_fn(|| {
            let heading = all.by_ref().find(is_heading)?;
            Some((heading, all.next()))
        });
        let is_ours = |it: &Event<'_>| matches!(it, Event::Text(text) if &**text == "Ours");
        let count = ours.filter(|(_, first)| first.as_ref().is_some_and(is_ours)).count();
        prop_assert_eq!(count, 1, "{}", text);
    }
}

fn is_heading(event: &Event<'_>) -> bool {
    matches!(event, Event::Start(Tag::Heading { .. }))
}

/// What people put into templates, and what they forget to close.
fn own_template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        hostile(),
        Just("<!--\n".to_owned()),
        Just("-->\n".to_owned()),
        Just("- a\n  ```\n".to_owned()),
        Just("```\n".to_owned()),
        Just("  ~~~~ sh\n".to_owned()),
        Just("> ```\n".to_owned()),
        Just("<details><summary>x\n".to_owned()),
        Just("<pre>\n".to_owned()),
        Just("</pre>\n".to_owned()),
        Just("\n<?php\n".to_owned()),
        Just("<![CDATA[\n".to_owned()),
        Just("<script>\n".to_owned()),
        Just("<!A\n".to_owned()),
        Just("<div>\n".to_owned()),
        Just("## Title\n".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}
