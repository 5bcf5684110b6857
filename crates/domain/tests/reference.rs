//! The page of failures in `docs/reference` says what the table does.
//!
//! `UPDATE_REFERENCE=1 cargo test -p domain --test reference` writes it anew.

use std::{fmt::Write as _, path::Path};

use domain::failure::{Ending, FailureKind};

fn page() -> String {
    let mut page = String::from(
        "# Failures\n\nWhat can stop a task, by its stable name, and what to do about it. Written by `crates/domain/tests/reference.rs`.\n\n\
         A task that *pauses* waits for a person, costs nothing, and goes on with `lamp resume`. One that *ends* can be begun again with\n\
         `lamp retry`.\n\n| name | the task | what to do |\n|---|---|---|\n",
    );
    for kind in FailureKind::ALL {
        let ending = match kind.ending() {
            Ending::Pauses => "pauses",
            Ending::Ends => "ends",
        };
        // Writing to a string does not fail.
        let _written = writeln!(page, "| `{}` | {ending} | {} |", kind.name(), kind.remedy());
    }
    page
}

#[test]
fn the_page_of_failures_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/failures.md");
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var("UPDATE_REFERENCE").is_ok_and(|value| value == "1");
    if update {
        std::fs::write(&path, page()).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).expect("the page is there");
    assert!(written == page(), "docs/reference/failures.md is old: run with UPDATE_REFERENCE=1");
}
