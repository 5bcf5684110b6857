//! Which rule decides about a request, and why, for a person.

pub use contracts::egress::{Denial, Explanation, Handling, LayerSays, Says, Verdict};
use domain::policy::{Rule, Rules};

use super::{
    ruling::{Connection, Judged, Ruling},
    url,
};
use crate::bundles::endpoint::EndpointError;
use proxy::ask::{Body, Dial, Refusal, Request};

impl Ruling {
    /// `url` without a user; a query counts, a fragment does not.
    pub fn explain(&self, method: &str, url: &str) -> Result<Explanation, EndpointError> {
        let request = url::request(method, url)?;
        let connection = match self.connect(&request.host, request.port) {
            Connection::Refused(_) => Handling::Refused,
            Connection::Opaque { .. } => Handling::Opaque,
            Connection::Inspect => Handling::Inspected,
        };
        let (layers, bundles, mut notes) = self.reasons(&request);
        let verdict = match self.request(&request) {
            Judged::Refused(refusal) => {
                let Refusal { rule, reason, remedy, .. } = *refusal;
                Verdict::Denied(Denial { rule, reason, remedy })
            }
            Judged::NeedBody { .. } => Verdict::DependsOnBody,
            Judged::Permitted(permit) => {
                if let Dial::Pinned { addresses, .. } = &permit.dial {
                    let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                    notes.push(format!("it is dialled at {} only", all.join(", ")));
                }
                if let Body::ReceivePack { branches, .. } = &permit.body {
                    notes.push(format!(
                        "a push may move {} forward, and nothing else",
                        branches.join(", ")
                    ));
                }
                Verdict::Allowed { rule: permit.rule() }
            }
        };
        Ok(Explanation {
            method: method.to_owned(),
            url: url.to_owned(),
            phase: self.compiled.phase(),
            verdict,
            layers,
            bundles,
            connection,
            notes,
        })
    }

    fn reasons(&self, request: &Request) -> (Vec<LayerSays>, Vec<String>, Vec<String>) {
        let notes = self
            .table
            .idle()
            .into_iter()
            .map(|(bundle, why)| format!("`{bundle}` does nothing: {why}"));
        let notes = notes.collect();
        let Ok(read) = self.read(request) else { return (Vec::new(), Vec::new(), notes) };
        let belonging = self.table.read(&read.asked(request));
        let outgoing = read.outgoing(request.port, &belonging.bundles);
        let says = |rules: &Rules| {
            let find = |set: &std::collections::BTreeSet<Rule>| {
                set.iter().find(|rule| rule.matches(&outgoing)).cloned()
            };
            match (find(&rules.deny), find(&rules.allow)) {
                (Some(rule), _) => Says::Denies(rule),
                (None, Some(rule)) => Says::Allows(rule),
                (None, None) => Says::Nothing,
            }
        };
        let layers = self
            .network
            .egress
            .layers(self.compiled.phase())
            .map(|rules| LayerSays { layer: rules.layer, says: says(rules) })
            .collect();
        (layers, belonging.bundles.iter().map(ToString::to_string).collect(), notes)
    }
}
