//! A matrix runs one job in many ways. One leg of it is ours: Linux, the stable toolchain, the newest ordinary version.

use std::collections::BTreeMap;

use super::super::yaml::Node;

const AXES_LIMIT: usize = 20;
const VALUES_LIMIT: usize = 200;
const VALUE_LIMIT: usize = 200;

/// The names that expressions of one job can use, with their values.
#[derive(Debug, Clone, Default)]
pub(super) struct Leg {
    values: BTreeMap<String, String>,
    /// Whether the matrix is written out, so that a name that is not there is empty.
    known: bool,
}

impl Leg {
    pub(super) fn of(job: &Node) -> Self {
        let matrix = job.get("strategy").and_then(|strategy| strategy.get("matrix"));
        let Some(matrix) = matrix else { return Self::default() };
        let mut leg = Self { values: BTreeMap::new(), known: true };
        if matrix.entries().is_empty() {
            // Another job makes it up.
            leg.known = false;
            return leg;
        }
        let axes = || {
            let all = matrix.entries().iter().take(AXES_LIMIT);
            all.filter(|(name, _)| name != "include" && name != "exclude")
        };
        for (name, values) in axes() {
            let best = values.items().iter().take(VALUES_LIMIT).min_by_key(|it| rank(it));
            match best {
                Some(value) => leg.put(&format!("matrix.{name}"), value),
                None => leg.known = false,
            }
        }
        let include = matrix.get("include").map_or(&[][..], Node::items);
        let include = || include.iter().take(VALUES_LIMIT);
        if axes().next().is_none() {
            if let Some(entry) = include().min_by_key(|entry| rank_of_leg(entry)) {
                for (name, value) in entry.entries() {
                    leg.put(&format!("matrix.{name}"), value);
                }
            }
            return leg;
        }
        for entry in include() {
            let is_axis = |name: &str| axes().any(|(axis, _)| axis == name);
            let fits = entry.entries().iter().all(|(name, value)| {
                !is_axis(name)
                    || leg.values.get(&format!("matrix.{name}")).map(String::as_str) == value.text()
            });
            for (name, value) in entry.entries().iter().filter(|(name, _)| fits && !is_axis(name)) {
                leg.put(&format!("matrix.{name}"), value);
            }
        }
        leg
    }

    /// Adds the variables of a file, a job or a step.
    pub(super) fn with_env(mut self, node: &Node) -> Self {
        for (name, value) in
            node.get("env").map_or(&[][..], Node::entries).iter().take(VALUES_LIMIT)
        {
            if let Some(text) = value.text() {
                let text = self.filled(text);
                self.values.insert(format!("env.{name}"), text);
            }
        }
        self
    }

    /// A line of a shell with the variables put in that are set by `env:`.
    pub(super) fn in_shell(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (name, value) in &self.values {
            if let Some(name) = name.strip_prefix("env.") {
                line = line
                    .replace(&format!("${{{name}}}"), value)
                    .replace(&format!("${name}"), value);
            }
        }
        line
    }

    fn put(&mut self, name: &str, value: &Node) {
        if let Some(text) = value.text().filter(|text| text.len() <= VALUE_LIMIT) {
            self.values.insert(name.to_owned(), text.to_owned());
        }
        for (key, inner) in value.entries().iter().take(AXES_LIMIT) {
            if let Some(text) = inner.text().filter(|text| text.len() <= VALUE_LIMIT) {
                self.values.insert(format!("{name}.{key}"), text.to_owned());
            }
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<String> {
        let known = self.values.get(name).filter(|value| !value.contains("${{")).cloned();
        known.or_else(|| (self.known && name.starts_with("matrix.")).then(String::new))
    }

    /// A text with the expressions put in that are plain names.
    pub(super) fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let Some((inside, left)) = after.split_once("}}") else { break };
            filled.push_str(before);
            // `a || b` is the first that is there.
            let names = inside.split("||").map(str::trim);
            let value = names.map(|name| match name.strip_prefix('\'') {
                Some(text) => text.strip_suffix('\'').map(str::to_owned),
                None => self.value(name),
            });
            let value = value.take_while(Option::is_some).flatten().find(|value| !value.is_empty());
            let empty = inside.split("||").all(|name| {
                let name = name.trim();
                name == "''" || self.value(name).is_some()
            });
            match value {
                Some(value) if value.chars().all(is_harmless) => filled.push_str(&value),
                None if empty => {}
                Some(_) | None => {
                    filled.push_str("${{");
                    filled.push_str(inside);
                    filled.push_str("}}");
                }
            }
            rest = left;
        }
        filled.push_str(rest);
        filled
    }
}

/// What is put into a command is words of it, and no more.
fn is_harmless(c: char) -> bool {
    c.is_ascii_alphanumeric() || " ._-+=/,:@^".contains(c)
}

fn rank_of_leg(entry: &Node) -> (usize, usize, std::cmp::Reverse<usize>) {
    let has_target = entry.get("target").and_then(Node::text).is_some_and(|it| !it.is_empty());
    let ranks = entry.entries().iter().map(|(_, value)| rank(value).0);
    // The leg that is given most to do is the one that people care about most.
    let told = std::cmp::Reverse(entry.entries().len());
    (usize::from(has_target), ranks.max().unwrap_or_default(), told)
}

/// How far a value is from what an ordinary Linux machine has; versions the newest first.
fn rank(value: &Node) -> (usize, std::cmp::Reverse<Vec<u64>>) {
    const ELSEWHERE: &[&str] = &["windows", "macos", "mac-", "freebsd", "arm", "i686", "wasm"];
    const UNUSUAL: &[&str] = &[
        "nightly",
        "beta",
        "head",
        "dev",
        "canary",
        "old",
        "rc",
        "jruby",
        "pypy",
        "truffle",
        "graal",
        "msrv",
        "min",
        "lowest",
        "edge",
        "next",
        "experimental",
    ];
    let texts: Vec<String> = match value {
        Node::Text(text, _) => vec![text.to_lowercase()],
        Node::List(_) | Node::Section(_) | Node::Unread => {
            value.entries().iter().filter_map(|(_, it)| it.text()).map(str::to_lowercase).collect()
        }
    };
    let has = |list: &[&str]| texts.iter().any(|text| list.iter().any(|it| text.contains(it)));
    let version: Vec<u64> = texts
        .first()
        .filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        .map(|text| text.split('.').filter_map(|part| part.parse().ok()).collect())
        .unwrap_or_default();
    // `3.14t` and `3.15-dev` are no ordinary versions.
    let is_odd = !version.is_empty()
        && texts.iter().any(|text| {
            text.trim_end_matches(".x").contains(|c: char| c.is_ascii_alphabetic() || c == '-')
        });
    let far = match () {
        () if has(ELSEWHERE) => 3,
        () if has(UNUSUAL) || is_odd => 2,
        () if has(&["ubuntu", "linux", "stable", "latest", "lts"]) => 0,
        () => 1,
    };
    (far, std::cmp::Reverse(version))
}
