//! What a sandbox of a task may reach: what organisation and platform allow, of that what its agent asks for, and of that what the
//! approver allows.
//!
//! ```text
//!  policy.yaml ∩ lamp.yaml ∩ (agents/*.yaml + the agent's own model) ∩ (the approval's hosts + the model)
//! ```
//!
//! An agent without a file asks for all that is allowed, and of models only for its own. What a file asks for beyond the policy is refused
//! before anything is made: a network that is quietly smaller would only fail later.

use std::collections::{BTreeMap, BTreeSet};

use contracts::{egress::Network, sandbox::Owner};
use domain::{
    digest::Digest,
    id::TaskId,
    policy::{
        self, Access, Bundle, Egress, EgressPhase, HostPattern, Layer, LayerKind, Rule, Rules, Wish,
    },
};

use crate::layers::Layers;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub task: TaskId,
    pub phase: EgressPhase,
    pub asked: Asked<'a>,
    /// The rule of the agent's own model; none where no model is needed.
    pub model: Option<&'a Rule>,
    /// Where an approver allows to go, if they said so.
    pub hosts: Option<&'a BTreeSet<String>>,
}

#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// All that is allowed, but no model.
    Everything,
    /// What a file says, with or without models.
    Written { rules: &'a [Rule], models: Models },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    AsWritten,
    /// For checks, which ask nobody.
    LeftOut,
}

/// A network, and what it is made of.
#[derive(Debug)]
pub struct Granted {
    pub network: Network,
    /// Of all rules of all layers that count.
    pub policy: Digest,
    /// What may be reached, in words.
    pub allowed: BTreeSet<String>,
}

/// The network of one sandbox, or why there is none: a sentence with what can be done.
pub fn grant(layers: &Layers, request: Request<'_>) -> Result<Granted, String> {
    let phase = request.phase;
    let own: BTreeSet<Rule> = match request.asked {
        Asked::Everything => possible(layers, phase),
        Asked::Written { rules, models } => {
            let counts = |rule: &&Rule| models == Models::AsWritten || !is_model(rule);
            rules.iter().filter(counts).cloned().collect()
        }
    };
    let repository: BTreeSet<Rule> = own.into_iter().chain(request.model.cloned()).collect();
    refuse_more(layers, phase, &repository)?;
    let mut below =
        vec![layers.platform.clone(), layer(LayerKind::Repository, phase, repository.clone())];
    let mut allowed: BTreeSet<String> = repository.iter().map(ToString::to_string).collect();
    if let Some(hosts) = request.hosts {
        let approved = approved(layers, request, hosts)?;
        let words = approved.iter().filter(|rule| Some(*rule) != request.model);
        allowed.extend(words.map(|rule| format!("approval: {rule}")));
        below.push(layer(LayerKind::Approval, phase, approved));
    }
    let policy = policy::effective(&layers.organisation, &below).policy;
    if repository.is_empty() {
        allowed.clear();
    }
    let network = Network {
        phase,
        internal: layers.internal.clone(),
        egress: policy.egress,
        ..Network::closed(Owner::Task(request.task))
    };
    Ok(Granted { policy: digest(&network.egress, phase), network, allowed })
}

/// All that organisation and platform allow together, without models.
fn possible(layers: &Layers, phase: EgressPhase) -> BTreeSet<Rule> {
    let rules = layers.organisation.egress.get(&phase).map(|rules| &rules.allow);
    let all: BTreeSet<Rule> =
        rules.into_iter().flatten().filter(|rule| !is_model(rule)).cloned().collect();
    let beyond = beyond(layers, phase, &all);
    all.into_iter().filter(|rule| !beyond.iter().any(|(refused, _)| refused == rule)).collect()
}

const fn is_model(rule: &Rule) -> bool {
    match rule {
        Rule::Bundle(Bundle::Model(_)) => true,
        Rule::Bundle(
            Bundle::Github
            | Bundle::Git { .. }
            | Bundle::Registry(_)
            | Bundle::Cloud(_)
            | Bundle::Internal(_),
        )
        | Rule::Host { .. } => false,
    }
}

fn layer(kind: LayerKind, phase: EgressPhase, allow: BTreeSet<Rule>) -> Layer {
    let rules = Rules { allow, ..Rules::closed(kind) };
    Layer { egress: BTreeMap::from([(phase, rules)]), ..Layer::silent(kind) }
}

