//! What the checks of a Makefile, a justfile or a `package.json` run, by their commands.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{justfile::JUST, makefile::MAKE, package_scripts, targets::Dialect};

/// The lines behind each check that this file names. Nothing for files that name none.
pub(crate) fn recipes(path: &str, text: &str) -> BTreeMap<String, Vec<String>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "package.json" {
        return scripts(text);
    }
    let mut dialects = [MAKE, JUST].into_iter();
    let Some(dialect) = dialects.find(|it| it.files.contains(&name)) else {
        return BTreeMap::new();
    };
    let Dialect { program, parse, .. } = dialect;
    let mut recipes = parse(text).recipes(program);
    for lines in recipes.values_mut() {
        // What stands in a variable is a part of every line that names one.
        if lines.iter().any(|line| line.contains('$') || line.contains("{{")) {
            lines.extend(settings(text));
        }
    }
    recipes
}

/// Whether make would read a file of this name instead of a `Makefile` beside it.
pub(crate) fn goes_before_another(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    MAKE.files.split_last().is_some_and(|(_usual, before)| before.contains(&name))
}

fn settings(text: &str) -> impl Iterator<Item = String> {
    let plain = |line: &&str| !line.starts_with([' ', '\t', '#']) && line.contains('=');
    text.lines().filter(plain).take(200).map(|line| line.trim().to_owned())
}

fn scripts(text: &str) -> BTreeMap<String, Vec<String>> {
    let Some(manifest) = package_scripts::parse(text) else { return BTreeMap::new() };
    let bodies = manifest.get("scripts").and_then(Value::as_object);
    let body = |name: &str| Some(bodies?.get(name)?.as_str()?.to_owned());
    package_scripts::scripts(&manifest)
        .filter_map(|(name, _)| Some((format!("run {name}"), vec![body(name)?])))
        .collect()
}
