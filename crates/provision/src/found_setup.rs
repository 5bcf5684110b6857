//! What a setup may reach that nobody wrote: the registries of the project's own package managers, if the policy lets a setup there.
//!
//! | the agent's file | it may reach | it needs |
//! |---|---|---|
//! | none | all that policy and server allow a setup | the registries of the manifests, from policy and server |
//! | says nothing of `egress.setup` | those registries | the same |
//! | has a list | that list | the registries, from the list |

use std::collections::{BTreeMap, BTreeSet};

use contracts::egress::Network;
use domain::policy::{Bundle, Ecosystem, EgressPhase, Rule};

use crate::{
    network::{self, Asked, Models},
    outfit::Sketch,
};

/// What is missing, and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub sentence: String,
}

/// The network of a setup that was found out, or what has to be allowed first.
pub fn network(sketch: &Sketch<'_>, registries: &BTreeSet<Ecosystem>) -> Result<Network, Missing> {
    let phase = EgressPhase::Setup;
    let needed: BTreeSet<Rule> =
        registries.iter().map(|it| Rule::Bundle(Bundle::Registry(*it))).collect();
    let written = sketch.file().map(|file| &file.egress.setup[..]);
    let named = |rules: &[Rule]| {
        rules.iter().map(|rule| format!("'{rule}'")).collect::<Vec<_>>().join(", ")
    };
    let says = |rules: &[Rule], place: &str| Missing {
        sentence: format!("what the project needs comes from {}, and {place}", plain(rules)),
    };
    if let Some(list) = written.filter(|list| !list.is_empty()) {
        let missing: Vec<Rule> = needed.iter().filter(|it| !list.contains(it)).cloned().collect();
        if !missing.is_empty() {
            let all: Vec<Rule> = list.iter().chain(&missing).cloned().collect();
            let place =
                format!("the agent's file has to say `egress: {{ setup: [{}] }}`", named(&all));
            return Err(says(&missing, &place));
        }
    }
    let missing = network::missing(sketch.layers, phase, &needed);
    if !missing.is_empty() {
        let line = format!("egress: {{ setup: {{ allow: [{}] }} }}", named(&missing));
        return Err(says(&missing, &format!("the server's policy.yaml has to say `{line}`")));
    }
    let needed: Vec<Rule> = needed.into_iter().collect();
    let asked = match written {
        None => Asked::Everything,
        Some([]) => Asked::Written { rules: &needed, models: Models::LeftOut },
        Some(list) => Asked::Written { rules: list, models: Models::LeftOut },
    };
    let task = sketch.wanted.task;
    let request = network::Request { task, phase, asked, model: None, hosts: None };
    let granted = network::grant(sketch.layers, request);
    granted.map(|granted| granted.network).map_err(|sentence| Missing { sentence })
}

fn plain(rules: &[Rule]) -> String {
    rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ")
}

/// A setup with the variables of the agent's file in its environment. They are a part of it, so that another value is another image.
pub fn with_variables(setup: &str, variables: &BTreeMap<String, String>) -> String {
    let exports = variables
        .iter()
        .map(|(name, value)| format!("export {name}={}\n", domain::shell::quoted(value)));
    exports.chain([setup.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agents::tests::said,
        outfit::tests::{MODELS, sketched},
    };
    use domain::task::Purpose;

    fn told(files: &[(&str, &str)], agent: &str) -> String {
        let said = said(MODELS, files);
        sketched(&said, agent, Purpose::Research, |sketch| {
            match network(sketch, &BTreeSet::from([Ecosystem::Npm, Ecosystem::Pypi])) {
                Ok(network) => {
                    let rules = network.egress.layers(network.phase);
                    let last = rules.last().map(|it| it.allow.len());
                    format!("allowed, {} rules", last.unwrap_or_default())
                }
                Err(missing) => missing.sentence,
            }
        })
    }

    #[test]
    fn registries_are_allowed_by_the_policy_or_asked_for_with_the_line_to_write() {
        let policy =
            ("policy.yaml", "version: 1\negress: { setup: { allow: ['registry:npm'] } }\n");
        let file = |egress: &str| {
            format!(
                "lamp: {{ version: 1, name: fix }}\nagent: {{ driver: builtin }}\nsandbox: {{ repositories: [{{ name: web }}] }}\n{egress}"
            )
        };
        let (silent, narrow) = (file(""), file("egress: { setup: ['registry:npm'] }\n"));
        insta::assert_snapshot!(told(&[], "builtin"), @"allowed, 7 rules");
        insta::assert_snapshot!(told(&[policy], "builtin"), @"what the project needs comes from `registry:pypi`, and the server's policy.yaml has to say `egress: { setup: { allow: ['registry:pypi'] } }`");
        insta::assert_snapshot!(told(&[("agents/fix.yaml", silent.as_str())], "fix"), @"allowed, 2 rules");
        insta::assert_snapshot!(told(&[("agents/fix.yaml", narrow.as_str())], "fix"), @"what the project needs comes from `registry:pypi`, and the agent's file has to say `egress: { setup: ['registry:npm', 'registry:pypi'] }`");
    }

    #[test]
    fn variables_of_a_file_are_a_part_of_its_setup() {
        let variables = BTreeMap::from([("MODE".to_owned(), "it's".to_owned())]);
        assert_eq!(with_variables("make\n", &variables), "export MODE='it'\\''s'\nmake\n");
        assert_eq!(with_variables("make\n", &BTreeMap::new()), "make\n");
    }
}
