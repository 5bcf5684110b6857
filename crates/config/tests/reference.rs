//! The pages and schemas in `docs/reference` say what the readers do.
//!
//! `UPDATE_REFERENCE=1 cargo test -p config --test reference` writes them anew.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of any test function")]

use std::path::{Path, PathBuf};

use config::{FileKind, check_as};

const BEGIN: &str = "<!-- keys: written by crates/config/tests/reference.rs -->\n";
const END: &str = "\n<!-- end of keys -->";

fn page_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Server => "lamp-file",
        FileKind::Agent => "agent-file",
        FileKind::Policy => "policy-file",
    }
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

/// The file's content, after writing `wanted` into it if that was asked for.
fn content(name: &str, wanted: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var("UPDATE_REFERENCE").is_ok_and(|value| value == "1");
    if update {
        fs_err::write(reference(name), wanted).unwrap();
    }
    fs_err::read_to_string(reference(name)).unwrap_or_default()
}

fn assert_current(name: &str, wanted: &str) {
    let is_current = content(name, wanted) == wanted;
    assert!(is_current, "docs/reference/{name} is old: run this test with UPDATE_REFERENCE=1");
}

#[test]
fn schemas_are_current() {
    for kind in FileKind::ALL {
        let schema = serde_json::to_string_pretty(&kind.schema()).unwrap() + "\n";
        assert_current(&format!("{}.schema.json", page_name(kind)), &schema);
    }
}

#[test]
fn tables_are_current() {
    for kind in FileKind::ALL {
        let name = format!("{}.md", page_name(kind));
        let page = fs_err::read_to_string(reference(&name)).unwrap();
        let (before, rest) = page.split_once(BEGIN).expect("the page has a place for its keys");
        let (_old, after) = rest.split_once(END).expect("the place has an end");
        assert_current(&name, &format!("{before}{BEGIN}\n{}\n{END}{after}", kind.tables()));
    }
}

/// A page that shows a wrong example is worse than none.
#[test]
fn examples_in_the_pages_are_right() {
    for kind in FileKind::ALL {
        let name = format!("{}.md", page_name(kind));
        let page = fs_err::read_to_string(reference(&name)).unwrap();
        let examples: Vec<&str> =
            page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            if let Err(invalid) = check_as(kind, &name, example) {
                panic!("{invalid}");
            }
        }
    }
}
