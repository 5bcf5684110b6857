//! Answers to the gateway: what the rules say, with money and credentials.

use std::{sync::Arc, time::Duration};

use contracts::secret::{SecretError, SecretName};
use domain::{id::SandboxId, policy::HostName};

use super::{
    Broker,
    credentials::{Bound, For},
    ledger::{ExchangeRecord, Record, What},
    member::{Member, Open, lock},
    refusal::{About, unknown},
    ruling::{Connection, Judged, Permit, Ruling},
    traffic::Room,
};
use crate::model::budget::{Reservation, estimate};
use proxy::ask::{
    Answer, Body, Connect, Dialect, Exchange, Grant, Outcome, Question, Refusal, RefusalCode,
    Report, Request, Scheme, Secret, Swap, Upgrade, Way, Whose,
};

/// How often the rules may change under one question before it is refused.
const CHANGES: usize = 8;

/// How long package managers may take to say where their registries are. It is sooner than the gateway gives up.
const PATIENCE: Duration = Duration::from_secs(10);

impl Broker {
    /// Answers one question. Nothing is decided by what was asked before.
    pub async fn answer(&self, whose: Whose, exchange: Exchange, question: &Question) -> Answer {
        let sandbox = SandboxId::from_u128(whose.0);
        for _ in 0..CHANGES {
            let Some(member) = self.member(sandbox).filter(|member| member.is_present()) else {
                break;
            };
            if let Some(answer) = self.answer_by(&member, exchange, question).await {
                return answer;
            }
        }
        Answer::Refused(nobody(question))
    }

    /// Answers by the rules of this moment. Nothing, and nothing is left of it, where they are others by then: while a credential was fetched,
    /// the sandbox may have left, or have come to another phase. Its program did nothing wrong, so it is asked again.
    async fn answer_by(
        &self,
        member: &Arc<Member>,
        exchange: Exchange,
        question: &Question,
    ) -> Option<Answer> {
        let ruling = member.ruling();
        // A package manager that never answers keeps nobody waiting for ever.
        drop(tokio::time::timeout(PATIENCE, ruling.settle(question)).await);
        let answer = match question {
            Question::Name { host } => match ruling.name(host) {
                Ok(()) => Answer::Known { generation: ruling.generation },
                Err(refusal) => Answer::Refused(*refusal),
            },
            Question::Connect(connect) => self.connect(member, &ruling, exchange, connect).await,
            Question::Request(request) => self.request(member, &ruling, exchange, request).await,
        };
        let now = self.member(member.sandbox);
        let is_current = now
            .as_ref()
            .is_some_and(|now| now.is_present() && now.ruling().generation == ruling.generation);
        if !is_current {
            self.take_back(member, exchange);
            // Whoever joined again has taken over what was open.
            if let Some(now) = now {
                self.take_back(&now, exchange);
            }
            return None;
        }
        if let Answer::Refused(refusal) = &answer {
            self.look(member, exchange, question).await;
            if let Question::Name { host } = question {
                self.refused_name(member, host, refusal);
            }
        }
        Some(answer)
    }

    /// A name that may not be reached. The gateway has no exchange for it, so it is written down here.
    fn refused_name(&self, member: &Member, host: &str, refusal: &Refusal) {
        let report = Report {
            host: host.to_owned(),
            port: 0,
            way: Way::Names,
            request: None,
            outcome: Outcome::Refused(refusal.clone()),
            bytes_up: 0,
            bytes_down: 0,
            address: None,
            millis: 0,
            first_byte_millis: None,
            usage: None,
            peer: None,
            generation: Some(member.ruling().generation),
            rule: None,
        };
        let exchange = ExchangeRecord::new(&report, None, None);
        self.record(Some(member), What::Exchange(Box::new(exchange)));
    }

    pub(super) fn take_back(&self, member: &Member, exchange: Exchange) {
        let open = lock(&member.open).remove(&exchange);
        if let Some(reservation) = open.and_then(|open| open.reservation) {
            lock(&self.purses).release(reservation);
            self.forget_asking(member, exchange);
        }
    }

