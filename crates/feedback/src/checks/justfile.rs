//! justfiles: the recipes whose names promise a check.

use super::targets::{Dialect, Targets, is_typable};

pub(super) const JUST: Dialect =
    Dialect { files: &["justfile", "Justfile", ".justfile"], program: "just", parse };

fn parse(text: &str) -> Targets {
    let mut targets = Targets::default();
    let mut current: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let recipe = line.trim().trim_start_matches(['@', '-']);
            if let Some(name) = current {
                targets.add_line(name, recipe);
            }
            continue;
        }
        current = recipe(line).map(|(name, needs)| {
            targets.add((number, name), needs.split_whitespace().filter(|word| *word != "&&"));
            name
        });
    }
    targets
}

/// `name: needs`. One that wants arguments without defaults cannot be run as it is.
fn recipe(line: &str) -> Option<(&str, &str)> {
    let (head, needs) = line.split_once(':')?;
    if needs.starts_with('=') {
        return None;
    }
    let mut words = head.split_whitespace();
    let name = words.next()?.trim_start_matches('@');
    let wants_arguments = words.any(|word| !word.contains('=') && !word.starts_with('*'));
    let is_setting = matches!(name, "set" | "alias" | "export" | "import" | "mod");
    (is_typable(name) && !name.starts_with('_') && !wants_arguments && !is_setting)
        .then_some((name, needs))
}
