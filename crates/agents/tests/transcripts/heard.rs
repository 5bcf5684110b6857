//! Every transcript, through the readers that the drivers use.

use std::{collections::BTreeMap, fmt::Write as _};

use agents::{
    language::{
        Heard, ToolNews, acp,
        claude::{self, ClaudeReader},
        codex, gemini,
    },
    program::{Lines, Speech},
};
use serde_json::Value;

use crate::{Line, Transcript, transcripts};

#[test]
fn what_is_heard_of_each_program_has_not_changed() {
    for transcript in transcripts() {
        let told = told(&transcript);
        let name = format!("{}-{}", transcript.program.name, transcript.scenario);
        insta::assert_snapshot!(name, told);
    }
}

#[test]
fn every_program_tells_who_it_is_what_it_did_and_how_it_ended() {
    for transcript in transcripts() {
        let told = told(&transcript);
        let text = text(&transcript);
        let what = format!("{} {}:\n{text}\n{told}", transcript.program.name, transcript.scenario);
        assert!(told.contains("session "), "{what}");
        let expected: &[&str] = match transcript.scenario {
            "change" => &["I write it.", "hello.txt", "goodbye", "Done."],
            "question" => &["Which of the two?", "lamp-answer"],
            "reading" => &["It stays as it is."],
            "refused" => &[],
            "resume" => &["The second turn."],
            "steer" => &["timeout 4", "It was steered."],
            "todo" => &["Done."],
            other => panic!("{other}"),
        };
        for word in expected {
            assert!(told.contains(word) || text.contains(word), "`{word}` is not in {what}");
        }
        // pi ends its turn without a word when its model refuses. That is why the meter has the last one.
        let is_silent = transcript.program.name == "pi";
        let over = told.lines().rfind(|line| line.starts_with("over ")).unwrap();
        let failed = over.contains("Failed");
        assert_eq!(failed, transcript.scenario == "refused" && !is_silent, "{what}");
        if failed {
            assert!(over.contains("Some(401)"), "{what}");
        }
    }
}

#[test]
fn a_run_that_is_resumed_keeps_its_memory() {
    for transcript in transcripts().iter().filter(|it| it.scenario == "resume") {
        let told = told(transcript);
        assert!(!told.contains("The first turn."), "it is told twice:\n{told}");
        let method = |line: &Line| match line {
            Line::Said(said) => said.pointer("/method").and_then(Value::as_str).map(str::to_owned),
            Line::Start | Line::Heard(_) => None,
        };
        let methods: Vec<String> = transcript.lines.iter().filter_map(method).collect();
        let anew = methods.iter().any(|method| method == "session/new");
        assert!(!anew, "{} begins anew: {methods:?}", transcript.program.name);
    }
}

/// What it said to people, whose pieces are joined.
fn text(transcript: &Transcript) -> String {
    let texts = listen(transcript).into_iter().filter_map(|heard| match heard {
        Heard::Text(text) => Some(text),
        Heard::Hello { .. }
        | Heard::Session(_)
        | Heard::Thought(_)
        | Heard::Break
        | Heard::Tool(_)
        | Heard::Todo(_)
        | Heard::Question { .. }
        | Heard::Trouble(_)
        | Heard::Over(_) => None,
    });
    texts.collect()
}

/// What was heard, a line for each.
fn told(transcript: &Transcript) -> String {
    let mut told = String::new();
    for one in listen(transcript) {
        tell(&mut told, one);
    }
    told
}

fn listen(transcript: &Transcript) -> Vec<Heard> {
    let mut claude = ClaudeReader::default();
    let mut conversation = Conversation::default();
    let mut heard = Vec::new();
    for line in &transcript.lines {
        match (line, transcript.program.speech) {
            (Line::Start, _) => claude = ClaudeReader::default(),
            (Line::Said(said), Speech::Acp) => conversation.said(said),
            (Line::Heard(line), Speech::Acp) => heard.extend(conversation.heard(line)),
            (Line::Heard(line), Speech::ClaudeStream) => {
                heard.extend(read_claude(&mut claude, line));
            }
            (Line::Heard(line), Speech::Lines(Lines::Codex)) => heard.extend(codex::read(line)),
            (Line::Heard(line), Speech::Lines(Lines::Gemini)) => heard.extend(gemini::read(line)),
            (Line::Said(_), _) | (Line::Heard(_), Speech::Plain) => {}
        }
    }
    heard
}