    async fn connect(
        &self,
        member: &Member,
        ruling: &Ruling,
        exchange: Exchange,
        connect: &Connect,
    ) -> Answer {
        let (rule, dial) = match ruling.connect(&connect.host, connect.port) {
            Connection::Refused(refusal) => return Answer::Refused(*refusal),
            Connection::Inspect => return Answer::Inspect { generation: ruling.generation },
            Connection::Opaque { rule, dial } => (rule, dial),
        };
        let whom = whom(member, ruling);
        let is_bound = match connect.host.parse::<HostName>() {
            Ok(host) => self.settings.credentials.is_bound(whom, &host).await,
            Err(_) => false,
        };
        if is_bound {
            return Answer::Inspect { generation: ruling.generation };
        }
        let about = About::connection(&connect.host, connect.port, ruling);
        match self.begin(member, &about, exchange, &rule, None) {
            Ok(room) => Answer::Opaque(Grant {
                generation: ruling.generation,
                rule,
                dial,
                scheme: Scheme::Https,
                target: None,
                strip: Vec::new(),
                set: Vec::new(),
                swaps: Vec::new(),
                scrub: Vec::new(),
                body: Body::Relay,
                upgrade: Upgrade::Refused,
                meter: None,
                most_up: room.bytes_up,
                most_down: room.bytes_down,
            }),
            Err(refusal) => Answer::Refused(*refusal),
        }
    }

    async fn request(
        &self,
        member: &Member,
        ruling: &Ruling,
        exchange: Exchange,
        request: &Request,
    ) -> Answer {
        let permit = match ruling.request(request) {
            Judged::Refused(refusal) => return Answer::Refused(*refusal),
            Judged::NeedBody { most, language } => {
                return Answer::NeedBody { most, language };
            }
            Judged::Permitted(permit) => permit,
        };
        match self.grant(member, ruling, exchange, request, &permit).await {
            Ok(grant) => Answer::Granted(grant),
            Err(refusal) => Answer::Refused(*refusal),
        }
    }

    async fn grant(
        &self,
        member: &Member,
        ruling: &Ruling,
        exchange: Exchange,
        request: &Request,
        permit: &Permit<'_>,
    ) -> Result<Grant, Box<Refusal>> {
        let about = About::request(request, ruling);
        let rule = permit.rule();
        let given = self.given(member, ruling, request, permit, &about).await?;
        let reservation = match &permit.wanted {
            Some(_) => self.reserve(member, permit, &about)?,
            None => None,
        };
        let room = self.begin(member, &about, exchange, &rule, reservation)?;
        let costs = permit.model().and_then(|call| call.operation.costs);
        Ok(Grant {
            generation: ruling.generation,
            rule,
            dial: permit.dial.clone(),
            scheme: permit.scheme,
            target: permit.target.clone(),
            strip: given.strip,
            set: given.set,
            swaps: given.swaps,
            scrub: given.scrub,
            body: permit.body.clone(),
            upgrade: permit.upgrade,
            meter: costs.map(Dialect::from),
            most_up: room.bytes_up,
            most_down: room.bytes_down,
        })
    }

    /// The credentials of one request.
    async fn given(
        &self,
        member: &Member,
        ruling: &Ruling,
        request: &Request,
        permit: &Permit<'_>,
        about: &About<'_>,
    ) -> Result<Given, Box<Refusal>> {
        let mut given = Given::default();
        let whom = whom(member, ruling);
        if let Some(call) = permit.model() {
            let may_ask = self.settings.credentials.may_ask(whom).await;
            may_ask.map_err(|error| Box::new(no_credential(about, &error)))?;
            given.strip = call.provider.strip().to_vec();
            if let Some(name) = &call.route.secret {
                let value = self.settings.credentials.key(name, whom).await;
                let value = value.map_err(|error| Box::new(no_credential(about, &error)))?;
                self.write_down(member, ruling, name, request, about)?;
                let (header, line) = call.provider.key(value.expose());
                given.set.push((header, Secret(line)));
                given.scrub.push(Secret(value.expose().to_owned()));
            }
            return Ok(given);
        }
        let Ok(host) = request.host.parse::<HostName>() else { return Ok(given) };
        // A host of a model that is allowed as a plain host: whatever key a program brings to it is not ours.
        given.strip = ruling.table.strip(&host, request.port);
        let is_seen = request.scheme == Scheme::Https
            && permit.scheme == Scheme::Https
            && permit.upgrade == Upgrade::Refused;
        if !is_seen {
            self.find(member, &[], request);
            return Ok(given);
        }
        let bound = self.settings.credentials.bound(whom, &host).await;
        let bound = bound.map_err(|error| Box::new(no_credential(about, &error)))?;
        self.find(member, &bound, request);
        for secret in bound {
            let value = secret.value.expose().to_owned();
            // The host may have kept what it was told before.
            given.scrub.push(Secret(value.clone()));
            if !request.placeholders.contains(&secret.placeholder) {
                continue;
            }
            self.write_down(member, ruling, &secret.name, request, about)?;
            given.swaps.push(Swap {
                placeholder: secret.placeholder,
                value: Secret(value),
                places: secret.places,
            });
        }
        Ok(given)
    }

