//! Packages that a change brings: what manifests and lock files name that they did not name before (EG5).
//!
//! Whoever adds a package adds the code of strangers, and a line of a manifest is easily passed over. What is read here is read for people,
//! never to install anything: readers are small, bounded and forgiving, and a file that cannot be read is told as such.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a package is called, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub name: String,
    /// As it is written: a version, or what is asked for.
    pub version: String,
    /// Where packages of this kind come from, and the host, where the file says one.
    pub registry: String,
}

/// Larger files are told as not read.
const LARGEST: usize = 8 << 20;

/// Packages of one file.
const MOST: usize = 100_000;

/// Characters of a name or a version.
const LONGEST: usize = 120;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    PackageJson,
    NpmLock,
    YarnLock,
    PnpmLock,
    /// `[[package]]` with `name` and `version`: Cargo, uv and poetry.
    Blocks(&'static str),
    CargoToml,
    Pyproject,
    Requirements,
    GoMod,
    GemfileLock,
    ComposerJson,
    ComposerLock,
    Pom,
}

fn kind(path: &[u8]) -> Option<Kind> {
    let path = std::str::from_utf8(path).ok()?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_list = |name: &str| {
        let stem = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".in"));
        stem.is_some_and(|stem| stem.contains("requirements") || stem.contains("constraints"))
    };
    Some(match name {
        "package.json" => Kind::PackageJson,
        "package-lock.json" | "npm-shrinkwrap.json" => Kind::NpmLock,
        "yarn.lock" => Kind::YarnLock,
        "pnpm-lock.yaml" => Kind::PnpmLock,
        "Cargo.lock" => Kind::Blocks("crates"),
        "uv.lock" | "poetry.lock" | "pdm.lock" => Kind::Blocks("PyPI"),
        "Cargo.toml" => Kind::CargoToml,
        "pyproject.toml" => Kind::Pyproject,
        "go.mod" => Kind::GoMod,
        "Gemfile.lock" => Kind::GemfileLock,
        "composer.json" => Kind::ComposerJson,
        "composer.lock" => Kind::ComposerLock,
        "pom.xml" => Kind::Pom,
        name if is_list(name) => Kind::Requirements,
        _other => return None,
    })
}

/// What the new file names and the old one did not. `None`: the new file is one that names packages, and cannot be read.
fn added(path: &[u8], old: Option<&[u8]>, new: &[u8]) -> Option<Vec<Package>> {
    let Some(kind) = kind(path) else { return Some(Vec::new()) };
    let after = named(kind, new)?;
    let before = old.and_then(|old| named(kind, old)).unwrap_or_default();
    Some(after.into_values().filter(|package| !before.contains_key(&package.name)).collect())
}

/// All that a file names, by name.
fn named(kind: Kind, bytes: &[u8]) -> Option<BTreeMap<String, Package>> {
    if bytes.len() > LARGEST {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut found = Found::default();
    match kind {
        Kind::PackageJson => {
            let sections =
                ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
            json_sections(text, &sections, "npm", &mut found)?;
        }
        Kind::ComposerJson => {
            json_sections(text, &["require", "require-dev"], "Packagist", &mut found)?;
        }
        Kind::NpmLock => npm_lock(text, &mut found)?,
        Kind::ComposerLock => composer_lock(text, &mut found)?,
        Kind::YarnLock => yarn_lock(text, &mut found),
        Kind::PnpmLock => pnpm_lock(text, &mut found),
        Kind::Blocks(registry) => blocks(text, registry, &mut found),
        Kind::CargoToml => cargo_toml(text, &mut found),
        Kind::Pyproject => pyproject(text, &mut found),
        Kind::Requirements => text.lines().for_each(|line| found.requirement(line)),
        Kind::GoMod => go_mod(text, &mut found),
        Kind::GemfileLock => gemfile_lock(text, &mut found),
        Kind::Pom => pom(text, &mut found),
    }
    Some(found.0)
}

#[derive(Debug, Default)]
struct Found(BTreeMap<String, Package>);

impl Found {
    fn add(&mut self, name: &str, version: &str, registry: &str) {
        let name = plain(name);
        if name.is_empty() || self.0.len() >= MOST {
            return;
        }
        let (version, registry) = (comparison(version), plain(registry));
        let package = Package { name: name.clone(), version, registry };
        self.0.entry(name).or_insert(package);
    }

    /// `requests[socks]>=2.0; python_version > "3"`, with a name that is spelled in one way.
    fn requirement(&mut self, line: &str) {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with(['#', '-']) {
            return;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let rest = rest.split(';').next().unwrap_or_default().trim();
        let spelled = name.to_ascii_lowercase().replace(['_', '.'], "-");
        self.add(&spelled, rest, "PyPI");
    }
}

/// Nothing that could write anything but its own name where it is shown.
fn plain(text: &str) -> String {
    shown(text, |c| !matches!(c, '`' | '<' | '>' | '|' | '\\'))
}

/// The same of a version, which may be a comparison: `>=2`, `^1 || ^2`. Whoever shows it escapes what that means there.
fn comparison(text: &str) -> String {
    shown(text, |c| !matches!(c, '`' | '\\'))
}

fn shown(text: &str, is_harmless: impl Fn(char) -> bool) -> String {
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && is_harmless(c);
    text.trim().chars().take(LONGEST).map(|c| if is_plain(c) { c } else { '?' }).collect()
}

fn json_sections(text: &str, sections: &[&str], registry: &str, found: &mut Found) -> Option<()> {
    let file: Value = serde_json::from_str(text).ok()?;
    for section in sections {
        let Some(Value::Object(section)) = file.get(section) else { continue };
        for (name, version) in section {
            found.add(name, version.as_str().unwrap_or_default(), registry);
        }
    }
    Some(())
}

/// The host of an address, where it is one.
fn host(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host))
}

