//! ACP, version 1: JSON-RPC 2.0, a message in a line. We are the client.
//!
//! ```text
//!  initialize ─▶ session/new | session/resume | session/load ─▶ session/prompt … session/update … ─▶ stopReason
//!                                                                 ▲ session/cancel, when a person speaks
//! ```
//!
//! The agent is offered neither files nor terminals: it lives in the same sandbox and has its own. What it asks for beside permissions is
//! answered with "no such method". An answer to a request that was not made, and news of a session that is not ours, are passed over.
//! Why this is not the official crate: `docs/decisions/0013-acp-by-hand.md`.

use contracts::agent::Answer;
use domain::transcript::{AgentEvent, ToolKind, Verdict};
use serde_json::{Value, json};

use super::{Came, Fault, Talk, is_name, permit};
use crate::{
    director::Next as Direction,
    language::{Heard, Over, acp, owned, text},
};

/// The version of the protocol that we speak.
const VERSION: u64 = 1;

/// What an agent can do beside the least.
#[derive(Debug, Clone, Copy, Default)]
struct Abilities {
    load: bool,
    resume: bool,
}

pub(crate) async fn converse(talk: &mut Talk<'_>) -> Result<Answer, Fault> {
    let mut line = Line { talk, next: 0, session: None, is_cancelled: false };
    let abilities = line.initialize().await?;
    line.open(abilities).await?;
    let mut prompt = line.talk.prompt.to_owned();
    loop {
        line.is_cancelled = false;
        let over = line.prompt(&prompt).await?;
        match line.talk.after(over)? {
            Direction::Answered(answer) => return Ok(answer),
            Direction::Say(next) => prompt = next,
            Direction::Unusable(faults) => return Err(Fault::Unusable(faults)),
        }
    }
}

struct Line<'a, 'b> {
    talk: &'a mut Talk<'b>,
    next: u64,
    /// Whose news are told. None while a session is opened, so that what it replays is not told twice.
    session: Option<String>,
    /// Whether the turn was cancelled, because a person spoke.
    is_cancelled: bool,
}