    /// That a value is handed out, before it is. What cannot be written down is not done.
    fn write_down(
        &self,
        member: &Member,
        ruling: &Ruling,
        name: &SecretName,
        request: &Request,
        about: &About<'_>,
    ) -> Result<(), Box<Refusal>> {
        let path = request.target.split('?').next().unwrap_or_default();
        let what = What::Credential {
            secret: name.to_string(),
            host: request.host.clone(),
            port: request.port,
            method: request.method.clone(),
            path: path.to_owned(),
        };
        let phase = Some(ruling.compiled.phase().as_str());
        let record = Record::new(self.now(), Some((member.sandbox, &member.owner)), phase, what);
        self.settings.ledger.write(&record).map_err(|error| {
            let reason =
                format!("that `{name}` is used cannot be written down, so it is not: {error}");
            let remedy = "look at the server's log; requests without a credential go on".to_owned();
            about.with(RefusalCode::Credential, None, reason, remedy)
        })
    }

    /// A placeholder where it means nothing is worth a look: somebody may be trying to learn the value.
    fn find(&self, member: &Member, bound: &[Bound], request: &Request) {
        let means_something = |shown: &&String| bound.iter().any(|one| one.placeholder == **shown);
        let strays = request.placeholders.iter().filter(|shown| !means_something(shown)).count();
        if strays == 0 {
            return;
        }
        let (host, port) = (&request.host, request.port);
        let detail = format!(
            "{strays} placeholder(s) in a request to {host}:{port}, where they mean nothing"
        );
        self.record(Some(member), What::Finding { what: "placeholder_elsewhere", detail });
    }

    fn reserve(
        &self,
        member: &Member,
        permit: &Permit<'_>,
        about: &About<'_>,
    ) -> Result<Option<Reservation>, Box<Refusal>> {
        let (Some(wanted), Some(call)) = (&permit.wanted, permit.model()) else { return Ok(None) };
        let accounts = self.accounts(member);
        let priced = estimate(&self.settings.prices, call.route.provider, wanted);
        let reserved = lock(&self.purses).reserve(&accounts, priced, wanted.body_bytes, self.now());
        reserved.map(Some).map_err(|over| {
            let remedy = "raise the budget, and the task goes on where it stopped".to_owned();
            about.with(RefusalCode::Budget, None, over.to_string(), remedy)
        })
    }

    /// Counts the exchange, and remembers what is to be settled at its end.
    fn begin(
        &self,
        member: &Member,
        about: &About<'_>,
        exchange: Exchange,
        rule: &str,
        reservation: Option<Reservation>,
    ) -> Result<Room, Box<Refusal>> {
        let begun = lock(&member.traffic).begin(&self.standing().allowances, rule);
        match begun {
            Ok(room) => {
                if let Some(reservation) = &reservation {
                    self.keep_asking(member, exchange, reservation);
                }
                let (is_metered, since) = (reservation.is_some(), self.now());
                let open = Open { rule: rule.to_owned(), is_metered, since, reservation };
                let before = lock(&member.open).insert(exchange, open);
                // A gateway numbers each exchange once; one that does not is not paid for by others.
                if let Some(reservation) = before.and_then(|open| open.reservation) {
                    lock(&self.purses).release(reservation);
                }
                Ok(room)
            }
            Err(used_up) => {
                if let Some(reservation) = reservation {
                    lock(&self.purses).release(reservation);
                }
                let detail = used_up.to_string();
                self.record(Some(member), What::Finding { what: "traffic_used_up", detail });
                let remedy = "raise `traffic` in `lamp.yaml`".to_owned();
                let rule = Some(rule.to_owned());
                Err(about.with(RefusalCode::Limit, rule, used_up.to_string(), remedy))
            }
        }
    }
}

/// What a request is given.
#[derive(Debug, Default)]
struct Given {
    strip: Vec<String>,
    set: Vec<(String, Secret)>,
    swaps: Vec<Swap>,
    scrub: Vec<Secret>,
}

fn whom<'a>(member: &'a Member, ruling: &'a Ruling) -> For<'a> {
    For {
        sandbox: member.sandbox,
        owner: &member.owner,
        agent: ruling.network.agent.as_ref(),
        secrets: &ruling.network.secrets,
    }
}

fn no_credential(about: &About<'_>, error: &SecretError) -> Refusal {
    *about.with(RefusalCode::Credential, None, error.to_string(), String::new())
}

fn nobody(question: &Question) -> Refusal {
    match question {
        Question::Name { host } => unknown(host, 0),
        Question::Connect(connect) => unknown(&connect.host, connect.port),
        Question::Request(request) => unknown(&request.host, request.port),
    }
}