fn npm_lock(text: &str, found: &mut Found) -> Option<()> {
    let file: Value = serde_json::from_str(text).ok()?;
    let word = |entry: &Value, key: &str| {
        entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut add = |name: &str, entry: &Value| {
        let resolved = word(entry, "resolved");
        let registry = host(&resolved).map_or_else(|| "npm".to_owned(), |it| format!("npm, {it}"));
        found.add(name, &word(entry, "version"), &registry);
    };
    if let Some(Value::Object(packages)) = file.get("packages") {
        for (path, entry) in packages {
            if let Some((_, name)) = path.rsplit_once("node_modules/") {
                add(name, entry);
            }
        }
    }
    if let Some(Value::Object(packages)) = file.get("dependencies") {
        packages.iter().for_each(|(name, entry)| add(name, entry));
    }
    Some(())
}

fn composer_lock(text: &str, found: &mut Found) -> Option<()> {
    let file: Value = serde_json::from_str(text).ok()?;
    for section in ["packages", "packages-dev"] {
        let Some(Value::Array(packages)) = file.get(section) else { continue };
        for package in packages {
            let word = |key| package.get(key).and_then(Value::as_str).unwrap_or_default();
            found.add(word("name"), word("version"), "Packagist");
        }
    }
    Some(())
}

/// `"@scope/name@^1.0.0, @scope/name@^1.1.0":` and a line `  version "1.2.3"`.
fn yarn_lock(text: &str, found: &mut Found) {
    let mut name: Option<String> = None;
    for line in text.lines() {
        if !line.starts_with([' ', '#']) && line.ends_with(':') {
            let first = line.trim_end_matches(':').split(", ").next().unwrap_or_default();
            name = name_before_at(first.trim_matches('"'));
        } else if let Some(version) = line.trim().strip_prefix("version")
            && let Some(name) = name.take()
            && name != "__metadata"
        {
            found.add(&name, version.trim_start_matches(':').trim().trim_matches('"'), "npm");
        }
    }
}

/// `@scope/name@1.0.0` is of `@scope/name`.
fn name_before_at(text: &str) -> Option<String> {
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    text.get(..at.unwrap_or(text.len())).map(str::to_owned)
}

/// `  '@scope/name@1.0.0':` or `  /name@1.0.0(peer@2):` below `packages:`.
fn pnpm_lock(text: &str, found: &mut Found) {
    let mut is_inside = false;
    for line in text.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            is_inside = line.starts_with("packages:");
            continue;
        }
        let is_key = line.starts_with("  ") && !line.starts_with("   ");
        let Some(key) = line.trim().strip_suffix(':').filter(|_| is_inside && is_key) else {
            continue;
        };
        let key = key.trim_matches(['\'', '"']).trim_start_matches('/');
        let Some(name) = name_before_at(key) else { continue };
        let version = key.get(name.len()..).unwrap_or_default().trim_start_matches('@');
        found.add(&name, version.split('(').next().unwrap_or_default(), "npm");
    }
}

fn blocks(text: &str, registry: &str, found: &mut Found) {
    let (mut name, mut version, mut from) = (String::new(), String::new(), None);
    let value = |line: &str, key: &str| {
        let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
        Some(rest.trim().to_owned())
    };
    for line in text.lines().chain(["[[package]]"]) {
        let line = line.trim();
        if line == "[[package]]" {
            let from: Option<String> = from.take();
            let from = from.as_deref().and_then(host).map(|host| format!("{registry}, {host}"));
            found.add(&name, &version, from.as_deref().unwrap_or(registry));
            (name, version) = (String::new(), String::new());
        } else if let Some(it) = value(line, "name").filter(|_| name.is_empty()) {
            it.trim_matches('"').clone_into(&mut name);
        } else if let Some(it) = value(line, "version").filter(|_| version.is_empty()) {
            it.trim_matches('"').clone_into(&mut version);
        } else if let Some(it) = value(line, "source") {
            from = it.split('"').find(|part| part.contains("://")).map(str::to_owned);
        }
    }
}

