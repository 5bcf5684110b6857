//! npm, pnpm, yarn and bun.

use super::{Step, tree::Place};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Pnpm,
    Yarn,
    Bun,
    Npm,
}

/// A tool, and the files that it keeps. Where there are several, the earlier is the one in use: npm's is often a leftover.
const TOOLS: [(Tool, &str, &[&str]); 4] = [
    (Tool::Pnpm, "pnpm", &["pnpm-lock.yaml"]),
    (Tool::Yarn, "yarn", &["yarn.lock"]),
    (Tool::Bun, "bun", &["bun.lock", "bun.lockb"]),
    (Tool::Npm, "npm", &["npm-shrinkwrap.json", "package-lock.json"]),
];

const MANIFEST: &str = "package.json";

pub(super) fn step(place: &Place<'_>) -> Option<Step> {
    if !place.has(MANIFEST) {
        return None;
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&place.text(MANIFEST)).unwrap_or_default();
    let locked = TOOLS.iter().find_map(|(tool, _, files)| Some((*tool, place.first(files)?)));
    let is_member = place.above().is_some_and(has_workspaces);
    if is_member && locked.is_none() {
        return None;
    }
    let declared =
        manifest.get("packageManager").and_then(|value| value.as_str()).and_then(|text| {
            let name = text.split('@').next()?;
            TOOLS.iter().find(|(_, known, _)| *known == name)
        });
    let (tool, lockfile) = match declared {
        Some((tool, _, files)) => (*tool, place.first(files)),
        None => locked.map_or((Tool::Npm, None), |(tool, file)| (tool, Some(file))),
    };
    let command = match (tool, lockfile) {
        (Tool::Pnpm, Some(_)) => "pnpm install --frozen-lockfile",
        (Tool::Pnpm, None) => "pnpm install",
        (Tool::Yarn, Some(_)) if is_classic(place) => "yarn install --frozen-lockfile",
        (Tool::Yarn, Some(_)) => "yarn install --immutable",
        (Tool::Yarn, None) => "yarn install",
        (Tool::Bun, Some(_)) => "bun install --frozen-lockfile",
        (Tool::Bun, None) => "bun install",
        (Tool::Npm, Some(_)) => "npm ci",
        (Tool::Npm, None) => "npm install",
    };
    Some(Step {
        command: command.to_owned(),
        because: [Some(MANIFEST), lockfile].into_iter().flatten().map(str::to_owned).collect(),
        lockfiles: vec![lockfile.unwrap_or(MANIFEST).to_owned()],
    })
}

/// Yarn 1 has another flag, and another lockfile, than its successors.
fn is_classic(place: &Place<'_>) -> bool {
    let lock = place.text("yarn.lock");
    let is_berry = place.has(".yarnrc.yml") || lock.lines().any(|line| line == "__metadata:");
    !is_berry
}

/// Whether the packages below are installed from here.
fn has_workspaces(root: &Place<'_>) -> bool {
    let manifest: serde_json::Value =
        serde_json::from_str(&root.text(MANIFEST)).unwrap_or_default();
    root.has("pnpm-workspace.yaml") || manifest.get("workspaces").is_some()
}
