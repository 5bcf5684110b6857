//! Makefiles: the targets whose names promise a check.

use super::targets::{Dialect, Targets, is_typable};

/// In the order in which make looks for them.
pub(super) const MAKE: Dialect =
    Dialect { files: &["GNUmakefile", "makefile", "Makefile"], program: "make", parse };

fn parse(text: &str) -> Targets {
    let mut targets = Targets::default();
    let mut current: Vec<&str> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(recipe) = line.strip_prefix('\t') {
            let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).trim();
            if !recipe.is_empty() && !recipe.starts_with('#') {
                for name in &current {
                    targets.add_line(name, recipe);
                }
            }
            continue;
        }
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = variable(line) {
            targets.set(name, value);
        }
        current = rule(line).map_or(Vec::new(), |(names, needs)| {
            for name in &names {
                targets.add((number, name), needs.split_whitespace().filter(|word| *word != "|"));
            }
            names
        });
        if let Some((_, recipe)) = line.split_once(';') {
            for name in &current {
                targets.add_line(name, recipe.trim());
            }
        }
    }
    targets
}

/// `NAME ?= value`.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches(['?', ':', '+']).trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value.split('#').next().unwrap_or_default().trim()))
}

/// `names: needs`, unless the line sets a variable or is meant for make itself.
fn rule(line: &str) -> Option<(Vec<&str>, &str)> {
    let line = line.split('#').next().unwrap_or_default();
    let (names, needs) = line.split_once(':')?;
    let needs = needs.strip_prefix(':').unwrap_or(needs);
    if names.contains('=') || needs.starts_with('=') || needs.contains('=') {
        return None;
    }
    // A few names may share a recipe; a long list is generated.
    let names: Vec<&str> = names
        .split_whitespace()
        .take(8)
        .filter(|name| is_typable(name) && !name.starts_with('.'))
        .collect();
    let needs = needs.split(';').next().unwrap_or_default();
    (!names.is_empty()).then_some((names, needs))
}
