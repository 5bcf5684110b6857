//! What a sandbox did and tried, and the smallest policy that would allow it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use contracts::egress::{LearnedRule, Need};
use domain::policy::{Bundle, EgressPhase, HostName, Method, RequestPath};

use proxy::ask::{Outcome, RefusalCode, Report};

/// The most different things that are remembered of one sandbox. An attacker can make up as many as there are paths.
const MOST: usize = 2_000;

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    uses: BTreeMap<Use, Times>,
    /// How many were not remembered, because there were too many.
    pub forgotten: u64,
}

/// How often, and by which command last, where that was found.
#[derive(Debug, Clone, Default)]
struct Times {
    times: u64,
    by: Option<String>,
}

/// One kind of use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub host: String,
    pub port: u16,
    /// None for a tunnel.
    pub request: Option<(String, String)>,
    pub became: Became,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// Allowed, by this rule.
    Allowed(String),
    /// Refused, because no rule allows it.
    Missing,
    /// Refused for another reason, with its word: no policy would change that.
    Refused(&'static str),
}

/// A policy for one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub phase: EgressPhase,
    /// Each with how often it was needed, and whether it is new.
    pub rules: Vec<LearnedRule>,
    pub forgotten: u64,
}

impl Seen {
    pub fn add(&mut self, report: &Report, cause: Option<&str>) {
        let became = match &report.outcome {
            Outcome::Done { .. } | Outcome::Broken { .. } => match &report.rule {
                Some(rule) => Became::Allowed(rule.clone()),
                None => return,
            },
            Outcome::Refused(refusal) if refusal.code == RefusalCode::NotAllowed => Became::Missing,
            Outcome::Refused(refusal) => Became::Refused(refusal.code.as_str()),
        };
        let Report { host, port, request, .. } = report.clone();
        let seen = Use { host, port, request, became };
        if self.uses.len() >= MOST && !self.uses.contains_key(&seen) {
            self.forgotten += 1;
            return;
        }
        let times = self.uses.entry(seen).or_default();
        times.times += 1;
        if let Some(cause) = cause {
            times.by = Some(cause.to_owned());
        }
    }

    /// What is worth telling of a place that was refused before.
    pub fn tried(&self, host: &str, port: u16) -> Option<String> {
        let refused = self.uses.iter().filter(|(seen, _)| {
            let is_refused = match seen.became {
                Became::Allowed(_) => false,
                Became::Missing | Became::Refused(_) => true,
            };
            is_refused && seen.host == host && seen.port == port
        });
        let (mut times, mut by) = (0, None);
        for (_, one) in refused {
            times += one.times;
            by = one.by.as_deref().or(by);
        }
        let by = by.map_or_else(|| "a command that is unknown".to_owned(), |by| format!("`{by}`"));
        (times > 0).then(|| format!("{host}:{port} was refused {times} times here, last for {by}"))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Use, u64)> {
        self.uses.iter().map(|(seen, times)| (seen, times.times))
    }

    /// The rules that were used, and for what was refused the narrowest that would do. `bundle` says whether a request belongs to
    /// one.
    pub fn propose(&self, phase: EgressPhase, bundle: impl Fn(&Use) -> Option<Bundle>) -> Proposal {
        let mut used: BTreeMap<String, u64> = BTreeMap::new();
        let mut missing: BTreeMap<String, u64> = BTreeMap::new();
        let mut by: BTreeMap<String, String> = BTreeMap::new();
        let last = |seen: &Use| self.uses.get(seen).and_then(|times| times.by.clone());
        let mut hosts: BTreeMap<(String, u16), Vec<(&Use, u64)>> = BTreeMap::new();
        for (seen, times) in self.iter() {
            match &seen.became {
                Became::Allowed(rule) => *used.entry(written(rule)).or_default() += times,
                Became::Missing => {
                    if let Some(bundle) = bundle(seen) {
                        by.extend(last(seen).map(|last| (bundle.to_string(), last)));
                        *missing.entry(bundle.to_string()).or_default() += times;
                    } else {
                        let host = (seen.host.clone(), seen.port);
                        hosts.entry(host).or_default().push((seen, times));
                    }
                }
                Became::Refused(_) => {}
            }
        }
        for ((host, port), uses) in hosts {
            if host.parse::<HostName>().is_ok() && port != 0 {
                let times = uses.iter().map(|(_, times)| times).sum();
                let line = host_line(&host, port, &uses);
                by.extend(uses.iter().filter_map(|(seen, _)| Some((line.clone(), last(seen)?))));
                missing.insert(line, times);
            }
        }
        let lines = |map: BTreeMap<String, u64>, need: Need| {
            map.into_iter().map(move |(line, times)| LearnedRule { line, times, need, by: None })
        };
        let refused = lines(missing, Need::Refused)
            .map(|rule| LearnedRule { by: by.get(&rule.line).cloned(), ..rule });
        let rules = lines(used, Need::Used).chain(refused).collect();
        Proposal { phase, rules, forgotten: self.forgotten }
    }
}

