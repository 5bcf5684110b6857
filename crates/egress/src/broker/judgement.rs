//! What the rules of one sandbox say about one thing that wants to leave.
//!
//! Everything here is a pure function of rules and tables: the same code answers the gateway, explains a decision to a person, and
//! tests a policy file without a sandbox. What costs or needs a credential is added by [`super::Broker`].

use domain::policy::{Access, Bundle, HostName, LayerKind, Method, Rule};

use super::{
    compiled::{Decision, Passage},
    refusal::About,
    ruling::{Connection, Judged, Permit, Read, Ruling},
    url,
};
use crate::bundles::{
    Belonging, WithBody,
    git::{GitRequest, GitService, GitStep},
    model::{self, ModelCall, Wanted},
};
use proxy::ask::{
    BODY_LIMIT, Body, Dial, Language, MODEL_BODY_LIMIT, Refusal, RefusalCode, Request, Said,
    Upgrade,
};

/// The most bytes of one pack that is pushed.
pub const MOST_PACK: u64 = 512 * 1024 * 1024;

impl Ruling {
    pub fn name(&self, host: &str) -> Result<(), Box<Refusal>> {
        let about = About::name(host, self);
        let host: HostName = host.parse().map_err(|error| about.malformed(&error))?;
        let touching = self.table.touching(&host, None);
        self.compiled.knows(&host, &touching).map_err(|denial| about.denied(&denial))
    }

    pub fn connect(&self, host: &str, port: u16) -> Connection {
        let about = About::connection(host, port, self);
        let host: HostName = match host.parse() {
            Ok(host) => host,
            Err(error) => return Connection::Refused(about.malformed(&error)),
        };
        let touching = self.table.touching(&host, Some(port));
        match self.compiled.passage(&host, port, &touching) {
            Passage::Refused(denial) => Connection::Refused(about.denied(&denial)),
            // A program brings a key of its own to a model: it is looked at, whatever the rules say.
            Passage::Opaque(_) if self.table.is_models(&host, port) => Connection::Inspect,
            Passage::Opaque(rules) => Connection::Opaque {
                rule: rules.last().map(|(_, rule)| rule.to_string()).unwrap_or_default(),
                dial: self.dial(&host, port),
            },
            Passage::Inspect => Connection::Inspect,
        }
    }

