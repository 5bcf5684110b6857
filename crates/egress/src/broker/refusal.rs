//! Refusals: what was refused, by which rule, and what a person can do about it.

use std::fmt::Display;

use contracts::egress::Network;
use domain::policy::{Denial, EgressPhase, LayerKind, Method, Rule};

use super::ruling::Ruling;
use crate::bundles::{Asked, Belonging, model::BodyError};
use proxy::ask::{Refusal, RefusalCode, Request};

/// What a refusal is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    host: &'a str,
    /// 0 for a name.
    port: u16,
    ruling: &'a Ruling,
}

impl<'a> About<'a> {
    pub const fn name(host: &'a str, ruling: &'a Ruling) -> Self {
        Self { host, port: 0, ruling }
    }

    pub const fn connection(host: &'a str, port: u16, ruling: &'a Ruling) -> Self {
        Self { host, port, ruling }
    }

    pub fn request(request: &'a Request, ruling: &'a Ruling) -> Self {
        Self { host: &request.host, port: request.port, ruling }
    }

    const fn phase(&self) -> EgressPhase {
        self.ruling.compiled.phase()
    }

    pub fn with(
        &self,
        code: RefusalCode,
        rule: Option<String>,
        reason: String,
        remedy: String,
    ) -> Box<Refusal> {
        Box::new(Refusal {
            phase: self.phase().as_str().to_owned(),
            rule,
            remedy,
            ..refusal(code, self.host, self.port, reason)
        })
    }

    pub fn malformed(&self, error: &dyn Display) -> Box<Refusal> {
        self.with(RefusalCode::Malformed, None, error.to_string(), String::new())
    }

    pub fn unsupported_method(&self, method: &str) -> Box<Refusal> {
        let known: Vec<&str> = Method::ALL.into_iter().map(Method::as_str).collect();
        let reason = format!(
            "`{}` is not carried; methods are {}",
            method.escape_default(),
            known.join(", ")
        );
        self.with(RefusalCode::Unsupported, None, reason, String::new())
    }

    /// A connection, or a name.
    pub fn denied(&self, denial: &Denial) -> Box<Refusal> {
        let line = match self.port {
            0 | 443 => self.host.to_owned(),
            port => format!("{{ host: {}, ports: [{port}] }}", self.host),
        };
        Box::new(self.by(denial, &line, self.mentioned()))
    }

    pub fn denied_request(
        &self,
        denial: &Denial,
        asked: &Asked<'_>,
        belonging: &Belonging<'_>,
    ) -> Box<Refusal> {
        let line = match self.ruling.suggestion(asked) {
            Some(bundle) => bundle.to_string(),
            None => host_line(asked),
        };
        let mut refusal = self.by(denial, &line, belonging.why_not.clone());
        // A bundle that says no has a reason; allowing the host instead would go around it.
        if belonging.why_not.is_some() {
            refusal.remedy = String::new();
        }
        Box::new(refusal)
    }

    fn by(&self, denial: &Denial, line: &str, hint: Option<String>) -> Refusal {
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        match denial {
            Denial::Closed => {
                let reason = format!("no policy allows anything while `{}`{hint}", self.phase());
                *self.with(
                    RefusalCode::NotAllowed,
                    None,
                    reason,
                    self.remedy(LayerKind::Organisation, line),
                )
            }
            Denial::NoRule { layer } => {
                let reason =
                    format!("no rule of the {layer} allows it while `{}`{hint}", self.phase());
                *self.with(
                    RefusalCode::NotAllowed,
                    Some(layer.to_string()),
                    reason,
                    self.remedy(*layer, line),
                )
            }
            Denial::Forbidden { layer, rule } => {
                let reason = format!("the {layer} denies `{rule}` while `{}`", self.phase());
                let remedy =
                    format!("only whoever owns {} can take the rule out of `deny`", file(*layer));
                *self.with(RefusalCode::Forbidden, Some(rule.to_string()), reason, remedy)
            }
        }
    }

