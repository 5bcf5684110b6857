//! What is said to a program on the host, and the moment of its first words: our drivers' part, without our house.
//!
//! It says what they say, in their order, and reads with the same readers. It answers nothing, because a program whose model
//! only speaks asks for nothing.

use std::time::Instant;

use agents::{
    language::{Heard, acp, claude::ClaudeReader, codex, gemini},
    program::{Lines, Speech},
};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines as ByLine},
    process::{ChildStdin, ChildStdout},
};

/// The two ends of a program that has just been started.
#[derive(Debug)]
pub struct Talk {
    to: Option<ChildStdin>,
    from: ByLine<BufReader<ChildStdout>>,
}

impl Talk {
    pub fn new(to: ChildStdin, from: ChildStdout) -> Self {
        Self { to: Some(to), from: BufReader::new(from).lines() }
    }

    /// Tells it what it is to do, and listens until its turn is over. Says when its first words came.
    pub async fn until_over(
        &mut self,
        speech: Speech,
        prompt: &str,
        directory: &str,
    ) -> anyhow::Result<Instant> {
        match speech {
            Speech::Lines(lines) => {
                let to = self.to.as_mut().context("it was told everything")?;
                to.write_all(prompt.as_bytes()).await?;
                self.hang_up();
                self.listen(|line| match lines {
                    Lines::Codex => codex::read(line),
                    Lines::Gemini => gemini::read(line),
                })
                .await
            }
            Speech::ClaudeStream => {
                let hello = json!({
                    "type": "control_request", "request_id": "lamp-1",
                    "request": { "subtype": "initialize", "hooks": null },
                });
                self.say(&hello).await?;
                let content = json!([{ "type": "text", "text": prompt }]);
                let message = json!({ "role": "user", "content": content });
                self.say(&json!({ "type": "user", "message": message })).await?;
                let mut reader = ClaudeReader::default();
                self.listen(move |line| reader.read(line)).await
            }
            Speech::Acp => self.protocol(prompt, directory).await,
            Speech::Plain => bail!("it has no language"),
        }
    }

    /// It hears no more.
    pub fn hang_up(&mut self) {
        self.to = None;
    }

    async fn protocol(&mut self, prompt: &str, directory: &str) -> anyhow::Result<Instant> {
        let hello = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
            },
        });
        self.request(0, "initialize", &hello).await?;
        self.answered(0).await?;
        self.request(1, "session/new", &json!({ "cwd": directory, "mcpServers": [] })).await?;
        let made = self.answered(1).await?;
        let session = made.pointer("/result/sessionId").context("it opened no session")?;
        let prompt = json!([{ "type": "text", "text": prompt }]);
        let wish = json!({ "sessionId": session, "prompt": prompt });
        self.request(2, "session/prompt", &wish).await?;
        self.listen(|line| match line.pointer("/params/update") {
            Some(update) => acp::update(update),
            None if is_answer(line, 2) => {
                line.get("result").map(|it| Heard::Over(acp::over(it))).into_iter().collect()
            }
            None => Vec::new(),
        })
        .await
    }

    async fn request(&mut self, id: u64, method: &str, params: &Value) -> anyhow::Result<()> {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await
    }

    async fn answered(&mut self, id: u64) -> anyhow::Result<Value> {
        loop {
            let line = self.line().await?;
            if is_answer(&line, id) {
                return Ok(line);
            }
        }
    }

    async fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        let to = self.to.as_mut().context("it was told everything")?;
        to.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(to.flush().await?)
    }

    /// The next line that is JSON.
    async fn line(&mut self) -> anyhow::Result<Value> {
        loop {
            let line = self.from.next_line().await?.context("it ended before it was done")?;
            if let Ok(line) = serde_json::from_str(&line) {
                return Ok(line);
            }
        }
    }

    /// Listens until the turn is over.
    async fn listen(
        &mut self,
        mut read: impl FnMut(&Value) -> Vec<Heard>,
    ) -> anyhow::Result<Instant> {
        let mut first = None;
        loop {
            let line = self.line().await?;
            let now = Instant::now();
            for heard in read(&line) {
                match heard {
                    Heard::Text(text) if !text.is_empty() => {
                        first.get_or_insert(now);
                    }
                    Heard::Over(over) => {
                        return first.with_context(|| format!("it said nothing: {over:?}"));
                    }
                    Heard::Text(_)
                    | Heard::Thought(_)
                    | Heard::Break
                    | Heard::Tool(_)
                    | Heard::Todo(_)
                    | Heard::Trouble(_)
                    | Heard::Hello { .. }
                    | Heard::Session(_)
                    | Heard::Question { .. } => {}
                }
            }
        }
    }
}

fn is_answer(line: &Value, id: u64) -> bool {
    line.get("method").is_none() && line.get("id").and_then(Value::as_u64) == Some(id)
}
