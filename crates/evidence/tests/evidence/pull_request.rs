//! The text of a pull request, and the block in it.

use domain::digest::Digest;
use evidence::body::{Block, BlockError, BodyTemplate, LIMIT, PullRequest, Words};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::stories::{self, Story};

fn text(story: &Story) -> String {
    BodyTemplate::builtin().unwrap().text(&story.pull_request()).unwrap()
}

fn block(story: &Story) -> Block {
    Block::of(&story.statement, story.envelope().digest().unwrap())
}

#[test]
fn three_pull_requests_as_they_are_read() {
    for (name, story) in stories::all() {
        insta::assert_snapshot!(format!("body_{name}"), text(&story));
    }
}

#[test]
fn the_block_in_every_text_is_ours() {
    for (name, story) in stories::all() {
        let text = text(&story);
        assert_eq!(Block::find(&text), Ok(Some(block(&story))), "{name}");
        // A forge that shows the text in a web page gives back other line breaks.
        assert_eq!(Block::find(&text.replace('\n', "\r\n")), Ok(Some(block(&story))), "{name}");
    }
}

#[test]
fn hostile_words_are_not_acted_on() {
    let text = text(&stories::hostile());
    let (ours, block) = text.split_once("\n<!-- lamplighter:block v1\n").unwrap();
    assert!(
        block.contains("\n-->\n\n---\n"),
        "the repository's template cannot be trusted to end, and stands last"
    );
    // Outside of fences, where everything is shown letter by letter.
    let mut fence: Option<String> = None;
    let mut live = Vec::new();
    for line in ours.lines().skip_while(|line| *line != "## Summary") {
        let run: String = line.chars().take_while(|it| *it == '`' || *it == '~').collect();
        match &fence {
            None if run.len() >= 3 => fence = Some(run),
            None => live.push(line),
            Some(open) if line == open => fence = None,
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "every fence is closed");
    let live = live.join("\n");
    for wrong in [
        "<script", "<img", "<!--", "@acme", "@root", "fixes #7", "web#12", "GH-13", "\u{202e}",
        "\u{1b}",
    ] {
        assert!(!live.contains(wrong), "{wrong} in\n{live}");
    }
    let links = live.matches("](").count() - live.matches("\\](").count();
    assert_eq!(links, 4, "task, sandbox, log and transcript, and no link of others");
    assert_eq!(live.matches("<details>").count(), live.matches("</details>").count());
    assert_eq!(live.matches("\n## Review").count(), 1, "{live}");
    let rows = live.lines().filter(|line| line.starts_with('|'));
    for row in rows {
        assert_eq!(row.matches('|').count(), 6, "{row}");
    }
}

/// Asked of a reader of Markdown that is not ours.
#[test]
fn a_page_made_of_hostile_words_has_our_links_headings_and_folds_alone() {
    let headings = |story: &Story| {
        let text = text(story);
        let (mut links, mut headings, mut html) = (Vec::new(), 0, String::new());
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
        {
            if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
                links.push(dest_url.to_string());
            } else if let Event::Start(Tag::Heading { .. }) = event {
                headings += 1;
            } else if let Event::Html(piece) | Event::InlineHtml(piece) = event {
                html.push_str(&piece);
            }
        }
        (links, headings, html)
    };
    let mut hostile = stories::hostile();
    hostile.own_template = None;
    let (links, count, html) = headings(&hostile);
    let (honest_links, honest_count, _) = headings(&stories::happy());
    assert_eq!((links.len(), count), (4, 6));
    assert_eq!((links, count), (honest_links, honest_count));
    let (folds, block) = html.split_once("<!--").unwrap();
    assert_eq!(folds.replace("</details>", "").matches('<').count(), 2 * 3, "{folds}");
    assert_eq!(block.matches('<').count(), 0, "{block}");
}

#[test]
fn a_text_is_never_longer_than_a_forge_takes() {
    let mut story = stories::hostile();
    let long = "@#<|&`é ".repeat(40_000);
    story.summary.clone_from(&long);
    story.request.clone_from(&long);
    story.log.clone_from(&long);
    story.reasoning = "~`".repeat(200_000);
    story.own_template = Some(long.clone());
    story.risks = vec![long.clone(); 500];
    story.findings = vec![long; 500];
    let check = story.statement.receipt.checks[0].clone();
    story.statement.receipt.checks = vec![check; 500];
    let flag = story.statement.receipt.flags[0].clone();
    story.statement.receipt.flags = vec![flag; 500];
    let approval = &mut story.statement.receipt.approval;
    let paths = (0..20).map(|at| format!("{at}{}", "_".repeat(100)));
    approval.amendments[0].conditions.paths = Some(paths.collect());
    approval.amendments = vec![approval.amendments[0].clone(); 100];
    let text = text(&story);
    assert!(text.len() <= LIMIT, "{}", text.len());
    assert!(text.len() > LIMIT / 4, "not more is left off than must be: {}", text.len());
    assert!(text.contains("more checks were left off here; the receipt has them"));
    assert!(text.contains("bytes left off …]") && text.contains("*Cut here: the whole text has"));
    assert_eq!(Block::find(&text), Ok(Some(block(&story))));
}