/// `[a.b]` of a line of TOML.
fn section(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?.split(']').next()?;
    Some(inner.trim_matches('['))
}

fn cargo_toml(text: &str, found: &mut Found) {
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = section(line) {
            let is_of = |part: &str| part.ends_with("dependencies");
            is_inside = section.rsplit('.').next().is_some_and(is_of);
            // `[dependencies.serde]`
            if let Some((above, name)) = section.rsplit_once('.')
                && above.rsplit('.').next().is_some_and(is_of)
            {
                found.add(name.trim_matches('"'), "", "crates");
            }
            continue;
        }
        if is_inside {
            entry(line, "crates", found);
        }
    }
}

/// `name = "1"` or `name = { version = "1" }`.
fn entry(line: &str, registry: &str, found: &mut Found) {
    let Some((name, value)) = line.split_once('=') else { return };
    let name = name.trim().trim_matches('"');
    let name = name.split('.').next().unwrap_or_default();
    if name.is_empty() || name.starts_with('#') {
        return;
    }
    let version = match value.split_once("version") {
        Some((_, rest)) => rest.split('"').nth(1).unwrap_or_default(),
        None => value.split('"').nth(1).unwrap_or_default(),
    };
    found.add(name, version, registry);
}

fn pyproject(text: &str, found: &mut Found) {
    let (mut name, mut is_list) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(section) = section(line).filter(|_| !is_list) {
            section.clone_into(&mut name);
            continue;
        }
        if name.starts_with("tool.poetry") && name.ends_with("dependencies") {
            if !line.starts_with("python ") && !line.starts_with("python=") {
                entry(line, "PyPI", found);
            }
            continue;
        }
        let begins = match name.as_str() {
            "project" => line.starts_with("dependencies"),
            "build-system" => line.starts_with("requires"),
            "project.optional-dependencies" | "dependency-groups" => line.contains('['),
            _other => false,
        };
        let listed = if begins && !is_list { line.split_once('[').map(|it| it.1) } else { None };
        let listed = listed.or_else(|| is_list.then_some(line));
        let Some(listed) = listed else { continue };
        let quote = if listed.contains('\'') && !listed.contains('"') { '\'' } else { '"' };
        for part in listed.split(quote).skip(1).step_by(2) {
            found.requirement(part);
        }
        // What stands in quotes may hold brackets: extras.
        let outside: String = listed.split(quote).step_by(2).collect();
        is_list = !outside.contains(']');
    }
}

fn go_mod(text: &str, found: &mut Found) {
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        match line {
            "require (" => is_inside = true,
            ")" => is_inside = false,
            line => {
                let one = line.strip_prefix("require ").or_else(|| is_inside.then_some(line));
                let mut words = one.unwrap_or_default().split_whitespace();
                if let (Some(name), Some(version)) = (words.next(), words.next())
                    && !name.starts_with("//")
                {
                    found.add(name, version, "Go");
                }
            }
        }
    }
}

/// `    name (1.2.3)` below `specs:`.
fn gemfile_lock(text: &str, found: &mut Found) {
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')) else {
            continue;
        };
        if let Some((name, version)) = rest.split_once(" (") {
            found.add(name, version.trim_end_matches(')'), "RubyGems");
        }
    }
}

fn pom(text: &str, found: &mut Found) {
    let tag = |block: &str, name: &str| {
        let (_, rest) = block.split_once(&format!("<{name}>"))?;
        Some(rest.split('<').next()?.trim().to_owned())
    };
    for block in text.split("<dependency>").skip(1) {
        let block = block.split("</dependency>").next().unwrap_or_default();
        if let (Some(group), Some(artifact)) = (tag(block, "groupId"), tag(block, "artifactId")) {
            let version = tag(block, "version").unwrap_or_default();
            found.add(&format!("{group}:{artifact}"), &version, "Maven");
        }
    }
}

/// Packages that one sentence names.
const TOLD: usize = 12;

/// In words: what a file brings, or that it could not be read. Nothing, where it brings nothing.
pub(super) fn told(path: &[u8], old: Option<&[u8]>, new: &[u8]) -> Option<String> {
    let Some(packages) = added(path, old, new) else {
        return Some("names packages, and could not be read".to_owned());
    };
    let one = |it: &Package| {
        let version =
            if it.version.is_empty() { String::new() } else { format!(" {}", it.version) };
        format!("{}{version} ({})", it.name, it.registry)
    };
    let named: Vec<String> = packages.iter().take(TOLD).map(one).collect();
    let rest = match packages.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    match packages.len() {
        0 => None,
        1 => Some(format!("brings a package that was not there: {named}")),
        many => Some(format!("brings {many} packages that were not there: {named}{rest}")),
    }
}

#[cfg(test)]
#[path = "packages_tests.rs"]
mod tests;
