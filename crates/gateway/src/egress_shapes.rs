//! What leaves sandboxes, in the shapes of the API, and why there is nothing to tell of it.

use contracts::egress::{
    Denial, Exchange, Explanation, LayerSays, Learned, LearnedRule, Need, NetworkError, Reloaded,
    RuleChange, Says, Turn, Verdict,
};
use wire::{
    egress::{
        self, EgressLayer, EgressLog, EgressRecord, EgressVerdict, ExplainedEgress, LearnedEgress,
        PolicyChange, ReloadedPolicy,
    },
    error::{Code, Problem},
};

use crate::problem::Trouble;

/// The explanation, as the API says it. `lamp policy explain` says the same without a server.
pub fn explained(explanation: &Explanation) -> ExplainedEgress {
    let (verdict, rule, reason, remedy) = match &explanation.verdict {
        Verdict::Allowed { rule } => {
            (EgressVerdict::Allow, Some(rule.clone()), "every layer allows it".to_owned(), None)
        }
        Verdict::Denied(Denial { rule, reason, remedy }) => {
            let remedy = Some(remedy.clone()).filter(|remedy| !remedy.is_empty());
            (EgressVerdict::Deny, rule.clone(), reason.clone(), remedy)
        }
        Verdict::DependsOnBody => (
            EgressVerdict::DependsOnBody,
            None,
            "the rules allow it if its body is what it should be".to_owned(),
            None,
        ),
    };
    ExplainedEgress {
        method: explanation.method.clone(),
        url: explanation.url.clone(),
        phase: explanation.phase.to_string(),
        verdict,
        rule,
        reason,
        remedy,
        layers: explanation.layers.iter().map(layer).collect(),
        bundles: explanation.bundles.clone(),
        connection: explanation.connection.as_str().to_owned(),
        notes: explanation.notes.clone(),
    }
}

fn layer(it: &LayerSays) -> EgressLayer {
    let (says, rule) = match &it.says {
        Says::Allows(rule) => ("allows", Some(rule.to_string())),
        Says::Denies(rule) => ("denies", Some(rule.to_string())),
        Says::Nothing => ("says nothing", None),
    };
    EgressLayer { layer: it.layer.to_string(), says: says.to_owned(), rule }
}

pub(crate) fn learned(learned: Learned) -> LearnedEgress {
    let rule = |it: LearnedRule| egress::LearnedRule {
        rule: it.line,
        times: it.times,
        allowed: it.need == Need::Used,
        by: it.by,
    };
    LearnedEgress {
        phase: learned.phase.to_string(),
        rules: learned.rules.into_iter().map(rule).collect(),
        forgotten: learned.forgotten,
        yaml: learned.yaml,
    }
}

pub(crate) fn log(exchanges: Vec<Exchange>) -> EgressLog {
    let record = |it: Exchange| EgressRecord {
        at_millis: it.at_millis,
        host: it.host,
        port: it.port,
        way: it.way,
        method: it.method,
        path: it.path,
        outcome: it.outcome,
        status: it.status,
        code: it.code,
        reason: it.reason,
        rule: it.rule,
        cause: it.cause,
        bytes_up: it.bytes_up,
        bytes_down: it.bytes_down,
        millis: it.millis,
        cost_micros: it.cost_micros,
    };
    EgressLog { records: exchanges.into_iter().map(record).collect() }
}

pub(crate) fn reloaded(reloaded: Reloaded) -> ReloadedPolicy {
    let change = |it: RuleChange| PolicyChange {
        layer: it.layer.to_string(),
        phase: it.phase.to_string(),
        list: it.list.as_str().to_owned(),
        change: match it.turn {
            Turn::Added => egress::RuleChange::Added,
            Turn::Removed => egress::RuleChange::Removed,
        },
        rule: it.rule.to_string(),
    };
    let named = |keys: Vec<&str>| keys.into_iter().map(str::to_owned).collect();
    ReloadedPolicy {
        changes: reloaded.changes.into_iter().map(change).collect(),
        others: named(reloaded.others),
        after_restart: named(reloaded.after_restart),
        sandboxes: reloaded.sandboxes,
    }
}

impl From<NetworkError> for Trouble {
    fn from(error: NetworkError) -> Self {
        let message = error.to_string();
        let (code, help) = match error {
            NetworkError::NotARule { help, .. } => (Code::BadRequest, Some(help)),
            NetworkError::NotAllowed { phase, asked, .. } => {
                let rules = asked.iter().map(|rule| format!("'{rule}'")).collect::<Vec<_>>();
                let help = format!(
                    "the server's policy.yaml has to say `egress: {{ {phase}: {{ allow: [{}] }} }}`; or ask for less",
                    rules.join(", ")
                );
                (Code::Forbidden, Some(help))
            }
            NetworkError::NotJoined(_) => (
                Code::Unsupported,
                Some("give it a network with `--allow` when you make it".to_owned()),
            ),
            NetworkError::Address { .. } => (Code::BadRequest, None),
            NetworkError::NoGateway => (Code::Unsupported, None),
            NetworkError::NoFile => {
                (Code::Unsupported, Some("start it with `lamp up --config lamp.yaml`".to_owned()))
            }
            NetworkError::WrongFiles { .. } => (
                Code::BadRequest,
                Some(
                    "nothing has changed: what held before holds until the files are right"
                        .to_owned(),
                ),
            ),
            NetworkError::Broken { .. } => (Code::Internal, None),
        };
        let problem = Problem::new(code, message);
        Self(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::EgressPhase;

    use super::*;

    #[test]
    fn a_network_that_is_refused_says_what_the_policy_would_need() {
        let Trouble(problem) = NetworkError::NotAllowed {
            what: "the sandbox asks for `evil.example.com`".to_owned(),
            phase: EgressPhase::Implement,
            asked: vec!["github".to_owned(), "evil.example.com".to_owned()],
        }
        .into();
        assert_eq!(problem.code, Code::Forbidden);
        assert_eq!(problem.message, "the sandbox asks for `evil.example.com`");
        assert_eq!(
            problem.help.unwrap(),
            "the server's policy.yaml has to say `egress: { implement: { allow: ['github', 'evil.example.com'] } }`; or ask for less"
        );
    }
}