impl Line<'_, '_> {
    async fn initialize(&mut self) -> Result<Abilities, Fault> {
        let wish = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
            },
            "clientInfo": { "name": "lamplighter", "version": env!("CARGO_PKG_VERSION") },
        });
        let hello = self.request("initialize", wish).await?.map_err(failed)?;
        if hello.pointer("/protocolVersion").and_then(Value::as_u64) != Some(VERSION) {
            return Err(Fault::Protocol(format!("it does not speak version {VERSION} of ACP")));
        }
        self.talk.tell(vec![acp::hello(&hello)]).await;
        let load = hello.pointer("/agentCapabilities/loadSession").and_then(Value::as_bool);
        let resume = hello.pointer("/agentCapabilities/sessionCapabilities/resume");
        Ok(Abilities {
            load: load.unwrap_or_default(),
            resume: resume.is_some_and(|it| !it.is_null() && *it != Value::Bool(false)),
        })
    }

    /// Takes up a session again where there is one, and begins a new one otherwise.
    async fn open(&mut self, abilities: Abilities) -> Result<(), Fault> {
        let directory = self.talk.directory.to_owned();
        let known = self.talk.session.map(str::to_owned);
        let session = match known {
            Some(session) if self.take_up(&session, &directory, abilities).await? => session,
            Some(_) | None => {
                let wish = json!({ "cwd": directory, "mcpServers": [] });
                let made = self.request("session/new", wish).await?.map_err(failed)?;
                let none = || {
                    Fault::Protocol(
                        "it opened a session without a name, or with one that is too long"
                            .to_owned(),
                    )
                };
                owned(&made, "/sessionId").filter(|name| is_name(name)).ok_or_else(none)?
            }
        };
        self.session = Some(session.clone());
        self.talk.tell(vec![Heard::Session(session)]).await;
        Ok(())
    }

    async fn take_up(
        &mut self,
        session: &str,
        directory: &str,
        abilities: Abilities,
    ) -> Result<bool, Fault> {
        let method = match abilities {
            Abilities { resume: true, .. } => "session/resume",
            Abilities { load: true, .. } => "session/load",
            Abilities { .. } => {
                self.forgot("it cannot take up a session again").await;
                return Ok(false);
            }
        };
        let wish = json!({ "sessionId": session, "cwd": directory, "mcpServers": [] });
        match self.request(method, wish).await? {
            Ok(_) => Ok(true),
            Err(error) => {
                let why = text(&error, "/message").unwrap_or("it does not say why").to_owned();
                self.forgot(&why).await;
                Ok(false)
            }
        }
    }

    /// It is told everything again in its brief, so it can go on; but people should know.
    async fn forgot(&mut self, why: &str) {
        let text = format!("it does not remember what it did before, and begins anew: {why}");
        self.talk.teller.tell(AgentEvent::Trouble { text }).await;
    }

    async fn prompt(&mut self, text: &str) -> Result<Over, Fault> {
        let session = self.session.clone().unwrap_or_default();
        let wish = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        Ok(match self.request("session/prompt", wish).await? {
            Ok(result) => acp::over(&result),
            Err(error) => acp::error(&error),
        })
    }

    /// Asks, and listens until the answer has come: to news, to questions, to people.
    async fn request(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, Value>, Fault> {
        let id = self.next;
        self.next += 1;
        let ask = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.talk.pipe.say(&ask).await?;
        loop {
            match self.talk.next().await? {
                Came::End => return Err(Fault::Ended),
                Came::Words(words) => self.steer(words).await?,
                Came::Line(message) => {
                    if let Some(answer) = self.hear(id, message).await? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    /// The answer to the request `id`, if this is it.
    async fn hear(
        &mut self,
        id: u64,
        message: Value,
    ) -> Result<Option<Result<Value, Value>>, Fault> {
        let method = owned(&message, "/method");
        match (method.as_deref(), message.get("id")) {
            (None, Some(of)) if of.as_u64() == Some(id) => {
                if let Some(error) = message.get("error") {
                    return Ok(Some(Err(error.clone())));
                }
                Ok(Some(Ok(message.get("result").cloned().unwrap_or(Value::Null))))
            }
            (Some(method), Some(asked)) if !asked.is_null() => {
                self.answer(method, asked.clone(), &message).await?;
                Ok(None)
            }
            (Some("session/update"), _) => {
                let of = text(&message, "/params/sessionId");
                let is_ours = of.is_some() && of == self.session.as_deref();
                if is_ours && let Some(update) = message.pointer("/params/update") {
                    self.talk.tell(acp::update(update)).await;
                }
                Ok(None)
            }
            (None | Some(_), _) => Ok(None),
        }
    }

    async fn answer(&mut self, method: &str, id: Value, message: &Value) -> Result<(), Fault> {
        let answer = if method == "session/request_permission" {
            let outcome = self.permission(message).await;
            json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } })
        } else {
            let error = json!({ "code": -32601, "message": "this client does not offer that" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        };
        Ok(self.talk.pipe.say(&answer).await?)
    }

    async fn permission(&mut self, message: &Value) -> Value {
        let title = owned(message, "/params/toolCall/title");
        let title = title.unwrap_or_else(|| "a tool".to_owned());
        let kind = text(message, "/params/toolCall/kind").map_or(ToolKind::Other, acp::kind);
        let is_cancelled = self.is_cancelled;
        let verdict = permit(self.talk.mode, kind);
        let wanted = match verdict {
            Verdict::Allowed => ["allow_once", "allow_always"],
            Verdict::Denied => ["reject_once", "reject_always"],
        };
        let options = message.pointer("/params/options").and_then(Value::as_array);
        let find = |wanted: &&str| {
            let mut options = options.into_iter().flatten();
            options
                .find(|it| text(it, "/kind") == Some(wanted))
                .and_then(|it| owned(it, "/optionId"))
        };
        self.talk.teller.permission(title, verdict).await;
        match wanted.iter().find_map(find) {
            // The protocol wants it so: whoever cancels answers what is open with that.
            Some(_) if is_cancelled => json!({ "outcome": "cancelled" }),
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        }
    }

    /// A person speaks. The turn is cancelled, and the next one begins with the words.
    async fn steer(&mut self, words: String) -> Result<(), Fault> {
        self.talk.hear(words).await;
        // Nothing runs yet that could be cancelled, or it is cancelled already.
        let Some(session) = self.session.clone().filter(|_| !self.is_cancelled) else {
            return Ok(());
        };
        self.is_cancelled = true;
        let cancel = json!({
            "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session },
        });
        Ok(self.talk.pipe.say(&cancel).await?)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(error: Value) -> Fault {
    match acp::error(&error) {
        Over::Failed { status, reason } => Fault::Failed { status, reason },
        Over::Ended | Over::Cancelled | Over::Refused | Over::CutShort(_) => Fault::Ended,
    }
}
