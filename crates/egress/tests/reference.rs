//! The page of bundles in `docs/reference` says what the tables do.
//!
//! `UPDATE_REFERENCE=1 cargo test -p egress --test reference` writes it anew.

use std::path::Path;

const BEGIN: &str = "<!-- bundles: written by crates/egress/tests/reference.rs -->\n";
const END: &str = "\n<!-- end of bundles -->";

#[test]
fn the_page_of_bundles_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/bundles.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the bundles");
    let (_old, after) = rest.split_once(END).expect("the place has an end");
    let bundles = egress::bundles::reference::page().expect("the tables are right");
    let wanted = format!("{before}{BEGIN}\n{bundles}{END}{after}");
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var("UPDATE_REFERENCE").is_ok_and(|value| value == "1");
    if update {
        std::fs::write(&path, &wanted).expect("the page can be written");
    }
    assert!(
        update || page == wanted,
        "docs/reference/bundles.md is old: run this test with UPDATE_REFERENCE=1"
    );
}