/// The rules that organisation or platform do not allow, with a sentence about each.
fn beyond(layers: &Layers, phase: EgressPhase, rules: &BTreeSet<Rule>) -> Vec<(Rule, String)> {
    let asked = layer(LayerKind::Repository, phase, rules.clone());
    let effective = policy::effective(&layers.organisation, &[layers.platform.clone(), asked]);
    let widenings = effective.widenings.into_iter().filter(|it| it.layer == LayerKind::Repository);
    let told = widenings.flat_map(|it| match it.what {
        Wish::Reach { ref rule, .. } => vec![(rule.clone(), it.what.to_string())],
        // None of them is.
        Wish::OpenPhase { .. } => {
            rules.iter().map(|rule| (rule.clone(), it.what.to_string())).collect()
        }
        Wish::RaiseLimit(_)
        | Wish::LightenTier { .. }
        | Wish::SkipPlan
        | Wish::SkipFourEyes
        | Wish::WaitLonger
        | Wish::MoreAutonomy { .. }
        | Wish::ListenTo(_)
        | Wish::AdmitBot(_)
        | Wish::EasePackages { .. } => Vec::new(),
    });
    told.collect()
}

/// Those of them that organisation or platform do not allow.
pub(crate) fn missing(layers: &Layers, phase: EgressPhase, rules: &BTreeSet<Rule>) -> Vec<Rule> {
    beyond(layers, phase, rules).into_iter().map(|(rule, _)| rule).collect()
}

fn refuse_more(layers: &Layers, phase: EgressPhase, rules: &BTreeSet<Rule>) -> Result<(), String> {
    let beyond = beyond(layers, phase, rules);
    let Some((_, first)) = beyond.first() else { return Ok(()) };
    let missing: Vec<String> = beyond.iter().map(|(rule, _)| format!("'{rule}'")).collect();
    Err(format!(
        "the agent {first}; the server's policy.yaml has to say `egress: {{ {phase}: {{ allow: [{}] }} }}`, or the agent's file to ask for less",
        missing.join(", ")
    ))
}

/// The hosts of an approval as rules: whatever the layers above let a host be used for.
fn approved(
    layers: &Layers,
    request: Request<'_>,
    hosts: &BTreeSet<String>,
) -> Result<BTreeSet<Rule>, String> {
    let above = layers.organisation.egress.get(&request.phase);
    let named = above.into_iter().flat_map(|rules| rules.allow.iter()).flat_map(Rule::ports);
    let ports: BTreeSet<u16> = named.chain([80, 443]).collect();
    let rules = hosts.iter().map(|text| {
        if let Ok(bundle) = text.parse::<Bundle>() {
            return Ok(Rule::Bundle(bundle));
        }
        let host: HostPattern = text.parse().map_err(|error| {
            format!("the approval allows `{text}`, which is no host: {error}; approve again, with other hosts")
        })?;
        Ok(Rule::Host { host, ports: ports.clone(), access: Access::Opaque })
    });
    let rules: Result<BTreeSet<Rule>, String> = rules.collect();
    Ok(rules?.into_iter().chain(request.model.cloned()).collect())
}