/// A rule as it prints, as it is written: `api.example.com:443 GET|POST /v1/**`.
fn written(rule: &str) -> String {
    let mut words = rule.split(' ');
    let (Some(place), Some(access)) = (words.next(), words.next()) else { return rule.to_owned() };
    let (host, ports) = place.split_once(':').unwrap_or((place, "443"));
    let ports = ports.replace(',', ", ");
    match words.next() {
        None => format!("{{ host: {}, ports: [{ports}], opaque: true }}", quoted(host)),
        Some(paths) => {
            let methods = access.replace('|', ", ");
            let paths: Vec<String> = paths.split('|').map(quoted).collect();
            if ports == "443" && methods == "GET, HEAD, OPTIONS" && paths == ["/**"] {
                return quoted(host);
            }
            let paths = paths.join(", ");
            format!(
                "{{ host: {}, ports: [{ports}], methods: [{methods}], paths: [{paths}] }}",
                quoted(host)
            )
        }
    }
}

/// At most this many paths are named one by one.
const MOST_PATHS: usize = 4;

fn host_line(host: &str, port: u16, uses: &[(&Use, u64)]) -> String {
    let requests: Vec<&(String, String)> =
        uses.iter().filter_map(|(seen, _)| seen.request.as_ref()).collect();
    let known: BTreeSet<&str> = Method::ALL.into_iter().map(Method::as_str).collect();
    let asked: BTreeSet<&str> = requests
        .iter()
        .map(|(method, _)| method.as_str())
        .filter(|it| known.contains(it))
        .collect();
    let methods: BTreeSet<&str> =
        if asked.is_empty() { BTreeSet::from(["GET", "HEAD"]) } else { asked };
    let paths: BTreeSet<String> = requests
        .iter()
        .filter_map(|(_, path)| path.parse::<RequestPath>().ok())
        .map(|it| it.to_string())
        .collect();
    let is_plain = |path: &String| !path.contains(['%', '*']);
    let paths = if paths.is_empty() || !paths.iter().all(is_plain) {
        vec!["/**".to_owned()]
    } else if paths.len() <= MOST_PATHS {
        paths.into_iter().map(|path| quoted(&path)).collect()
    } else {
        vec![quoted(&format!("{}/**", common_root(&paths)))]
    };
    let methods: Vec<&str> = methods.into_iter().collect();
    let ports = if port == 443 { String::new() } else { format!(", ports: [{port}]") };
    format!(
        "{{ host: {}{ports}, methods: [{}], paths: [{}] }}",
        quoted(host),
        methods.join(", "),
        paths.join(", ")
    )
}

/// The longest start that ends at a `/` and that all have; empty if there is none.
fn common_root(paths: &BTreeSet<String>) -> String {
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return String::new() };
    let same = first.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
    let end = first.get(..same).and_then(|start| start.rfind('/')).unwrap_or(0);
    first.get(..end).unwrap_or_default().to_owned()
}

/// Quoted where YAML would read something else.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./~".contains(c);
    let is_plain = text.chars().all(plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    if is_plain
        || text == "/**"
        || text
            .strip_suffix("/**")
            .is_some_and(|root| root.starts_with('/') && root.chars().all(plain))
    {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

impl Proposal {
    /// As a part of `policy.yaml`.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("egress:\n  {}:\n", self.phase);
        if self.rules.is_empty() {
            text.push_str("    allow: []   # nothing was used\n");
            return text;
        }
        text.push_str("    allow:\n");
        for LearnedRule { line, times, need, by } in &self.rules {
            let note = match (need, by) {
                (Need::Used, _) => format!("used {times}×"),
                (Need::Refused, None) => format!("refused {times}×: allow it only if it is meant"),
                (Need::Refused, Some(by)) => {
                    format!("refused {times}×, last for `{by}`: allow it only if it is meant")
                }
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "      - {line}   # {note}");
        }
        if self.forgotten > 0 {
            let _ = writeln!(text, "# {} more were seen and are not listed", self.forgotten);
        }
        text
    }
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