/// Whatever a program asks of its host is shown as a tool's title, so that a change of it is seen.
fn read_claude(reader: &mut ClaudeReader, line: &Value) -> Vec<Heard> {
    match claude::ask(line) {
        Some(ask) => vec![Heard::Trouble(format!("asks for {}: {}", ask.tool, ask.title))],
        None => reader.read(line),
    }
}

/// Which answer belongs to which request.
#[derive(Default)]
struct Conversation {
    asked: BTreeMap<u64, String>,
    is_open: bool,
}

impl Conversation {
    fn said(&mut self, said: &Value) {
        let method = said.pointer("/method").and_then(Value::as_str);
        if let (Some(method), Some(id)) = (method, said.pointer("/id").and_then(Value::as_u64)) {
            self.asked.insert(id, method.to_owned());
        }
        // As the driver does it: what comes while a session is taken up again is old.
        if method == Some("session/prompt") {
            self.is_open = true;
        }
    }

    fn heard(&mut self, line: &Value) -> Vec<Heard> {
        let method = line.pointer("/method").and_then(Value::as_str);
        let id = line.pointer("/id").and_then(Value::as_u64);
        match (method, id) {
            (Some("session/update"), None) if self.is_open => {
                line.pointer("/params/update").map(acp::update).unwrap_or_default()
            }
            (Some("session/request_permission"), _) => {
                let title = line.pointer("/params/toolCall/title").and_then(Value::as_str);
                vec![Heard::Trouble(format!("asks for {}", title.unwrap_or("?")))]
            }
            (None, Some(id)) => {
                let asked = self.asked.remove(&id).unwrap_or_default();
                answered(&asked, line)
            }
            (Some(_) | None, _) => Vec::new(),
        }
    }
}

fn answered(asked: &str, line: &Value) -> Vec<Heard> {
    let result = line.get("result").unwrap_or(&Value::Null);
    match (asked, line.get("error")) {
        ("initialize", None) => vec![acp::hello(result)],
        ("session/prompt", None) => vec![Heard::Over(acp::over(result))],
        ("session/prompt", Some(error)) => vec![Heard::Over(acp::error(error))],
        ("session/new", None) => {
            let name = result.pointer("/sessionId").and_then(Value::as_str).unwrap();
            vec![Heard::Session(name.to_owned())]
        }
        ("session/resume" | "session/load", None) => vec![Heard::Session("as before".to_owned())],
        (asked, error) => panic!("`{asked}` was answered with {error:?}"),
    }
}

fn tell(told: &mut String, heard: Heard) {
    match heard {
        Heard::Hello { version, model } => writeln!(told, "hello {version:?} {model:?}"),
        Heard::Session(session) => writeln!(told, "session {session}"),
        Heard::Text(text) => writeln!(told, "text {text:?}"),
        Heard::Thought(text) => writeln!(told, "thought {text:?}"),
        Heard::Break => writeln!(told, "break"),
        Heard::Tool(news) => tool(told, &news),
        Heard::Todo(items) => writeln!(told, "todo {items:?}"),
        Heard::Question { text, choices } => writeln!(told, "question {text:?} {choices:?}"),
        Heard::Trouble(text) => writeln!(told, "trouble {text:?}"),
        Heard::Over(over) => writeln!(told, "over {over:?}"),
    }
    .unwrap();
}

fn tool(told: &mut String, news: &ToolNews) -> std::fmt::Result {
    write!(told, "tool {}", news.id)?;
    if let Some(kind) = news.kind {
        write!(told, " {kind:?}")?;
    }
    if let Some(status) = news.status {
        write!(told, " {status:?}")?;
    }
    let texts = [("title", &news.title), ("input", &news.input), ("result", &news.result)];
    for (what, text) in texts {
        if let Some(text) = text {
            write!(told, "\n    {what} {text:?}")?;
        }
    }
    for path in &news.paths {
        write!(told, "\n    path {path}")?;
    }
    writeln!(told)
}