/// The same rules always have the same hash.
fn digest(egress: &Egress, phase: EgressPhase) -> Digest {
    let mut text = format!("lamp egress 1\nphase {phase}\n");
    for rules in egress.layers(phase) {
        for (word, list) in [("allow", &rules.allow), ("deny", &rules.deny)] {
            text.extend(list.iter().map(|rule| format!("{} {word} {rule}\n", rules.layer)));
        }
        text.extend([rules.layer.to_string(), " end\n".to_owned()]);
    }
    Digest::of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agents::tests::said, server_files::ServerFiles};

    const MODELS: &str =
        "models: [{ name: a, provider: anthropic }, { name: o, provider: openai }]\n";

    fn layers(said: &ServerFiles) -> Layers {
        Layers::of(said).unwrap()
    }

    fn rule(text: &str) -> Rule {
        config::rules::rule(text).unwrap()
    }

    fn ask(phase: EgressPhase, asked: Asked<'_>) -> Request<'_> {
        Request { task: TaskId::from_u128(1), phase, asked, model: None, hosts: None }
    }

    fn told(granted: Result<Granted, String>) -> String {
        match granted {
            Ok(granted) => granted.allowed.into_iter().collect::<Vec<_>>().join(", "),
            Err(reason) => reason,
        }
    }

    #[test]
    fn a_server_with_a_model_and_no_policy_just_works_and_each_agent_asks_its_own_model() {
        let layers = layers(&said(MODELS, &[]));
        let model = rule("model:anthropic");
        let own = Request { model: Some(&model), ..ask(EgressPhase::Research, Asked::Everything) };
        assert_eq!(told(grant(&layers, own)), "github, model:anthropic");
        let checks = ask(EgressPhase::Implement, Asked::Everything);
        let without = told(grant(&layers, checks));
        assert!(without.contains("registry:npm") && !without.contains("model"), "{without}");
    }

    #[test]
    fn what_a_file_asks_for_is_given_and_no_more_and_checks_ask_no_model() {
        let layers = layers(&said(MODELS, &[]));
        let rules = [rule("registry:npm"), rule("model:openai")];
        for (models, expected) in
            [(Models::AsWritten, "model:openai, registry:npm"), (Models::LeftOut, "registry:npm")]
        {
            let asked = Asked::Written { rules: &rules, models };
            assert_eq!(told(grant(&layers, ask(EgressPhase::Implement, asked))), expected);
        }
        let nothing = Asked::Written { rules: &[], models: Models::LeftOut };
        let closed = grant(&layers, ask(EgressPhase::Implement, nothing)).unwrap();
        assert!(closed.allowed.is_empty());
    }

    #[test]
    fn what_the_policy_does_not_allow_is_refused_with_what_helps() {
        let policy = "version: 1\negress: { implement: { allow: [github] } }\n";
        let layers = layers(&said(MODELS, &[("policy.yaml", policy)]));
        let (rules, model) = ([rule("registry:npm")], rule("model:anthropic"));
        let asked = Asked::Written { rules: &rules, models: Models::AsWritten };
        insta::assert_snapshot!(told(grant(&layers, ask(EgressPhase::Implement, asked))), @r"
        the agent asks for `registry:npm` in implement, which the organisation does not allow; the server's policy.yaml has to say `egress: { implement: { allow: ['registry:npm'] } }`, or the agent's file to ask for less
        ");
        let nobody =
            Request { model: Some(&model), ..ask(EgressPhase::Research, Asked::Everything) };
        insta::assert_snapshot!(told(grant(&layers, nobody)), @r"
        the agent asks for egress in research, which nobody above has opened; the server's policy.yaml has to say `egress: { research: { allow: ['model:anthropic'] } }`, or the agent's file to ask for less
        ");
    }

    #[test]
    fn an_approver_narrows_to_hosts_and_the_model_stays() {
        let policy = "version: 1\negress: { implement: { allow: [github, docs.example.com, api.example.com, model:anthropic] } }\n";
        let layers = layers(&said(MODELS, &[("policy.yaml", policy)]));
        let (model, hosts) =
            (rule("model:anthropic"), BTreeSet::from(["docs.example.com".to_owned()]));
        let wide =
            Request { model: Some(&model), ..ask(EgressPhase::Implement, Asked::Everything) };
        let narrow = Request { hosts: Some(&hosts), ..wide };
        let (wide, narrow) = (grant(&layers, wide).unwrap(), grant(&layers, narrow).unwrap());
        assert_ne!(wide.policy, narrow.policy);
        let may = |granted: &Granted, host: &str, bundle: Option<&str>| {
            let request = policy::Outgoing {
                host: host.parse().unwrap(),
                port: 443,
                reach: policy::Reach::Http {
                    method: policy::Method::Get,
                    path: "/".parse().unwrap(),
                },
                bundles: bundle.into_iter().map(|it| it.parse().unwrap()).collect(),
            };
            let egress = &granted.network.egress;
            egress.judge(EgressPhase::Implement, &request) == policy::Verdict::Allowed
        };
        for (host, bundle, before, after) in [
            ("docs.example.com", None, true, true),
            ("api.example.com", None, true, false),
            ("git.example.com", Some("github"), true, false),
            ("models.example.com", Some("model:anthropic"), true, true),
            ("other.example.com", None, false, false),
        ] {
            let told = (may(&wide, host, bundle), may(&narrow, host, bundle));
            assert_eq!(told, (before, after), "{host}");
        }
        let odd = BTreeSet::from(["*".to_owned()]);
        let odd = Request { hosts: Some(&odd), ..ask(EgressPhase::Implement, Asked::Everything) };
        assert!(told(grant(&layers, odd)).contains("approve again"));
    }
}
