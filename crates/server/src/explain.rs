//! Why something may leave a sandbox or not, as the API says it: of a running server, and of files alone.

use egress::broker::explain::{Explanation, LayerSays, Says, Verdict};
use wire::egress::{EgressLayer, EgressVerdict, ExplainedEgress};

/// The explanation, as the API says it.
pub fn shape(explanation: &Explanation) -> ExplainedEgress {
    let (verdict, rule, reason, remedy) = match &explanation.verdict {
        Verdict::Allowed { rule } => {
            (EgressVerdict::Allow, Some(rule.clone()), "every layer allows it".to_owned(), None)
        }
        Verdict::Denied(refusal) => {
            let remedy = Some(refusal.remedy.clone()).filter(|remedy| !remedy.is_empty());
            (EgressVerdict::Deny, refusal.rule.clone(), refusal.reason.clone(), remedy)
        }
        Verdict::DependsOnBody => (
            EgressVerdict::DependsOnBody,
            None,
            "the rules allow it if its body is what it should be".to_owned(),
            None,
        ),
    };
    let layer = |it: &LayerSays| {
        let (says, rule) = match &it.says {
            Says::Allows(rule) => ("allows", Some(rule.to_string())),
            Says::Denies(rule) => ("denies", Some(rule.to_string())),
            Says::Nothing => ("says nothing", None),
        };
        EgressLayer { layer: it.layer.to_string(), says: says.to_owned(), rule }
    };
    ExplainedEgress {
        method: explanation.method.clone(),
        url: explanation.url.clone(),
        phase: explanation.phase.to_owned(),
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
