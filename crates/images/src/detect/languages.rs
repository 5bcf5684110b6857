//! Rust, Go, Ruby and PHP: one manifest, one lockfile, one command.

use super::{Step, tree::Place};

pub(super) fn cargo(place: &Place<'_>) -> Option<Step> {
    let is_member =
        place.above().is_some_and(|root| root.has("Cargo.toml")) && !place.has("Cargo.lock");
    if is_member {
        return None;
    }
    simple(place, "Cargo.toml", "Cargo.lock", "cargo fetch --locked", "cargo fetch")
}

pub(super) fn go(place: &Place<'_>) -> Option<Step> {
    let is_member = place.above().is_some_and(|root| root.has("go.work"));
    if is_member {
        return None;
    }
    let download = "go mod download";
    let workspace = || simple(place, "go.work", "go.work.sum", download, download);
    workspace().or_else(|| simple(place, "go.mod", "go.sum", download, download))
}

pub(super) fn bundler(place: &Place<'_>) -> Option<Step> {
    simple(place, "Gemfile", "Gemfile.lock", "BUNDLE_FROZEN=true bundle install", "bundle install")
}

pub(super) fn composer(place: &Place<'_>) -> Option<Step> {
    let install = "composer install --no-interaction";
    simple(place, "composer.json", "composer.lock", install, install)
}

fn simple(
    place: &Place<'_>,
    manifest: &str,
    lockfile: &str,
    locked: &str,
    free: &str,
) -> Option<Step> {
    if !place.has(manifest) {
        return None;
    }
    let lockfile = place.first(&[lockfile]);
    let command = if lockfile.is_some() { locked } else { free };
    Some(Step {
        command: command.to_owned(),
        because: [Some(manifest), lockfile].into_iter().flatten().map(str::to_owned).collect(),
        lockfiles: vec![lockfile.unwrap_or(manifest).to_owned()],
    })
}
