//! Rules about the network, as people write them.
//!
//! ```yaml
//! - github                       # a bundle
//! - docs.example.com             # a host, for reading over HTTPS
//! - { host: api.example.com, methods: [GET, POST], paths: [/v1/**] }
//! ```

use std::collections::BTreeSet;

use domain::policy::{Access, Bundle, BundleError, HostPattern, Method, PathPattern, Rule};
use serde_json::{Value, json};

use crate::{
    nearest::nearest,
    problem::{InvalidFile, Place, Problems, quoted},
    shape::{Count, Form, Kind, Shape, flag, known_words, record, text},
    yaml::{self, Content, Node},
};

/// A network port.
pub type Port = Count<1, 65_535>;

text!(foreign HostPattern, "a host", help = "write it as `api.example.com` or `*.example.com`");
text!(foreign PathPattern, "a path", help = "write it as `/v1/users`, or `/v1/**` for all below");

known_words! { Method;
    Get = "GET": ["Ask for something."],
    Head = "HEAD": ["Ask about something."],
    Options = "OPTIONS": ["Ask what can be done."],
    Post = "POST": ["Send something."],
    Put = "PUT": ["Put something in its place."],
    Patch = "PATCH": ["Change a part of something."],
    Delete = "DELETE": ["Remove something."],
}

/// Whether the gateway looks into the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspection {
    Inspected,
    Opaque,
}

flag!(Inspection, Opaque, Inspected);

record! {
    /// A rule about hosts.
    pub struct HostRule {
        /// One host, or all hosts below one: `*.example.com`.
        host: HostPattern,
        /// Ports.
        ports: Vec<Port> = vec![Port::nearest_to(443)],
        /// HTTP methods. Reading, unless you say more.
        methods: Vec<Method> = Method::READING.to_vec(),
        /// Paths; `/**` at the end means everything below.
        paths: Vec<PathPattern> = vec![PathPattern::any()],
        /// Pass bytes without looking into them. Method and path are not seen, and no credential is added.
        opaque: Inspection = Inspection::Inspected,
    }
    look = look_at_host_rule;
}

fn look_at_host_rule(node: &Node, problems: &mut Problems) {
    let is_opaque = node.get("opaque").and_then(Node::text) == Some("true");
    for key in ["ports", "methods", "paths"] {
        let Some(list) = node.get(key) else { continue };
        if is_opaque && key != "ports" {
            let what = format!("`{key}` cannot be seen in opaque traffic");
            problems.report(list.place, what, format!("remove `{key}`, or `opaque`"));
            continue;
        }
        if list.is_empty_list() {
            let what = format!("`{key}` is an empty list, so the rule says nothing");
            problems.report(list.place, what, format!("name some, or leave `{key}` out"));
        }
    }
}

impl From<HostRule> for Rule {
    fn from(rule: HostRule) -> Self {
        let access = match rule.opaque {
            Inspection::Opaque => Access::Opaque,
            Inspection::Inspected => Access::Inspected {
                methods: rule.methods.into_iter().collect(),
                paths: rule.paths.into_iter().collect(),
            },
        };
        let ports = rule.ports.into_iter().filter_map(|port| u16::try_from(port.get()).ok());
        Self::Host { host: rule.host, ports: ports.collect(), access }
    }
}

/// Reads one rule as it would stand in a file: `github`, `docs.example.com`, `{ host: api.example.com, methods: [POST] }`.
pub fn rule(text: &str) -> Result<Rule, InvalidFile> {
    let mut problems = Problems::in_file("rule");
    // In a file `*` begins an alias, and so must be quoted; where a rule stands alone it can only be a host.
    let quoted = text.starts_with('*').then(|| format!("'{}'", text.replace('\'', "''")));
    let node = yaml::parse(quoted.as_deref().unwrap_or(text), &mut problems);
    let read = node.and_then(|node| Rule::read(&node, &mut problems));
    if read.is_none() && problems.is_empty() {
        problems.report(Place::START, "the rule is empty", SHORT.help);
    }
    problems.settle(read)
}

const SHORT: Form = Form {
    name: "a bundle, a host or a rule",
    help: "write `github`, `registry:npm`, `docs.example.com`, or `{ host: … }`",
    pattern: None,
};

impl Shape for Rule {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        match &node.content {
            Content::Text { text, .. } => read_short(text, node, problems),
            Content::Section(_) | Content::List(_) | Content::Nothing | Content::Broken => {
                HostRule::read(node, problems).map(Self::from)
            }
        }
    }

    fn kind() -> Kind {
        Kind::ShortOrLong { short: SHORT, long: HostRule::record() }
    }

    fn write(&self) -> Value {
        match self {
            Self::Bundle(bundle) => bundle.to_string().into(),
            Self::Host { host, .. } if *self == Self::reading(host.clone()) => {
                host.to_string().into()
            }
            Self::Host { host, ports, access } => write_long(host, ports, access),
        }
    }
}

/// Methods and paths only where they are seen.
fn write_long(host: &HostPattern, ports: &BTreeSet<u16>, access: &Access) -> Value {
    let ports: Vec<u16> = ports.iter().copied().collect();
    match access {
        Access::Opaque => json!({ "host": host.write(), "ports": ports, "opaque": true }),
        Access::Inspected { methods, paths } => {
            let methods: Vec<Value> = methods.iter().map(Shape::write).collect();
            let paths: Vec<Value> = paths.iter().map(Shape::write).collect();
            json!({ "host": host.write(), "ports": ports, "methods": methods, "paths": paths })
        }
    }
}

/// A word with a dot is a host, everything else a bundle.
fn read_short(text: &str, node: &Node, problems: &mut Problems) -> Option<Rule> {
    let mut report = |told: &dyn std::fmt::Display, help: String| {
        problems.report(node.place, format!("{}: {told}", problems.key()), help);
        None
    };
    if text == "*" || (!text.contains(':') && text.contains('.')) {
        return match text.parse() {
            Ok(host) => Some(Rule::reading(host)),
            Err(error) => report(&error, "name the hosts, or use `*.example.com`".to_owned()),
        };
    }
    match text.parse() {
        Ok(bundle) => Some(Rule::Bundle(bundle)),
        Err(BundleError::Unknown(_)) => {
            report(&format!("unknown bundle {}", quoted(text)), similar_bundle(text))
        }
        Err(
            error @ (BundleError::UnknownRegistry(_)
            | BundleError::UnknownModel(_)
            | BundleError::UnknownCloud(_)
            | BundleError::MalformedRepository(_)
            | BundleError::MalformedInternal(_)
            | BundleError::Host(_)),
        ) => report(&error, similar_bundle(text)),
    }
}

fn similar_bundle(text: &str) -> String {
    let known: Vec<String> = Bundle::well_known().iter().map(Bundle::to_string).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let of_this_kind = known.iter().find(|it| it.split(':').next() == Some(text));
    if let Some(example) = of_this_kind {
        return format!("say which, as in `{example}`");
    }
    match nearest(text, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "bundles are {}, `git:HOST/REPOSITORY` and `internal:NAME`",
            known.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_stands_alone_needs_no_quotes() {
        assert_eq!(rule("*.example.com").unwrap(), rule("'*.example.com'").unwrap());
        assert!(rule("*.co.uk").unwrap_err().to_string().contains("shared suffix"));
        assert!(rule("*").is_err());
        assert!(rule("*' }").is_err());
    }
}