    fn remedy(&self, layer: LayerKind, line: &str) -> String {
        match layer {
            LayerKind::Organisation | LayerKind::Platform => {
                format!("add `{line}` to `egress.{}.allow` in {}", self.phase(), file(layer))
            }
            LayerKind::Repository => {
                format!("add `{line}` to `egress.{}` in {}", self.phase(), file(layer))
            }
            LayerKind::Approval => "approve the plan without this condition".to_owned(),
        }
    }

    /// A rule that is about this host, and about something else of it.
    fn mentioned(&self) -> Option<String> {
        let host = self.host.parse().ok()?;
        let (layer, rule) = self.ruling.compiled.mention(&host)?;
        match rule {
            Rule::Host { .. } if self.port != 0 => Some(format!("the {layer} has `{rule}`")),
            Rule::Host { .. } | Rule::Bundle(_) => None,
        }
    }

    pub fn no_push(&self, repository: &str, network: &Network) -> Box<Refusal> {
        let rights: Vec<String> = network
            .pushes
            .iter()
            .map(|push| format!("`{}` of `{}/{}`", push.branch, push.host, push.repository))
            .collect();
        let reason = if rights.is_empty() {
            format!("nothing may be pushed while `{}`; `{repository}` is for reading", self.phase())
        } else {
            format!(
                "`{repository}` is for reading; this task pushes to {} only",
                rights.join(" and ")
            )
        };
        self.with(RefusalCode::Push, None, reason, String::new())
    }

    pub fn model_body(&self, error: &BodyError) -> Box<Refusal> {
        let (code, remedy) = match error {
            BodyError::Malformed(_) => (RefusalCode::Malformed, String::new()),
            BodyError::Tool(_) | BodyError::Fetch(_) => (
                RefusalCode::Forbidden,
                "switch it off in the agent, or set `provider_tools: true` for this model in `lamp.yaml`".to_owned(),
            ),
        };
        self.with(code, None, error.to_string(), remedy)
    }
}

/// The line that would allow this request, and little more.
fn host_line(asked: &Asked<'_>) -> String {
    let Asked { host, port, method, path, .. } = asked;
    if *port == 443 && Method::READING.contains(method) {
        return host.to_string();
    }
    let ports = if *port == 443 { String::new() } else { format!(", ports: [{port}]") };
    let path = if path.as_str().contains(['%', '*', ',', '[', ']', '{', '}', '"']) {
        "/**"
    } else {
        path.as_str()
    };
    format!("{{ host: {host}{ports}, methods: [{}], paths: [{path}] }}", method.as_str())
}

const fn file(layer: LayerKind) -> &'static str {
    match layer {
        LayerKind::Organisation => "`policy.yaml`",
        LayerKind::Platform => "`lamp.yaml`",
        LayerKind::Repository => "the agent's file",
        LayerKind::Approval => "the approval",
    }
}

/// The bare refusal, with the status that says it best.
pub fn refusal(code: RefusalCode, host: &str, port: u16, reason: impl Into<String>) -> Refusal {
    let status = match code {
        RefusalCode::NotAllowed
        | RefusalCode::Forbidden
        | RefusalCode::Address
        | RefusalCode::Push
        | RefusalCode::Credential => 403,
        RefusalCode::Malformed => 400,
        RefusalCode::Mismatch => 421,
        RefusalCode::Unsupported => 405,
        RefusalCode::Limit => 429,
        RefusalCode::Budget => 402,
        RefusalCode::Upstream => 502,
        RefusalCode::Closed => 503,
    };
    Refusal {
        status,
        code,
        host: host.to_owned(),
        port,
        phase: String::new(),
        rule: None,
        reason: reason.into(),
        remedy: String::new(),
    }
}

/// A refusal of a sandbox that has no rules here.
pub fn unknown(host: &str, port: u16) -> Refusal {
    refusal(RefusalCode::Closed, host, port, "this sandbox has no way out now")
}