#[test]
fn an_operators_template_replaces_ours_and_cannot_lose_the_block() {
    let story = stories::happy();
    let template = BodyTemplate::new("mine.md", "# {{ task }}\n{{ summary }}\n").unwrap();
    let text = template.text(&story.pull_request()).unwrap();
    assert!(text.starts_with("# t_01jbrt5cy4fnf8z40j6hb7h6nw\n> The test asked"), "{text}");
    assert_eq!(Block::find(&text), Ok(Some(block(&story))));
}

#[test]
fn a_mistake_in_a_template_is_told_with_its_line() {
    let told = |text: &str| BodyTemplate::new("mine.md", text).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            "a\n{{ sumary }}",
            "{% if links.tsk %}x{% endif %}",
            "{% if false %}{{ plan.hsh }}{% endif %}",
            "{% for x in checks %}{{ x.nam }}{% endfor %}",
            "\n{% if summary %}",
            "{% include 'x' %}",
            "<!-- Lamplighter:block v1",
            &"x".repeat(70_000),
        ]
        .map(told)
        .join("\n")
    );
}

#[test]
fn a_template_that_repeats_everything_is_told_to_be_too_long() {
    let template =
        BodyTemplate::new("mine.md", "{% for x in range(9000) %}{{ receipt }}{% endfor %}")
            .unwrap();
    let told = template.text(&stories::happy().pull_request()).unwrap_err().to_string();
    assert_eq!(told, "`mine.md` gives a text of more than 65536 bytes, however much is left off");
}

#[test]
fn values_are_never_read_as_templates() {
    let mut story = stories::happy();
    story.summary = "{{ task }} {% for x in checks %}".to_owned();
    assert!(text(&story).contains("> {{ task }} {% for x in checks %}"));
}

#[test]
fn a_text_without_a_block_or_with_several_is_told_apart() {
    let story = stories::happy();
    let ours = block(&story).to_text().unwrap();
    assert_eq!(Block::find("Just words about lamplighter"), Ok(None));
    assert_eq!(Block::find(&format!("{ours}\n{ours}")), Err(BlockError::Several(2)));
    let quoted = format!("{ours}\n> <!-- LAMPLIGHTER:block v1");
    assert_eq!(Block::find(&quoted), Err(BlockError::Several(2)), "nearly one counts too");
    assert_eq!(Block::find(&ours.replace("v1", "v2")), Err(BlockError::UnknownVersion));
    for broken in [
        format!("> {ours}"),
        format!("{ours} x"),
        ours.replace("\n-->", ""),
        ours.replace("<!-- ", "<!--"),
    ] {
        assert_eq!(Block::find(&broken), Err(BlockError::Broken), "{broken}");
    }
    for unreadable in
        [ours.replace("{\"task\"", "{ \"task\""), ours.replace("\"plan\"", "\"plans\"")]
    {
        let refused = Block::find(&unreadable);
        assert!(matches!(refused, Err(BlockError::Unreadable(_))), "{unreadable}");
    }
    let long = " ".repeat((1 << 20) + 1);
    assert_eq!(Block::find(&long), Err(BlockError::TooLong(long.len())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_agents_write_the_block_is_ours_and_the_text_fits(
        summary in hostile_text(), why in hostile_text(), risk in hostile_text(), log in hostile_text(), own in hostile_text(),
    ) {
        let story = stories::happy();
        let risks = [risk];
        let request = PullRequest {
            words: Words { summary: &summary, why: &why, risks: &risks, next: &risks, tests: &risks, tests_left_off: 3, findings: &risks, dismissed: &risks, flags: &risks, log: &log, reasoning: &log },
            own_template: Some(&own),
            ..story.pull_request()
        };
        let text = BodyTemplate::builtin().unwrap().text(&request).unwrap();
        prop_assert!(text.len() <= LIMIT);
        prop_assert_eq!(Block::find(&text), Ok(Some(block(&story))));
        prop_assert_eq!(text.matches("\n## Plan and approval\n").count() , 1 + own_heading(&own));
    }

    #[test]
    fn every_block_that_is_written_is_read_again(
        digest: [u8; 32], cost in 0u64..1 << 53, passed: u64, before in "[a-z \n]{0,40}", after in "(\n[a-z \n]{0,40})?",
    ) {
        let mut block = block(&stories::happy());
        block.receipt = Digest::from_bytes(digest);
        block.cost = domain::money::Money::from_micros(cost);
        block.checks.passed = passed;
        let text = format!("{before}\n{}{after}", block.to_text().unwrap());
        prop_assert_eq!(Block::find(&text), Ok(Some(block)));
    }
}

/// The repository's own template is its people's: what it says as a heading is one.
fn own_heading(own: &str) -> usize {
    own.matches("## Plan and approval").count()
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<!-- lamplighter:block v1\n{}\n-->\n".to_owned()),
        Just("\nLAMPLIGHTER:BLOCK".to_owned()),
        Just("```\n".to_owned()),
        Just("~~~~".to_owned()),
        Just("</details>\n".to_owned()),
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        Just("\n## Review\n".to_owned()),
        Just("| a | b |\n|---|---|\n".to_owned()),
        "(?s).{0,20}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}
