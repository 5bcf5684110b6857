//! Words of agents and people in a pull request and in a commit: the block and the trailers there are ours, and the text fits.
//!
//! The input is a whole text if it begins with `B`. Otherwise it is up to five texts, divided by zero bytes: summary, why, a risk, a log, and the
//! repository's own template.
#![no_main]

use std::sync::LazyLock;

use domain::digest::Digest;
use evidence::{
    body::{Block, BodyTemplate, LIMIT, Links, PullRequest, Words},
    commit::{BranchTemplate, Message, Trailers},
    receipt::Statement,
};
use libfuzzer_sys::fuzz_target;

static STATEMENT: LazyLock<Statement> = LazyLock::new(|| {
    Statement::read(include_bytes!("../seeds/receipt/payload")).expect("a statement")
});
static TEMPLATE: LazyLock<BodyTemplate> =
    LazyLock::new(|| BodyTemplate::builtin().expect("a template"));

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if let Some(text) = text.strip_prefix('B') {
        if let Ok(Some(block)) = Block::find(text) {
            let written = block.to_text().expect("what was read can be written");
            assert!(text.replace("\r\n", "\n").contains(&written), "one spelling");
        }
        return;
    }
    let texts: Vec<&str> = text.splitn(5, '\0').collect();
    let text = |at: usize| texts.get(at).copied().unwrap_or_default();
    let risks = [text(2).to_owned()];
    let receipt = Digest::of(b"receipt");
    let request = PullRequest {
        statement: &STATEMENT,
        receipt,
        words: Words {
            summary: text(0),
            why: text(1),
            risks: &risks,
            next: &risks,
            tests: &risks,
            tests_left_off: 1,
            findings: &risks,
            dismissed: &risks,
            flags: &risks,
            log: text(3),
            reasoning: text(3),
        },
        coverage: None,
        links: Links::default(),
        own_template: texts.get(4).copied(),
    };
    let body = TEMPLATE.text(&request).expect("there is always a text");
    assert!(body.len() <= LIMIT);
    assert_eq!(Block::find(&body), Ok(Some(Block::of(&STATEMENT, receipt))));

    let trailers = Trailers { task: STATEMENT.receipt.task, plan: STATEMENT.receipt.plan };
    let message = Message::new(text(0), text(1), &[], trailers).to_string();
    assert_eq!(Trailers::read(&message), Some(trailers));
    let branch = BranchTemplate::default().name(trailers.task, text(0)).expect("a branch");
    assert!(branch.as_str().starts_with("agent/t_"));
});
