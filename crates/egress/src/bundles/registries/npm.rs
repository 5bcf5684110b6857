//! npm, and all that read `.npmrc`: pnpm, yarn, bun.

use super::{Answers, Found, Sources, settings};

const DEFAULT: &[&str] = &["npm", "config", "get", "registry"];

pub(super) const SOURCES: Sources = Sources {
    commands: &[DEFAULT],
    complaints: &[],
    files: &["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "~/.npmrc"],
    variables: &["npm_config_registry", "NPM_CONFIG_REGISTRY"],
};

/// The registry that npm answers with, and one for each scope that has its own.
pub(super) fn places(answers: &Answers) -> Found {
    let mut found = Found::default();
    if let Some(default) = answers.command(DEFAULT) {
        found.add("npm config get registry", default);
    }
    for name in SOURCES.variables {
        if let Some(value) = answers.variable(name) {
            found.add(name, value);
        }
    }
    for (name, value) in answers.files.iter().flat_map(|text| settings(text)) {
        let is_registry =
            name == "registry" || (name.starts_with('@') && name.ends_with(":registry"));
        if is_registry {
            found.add(&format!(".npmrc: {name}"), value);
        }
    }
    found
}