    /// Reads what the gateway has read before, into the terms of the rules.
    pub fn read(&self, request: &Request) -> Result<Read, Box<Refusal>> {
        let about = About::request(request, self);
        let host = request.host.parse().map_err(|error| about.malformed(&error))?;
        let method = Method::ALL.into_iter().find(|it| it.as_str() == request.method);
        let method = method.ok_or_else(|| about.unsupported_method(&request.method))?;
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (request.target.as_str(), None),
        };
        let path = path.parse().map_err(|error| about.malformed(&error))?;
        Ok(Read { host, method, path, query })
    }

    pub fn request(&self, request: &Request) -> Judged<'_> {
        let read = match self.read(request) {
            Ok(read) => read,
            Err(refusal) => return Judged::Refused(refusal),
        };
        let asked = read.asked(request);
        let belonging = self.table.read(&asked);
        let about = About::request(request, self);
        let rules = match self.compiled.judge(&read.outgoing(request.port, &belonging.bundles)) {
            Decision::Allowed(rules) => rules,
            Decision::Denied(denial) => {
                if let Some(WithBody { bundle, language }) = &belonging.with_body {
                    let hoped = belonging.bundles.iter().chain([bundle]).cloned().collect();
                    let hoped = self.compiled.judge(&read.outgoing(request.port, &hoped));
                    if matches!(hoped, Decision::Allowed(_)) {
                        return Judged::NeedBody { most: BODY_LIMIT as u64, language: *language };
                    }
                }
                return Judged::Refused(about.denied_request(&denial, &asked, &belonging));
            }
        };
        match self.permit(request, &read, rules, belonging) {
            Ok(judged) => judged,
            Err(refusal) => Judged::Refused(refusal),
        }
    }

    /// The bundle that a request would belong to, if it belongs to one.
    pub fn bundle_for(&self, method: &str, url: &str) -> Option<Bundle> {
        let request = url::request(method, url).ok()?;
        let read = self.read(&request).ok()?;
        self.suggestion(&read.asked(&request))
    }

    fn permit<'a>(
        &'a self,
        request: &Request,
        read: &Read,
        rules: Vec<(LayerKind, &'a Rule)>,
        belonging: Belonging<'a>,
    ) -> Result<Judged<'a>, Box<Refusal>> {
        let about = About::request(request, self);
        let body = match &belonging.git {
            Some(git) => self.git_body(&about, &read.host, git)?,
            None => Body::Relay,
        };
        let upgrade = upgrade(&about, request, &rules)?;
        let mut permit = Permit {
            dial: self.dial(&read.host, request.port),
            scheme: request.scheme,
            target: None,
            body,
            upgrade,
            wanted: None,
            rules,
            belonging,
        };
        let Some(call) = permit.model() else {
            // Ours alone: there is nobody behind it but the models.
            if read.host.as_str() == model::INSIDE_HOST {
                let why = permit.belonging.why_not.clone().unwrap_or_default();
                return Err(about.with(RefusalCode::NotAllowed, None, why, String::new()));
            }
            return Ok(Judged::Permitted(Box::new(permit)));
        };
        let (scheme, target) = (call.place.scheme(), call.target.clone());
        let dial = match &call.route.upstream {
            Some(upstream) if !upstream.addresses.is_empty() => Dial::Pinned {
                host: call.place.host().to_string(),
                port: call.place.port(),
                addresses: upstream.addresses.clone(),
                authority: upstream.authority.clone(),
            },
            Some(_) | None => {
                Dial::Public { host: call.place.host().to_string(), port: call.place.port() }
            }
        };
        let wanted = match (call.operation.costs, &request.body) {
            (None, _) => None,
            (Some(costs), None) => {
                return Ok(Judged::NeedBody {
                    most: MODEL_BODY_LIMIT as u64,
                    language: Language::Model(costs.into()),
                });
            }
            (Some(_), Some(said)) => Some(wanted(&about, call, said)?),
        };
        permit = Permit { scheme, target: Some(target), dial, wanted, ..permit };
        Ok(Judged::Permitted(Box::new(permit)))
    }

    fn git_body(
        &self,
        about: &About<'_>,
        host: &HostName,
        git: &GitRequest,
    ) -> Result<Body, Box<Refusal>> {
        match (git.service, git.step) {
            (GitService::UploadPack, GitStep::ListRefs) => Ok(Body::Relay),
            (GitService::UploadPack, GitStep::Serve) => Ok(Body::UploadPack),
            (GitService::ReceivePack, step) => {
                let same = |name: &str| name.eq_ignore_ascii_case(&git.repository);
                let branches: Vec<String> = self
                    .network
                    .pushes
                    .iter()
                    .filter(|push| push.host == *host && same(&push.repository))
                    .map(|push| push.branch.clone())
                    .collect();
                if branches.is_empty() {
                    return Err(about.no_push(&git.repository, &self.network));
                }
                Ok(match step {
                    GitStep::ListRefs => Body::Relay,
                    GitStep::Serve => Body::ReceivePack { branches, most_pack: MOST_PACK },
                })
            }
        }
    }
}

/// What is asked of a model, if its body is one that may be sent.
fn wanted(about: &About<'_>, call: &ModelCall<'_>, said: &Said) -> Result<Wanted, Box<Refusal>> {
    let mut wanted = model::judge_body(call.provider, call.route.tools, said)
        .map_err(|error| about.model_body(&error))?;
    if let Some(named) = &call.named {
        wanted.model = Some(named.clone());
    }
    Ok(wanted)
}

/// Bytes that nobody looks at may be spoken where every layer has declared that nobody looks.
fn upgrade(
    about: &About<'_>,
    request: &Request,
    rules: &[(LayerKind, &Rule)],
) -> Result<Upgrade, Box<Refusal>> {
    let Some(wanted) = &request.upgrade else { return Ok(Upgrade::Refused) };
    let is_opaque = |rule: &Rule| match rule {
        Rule::Host { access: Access::Opaque, .. } => true,
        Rule::Host { access: Access::Inspected { .. }, .. } | Rule::Bundle(_) => false,
    };
    if wanted == "websocket" && rules.iter().all(|(_, rule)| is_opaque(rule)) {
        return Ok(Upgrade::WebSocket);
    }
    let reason = format!("nobody could see what is said after an upgrade to `{wanted}`");
    let remedy = "where that is meant, allow the host with `opaque: true` in every layer";
    Err(about.with(RefusalCode::Unsupported, None, reason, remedy.to_owned()))
}
