//! Rust, Go, Ruby and PHP: one manifest, one lockfile, one command.

use domain::policy::Ecosystem;

use super::{Step, toml, tree::Place};

/// A project may name a toolchain that the host does not have, and none can be installed into what is shown read-only. The default one is
/// better than none.
const RUST: &str = r#"{ cargo --version >/dev/null 2>&1 || ! command -v rustup >/dev/null || { echo 'the toolchain that this project names is not installed on the host; its default is used' && mkdir -p "$HOME/.local/bin" && bin=$(dirname "$(cd / && rustup which cargo)") && ln -sf "$bin"/* "$HOME/.local/bin/"; }; }"#;

pub(super) fn cargo(place: &Place<'_>) -> Option<Step> {
    let is_member =
        place.above().is_some_and(|root| root.has("Cargo.toml")) && !place.has("Cargo.lock");
    if is_member {
        return None;
    }
    let (manifest, lock) = (place.text("Cargo.toml"), place.text("Cargo.lock"));
    // What a lockfile names comes from somewhere, but for the project itself.
    let needs = if lock.is_empty() {
        manifest.contains("dependencies") || toml::has(&manifest, "workspace")
    } else {
        lock.contains("\nsource = ")
    };
    if !needs {
        return None;
    }
    let names_toolchain = [Some(place), place.above()]
        .into_iter()
        .flatten()
        .any(|place| place.first(&["rust-toolchain", "rust-toolchain.toml"]).is_some());
    let step = simple(place, ["Cargo.toml", "Cargo.lock"], ["cargo fetch --locked", "cargo fetch"]);
    let mut step = Step { registries: vec![Ecosystem::Crates], ..step? };
    if names_toolchain {
        step.command = format!("{RUST} && {}", step.command);
    }
    Some(step)
}

pub(super) fn go(place: &Place<'_>) -> Option<Step> {
    let is_member = place.above().is_some_and(|root| root.has("go.work"));
    if is_member {
        return None;
    }
    let is_alone = place.has("go.mod") && !place.text("go.mod").contains("require");
    if is_alone && !place.has("go.work") {
        return None;
    }
    let download = ["go mod download"; 2];
    let workspace = simple(place, ["go.work", "go.work.sum"], download);
    let step = workspace.or_else(|| simple(place, ["go.mod", "go.sum"], download))?;
    Some(Step { registries: vec![Ecosystem::Go], ..step })
}

/// Gems are kept in the home: the system's belong to root, and a directory in the checkout would be a change.
pub(super) fn bundler(place: &Place<'_>) -> Option<Step> {
    let path = "bundle config set --global path \"$HOME/.gems\"";
    let install = [
        format!("{path} && BUNDLE_FROZEN=true bundle install"),
        format!("{path} && bundle install"),
    ];
    simple(place, ["Gemfile", "Gemfile.lock"], install.each_ref().map(String::as_str))
}

pub(super) fn composer(place: &Place<'_>) -> Option<Step> {
    let install = "composer install --no-interaction --no-progress";
    simple(place, ["composer.json", "composer.lock"], [install; 2])
}

fn simple(
    place: &Place<'_>,
    [manifest, lockfile]: [&str; 2],
    [locked, free]: [&str; 2],
) -> Option<Step> {
    if !place.has(manifest) {
        return None;
    }
    let lockfile = place.first(&[lockfile]);
    let command = if lockfile.is_some() { locked } else { free };
    let files: Vec<String> =
        [Some(manifest), lockfile].into_iter().flatten().map(str::to_owned).collect();
    Some(Step {
        command: command.to_owned(),
        because: files.clone(),
        lockfiles: files,
        registries: Vec::new(),
    })
}
