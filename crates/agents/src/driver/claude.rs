//! Claude Code's own stream, in both directions.
//!
//! One process for as many turns as it takes. It asks its host before it uses a tool; a question for a person comes by a tool
//! of its own, `AskUserQuestion`, and ends the run.

use contracts::agent::Answer;
use domain::transcript::Verdict;
use serde_json::{Value, json};

use super::{Came, Fault, Talk, permit};
use crate::{
    director::Next as Direction,
    language::{
        claude::{self, Ask, ClaudeReader},
        text,
    },
};

pub(crate) async fn converse(talk: &mut Talk<'_>) -> Result<Answer, Fault> {
    let mut reader = ClaudeReader::default();
    let mut host = Host { talk, requests: 0, is_interrupted: false };
    host.control(json!({ "subtype": "initialize", "hooks": null })).await?;
    let prompt = host.talk.prompt.to_owned();
    host.say(&prompt).await?;
    loop {
        let line = match host.talk.next().await? {
            Came::End => return Err(Fault::Ended),
            Came::Words(words) => {
                host.steer(words).await?;
                continue;
            }
            Came::Line(line) => line,
        };
        if let Some(ask) = claude::ask(&line) {
            host.answer(&ask).await?;
            continue;
        }
        if text(&line, "/type") == Some("control_request") {
            host.refuse(&line).await?;
            continue;
        }
        let Some(over) = host.talk.tell(reader.read(&line)).await else { continue };
        host.is_interrupted = false;
        match host.talk.after(over)? {
            Direction::Answered(answer) => return Ok(answer),
            Direction::Say(next) => host.say(&next).await?,
            Direction::Unusable(faults) => return Err(Fault::Unusable(faults)),
        }
    }
}

struct Host<'a, 'b> {
    talk: &'a mut Talk<'b>,
    requests: u32,
    /// Whether the turn was interrupted, because a person spoke.
    is_interrupted: bool,
}

impl Host<'_, '_> {
    async fn say(&mut self, words: &str) -> Result<(), Fault> {
        let content = json!([{ "type": "text", "text": words }]);
        let message = json!({ "type": "user", "message": { "role": "user", "content": content } });
        Ok(self.talk.pipe.say(&message).await?)
    }

    async fn control(&mut self, request: Value) -> Result<(), Fault> {
        self.requests += 1;
        let id = format!("lamp-{}", self.requests);
        let ask = json!({ "type": "control_request", "request_id": id, "request": request });
        Ok(self.talk.pipe.say(&ask).await?)
    }

    async fn respond(&mut self, request: &str, response: Value) -> Result<(), Fault> {
        let answer = json!({
            "subtype": "success", "request_id": request, "response": response,
        });
        let answer = json!({ "type": "control_response", "response": answer });
        Ok(self.talk.pipe.say(&answer).await?)
    }

    async fn answer(&mut self, ask: &Ask) -> Result<(), Fault> {
        if let Some((question, choices)) = claude::question(ask) {
            self.talk.director.asked(question, choices);
            let why = "A person will answer later. Stop here.";
            let deny = json!({ "behavior": "deny", "message": why, "interrupt": true });
            self.respond(&ask.request, deny).await?;
            return self.control(json!({ "subtype": "interrupt" })).await;
        }
        let verdict = permit(self.talk.mode, claude::kind(&ask.tool));
        self.talk.teller.permission(ask.title.clone(), verdict).await;
        let response = match verdict {
            Verdict::Allowed => json!({ "behavior": "allow", "updatedInput": ask.input }),
            Verdict::Denied => {
                let why = "This phase only reads: the repositories cannot be changed.";
                json!({ "behavior": "deny", "message": why })
            }
        };
        self.respond(&ask.request, response).await
    }

    /// Something that we do not offer.
    async fn refuse(&mut self, line: &Value) -> Result<(), Fault> {
        let id = text(line, "/request_id").unwrap_or_default();
        let error = json!({
            "subtype": "error", "request_id": id, "error": "this host does not offer that",
        });
        Ok(self.talk.pipe.say(&json!({ "type": "control_response", "response": error })).await?)
    }

    /// A person speaks. The turn is interrupted, and the next one begins with the words.
    async fn steer(&mut self, words: String) -> Result<(), Fault> {
        self.talk.hear(words).await;
        if std::mem::replace(&mut self.is_interrupted, true) {
            return Ok(());
        }
        self.control(json!({ "subtype": "interrupt" })).await
    }
}
