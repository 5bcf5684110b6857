//! Detection on whole repositories, each written down as one text file: no Makefile or workflow of an example lies about as a real one,
//! for tools (and for ourselves) to find.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of any test function")]

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use feedback::checks::{Files, detect};

/// `-- path --` begins a file.
fn files(text: &str) -> Files {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut path = None;
    for line in text.lines() {
        let head = line.strip_prefix("-- ").and_then(|line| line.strip_suffix(" --"));
        if let Some(head) = head {
            files.insert(head.to_owned(), Vec::new());
            path = Some(head);
            continue;
        }
        let bytes = files.get_mut(path.unwrap()).unwrap();
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    Files(files)
}

fn told(files: &Files) -> String {
    let mut told = String::new();
    for check in detect(files) {
        let confidence = format!("{:?}", check.confidence).to_lowercase();
        writeln!(told, "{:6} {:10} {}", check.kind, check.directory.as_str(), check.command)
            .unwrap();
        writeln!(told, "       {confidence}: {}", check.why).unwrap();
    }
    if told.is_empty() { "nothing\n".to_owned() } else { told }
}

#[test]
fn the_checks_of_real_layouts_are_found() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layouts");
    let mut layouts: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    layouts.sort();
    assert!(layouts.len() >= 15, "there are only {}", layouts.len());
    let mut all = String::new();
    for layout in layouts {
        let name = layout.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&layout).unwrap();
        writeln!(all, "# {name}\n{}", told(&files(&text))).unwrap();
    }
    insta::assert_snapshot!(all);
}
