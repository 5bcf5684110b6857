//! Every relative link in a markdown file leads to a file of the tree, and to a heading that is there.

use std::path::{Component, Path, PathBuf};

use crate::tree::{assert_none, files_with, read, root};

#[test]
fn every_relative_markdown_link_resolves() {
    let mut wrong = Vec::new();
    for file in files_with("md") {
        for link in links(&file.text) {
            if let Err(why) = check(&file.path, &link) {
                wrong.push(format!("{}: `{link}` {why}", file.path));
            }
        }
    }
    assert_none("mend these links", &wrong);
}

fn check(from: &str, link: &str) -> Result<(), String> {
    let is_elsewhere = link.contains("://") || link.starts_with("mailto:");
    if is_elsewhere {
        return Ok(());
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        from.to_owned()
    } else {
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
        normal(&beside).ok_or("leaves the tree")?
    };
    if !root().join(&target).exists() {
        return Err("leads nowhere".to_owned());
    }
    if heading.is_empty() || headings(&read(&target)).any(|found| found == heading) {
        return Ok(());
    }
    Err(format!("names a heading that {target} does not have"))
}

/// The path without `.` and `..`; nothing when it would leave the root.
fn normal(path: &Path) -> Option<String> {
    let mut parts = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !parts.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    parts.to_str().map(str::to_owned)
}

/// The targets of all inline links, those in code left out.
fn links(text: &str) -> Vec<String> {
    prose(text)
        .flat_map(|line| {
            // Every second piece between backticks is code.
            let outside: Vec<&str> = line.split('`').step_by(2).collect();
            let outside = outside.join("`");
            let after_brackets = outside.split("](").skip(1);
            let targets =
                after_brackets.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
            targets.collect::<Vec<String>>()
        })
        .collect()
}

/// The headings, spelt as the forges spell their anchors.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter(|line| line.starts_with('#')).map(|line| {
        line.trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter(|character| character.is_alphanumeric() || " -_".contains(*character))
            .map(|character| if character == ' ' { '-' } else { character })
            .collect()
    })
}

/// The lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

#[test]
fn links_in_code_are_not_links() {
    let text = "see [a](b.md) and `[c](d.md)`, [`e`](f.md#g)\n```\n[h](i.md)\n```\n";
    assert_eq!(links(text), ["b.md", "f.md#g"]);
}

#[test]
fn a_link_may_not_leave_the_tree() {
    assert_eq!(normal(Path::new("docs/decisions/../STYLE.md")).as_deref(), Some("docs/STYLE.md"));
    assert_eq!(normal(Path::new("docs/../../elsewhere")), None);
}

#[test]
fn headings_are_spelt_as_anchors() {
    let found: Vec<String> = headings("# The path of a task\n## Motor: domain, store\n").collect();
    assert_eq!(found, ["the-path-of-a-task", "motor-domain-store"]);
}
