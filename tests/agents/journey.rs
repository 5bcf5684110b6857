//! What each program has to show.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::Stdio,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tests::internet::{Said, breathe};

use crate::fixture::{Fixture, Told};

const CHANGE: &str = "Fix the sum. play: think It subtracts. ;; play: say I will fix it. ;; play: write HELLO.txt hello ;; play: shell sed -i 's/a - b/a + b/' calc.py ;; play: text All done. ;;";
const TRESPASS: &str = "Look around. play: write TRESPASS.txt x ;; play: shell touch /workspace/project/TRESPASS.txt; git -C /workspace/project commit --allow-empty -m x; true ;; play: text The sum subtracts. ;;";
const HANG: &str = "Wait. play: shell tail -f /dev/null ;; play: text never ;;";
const QUESTION: &str = "```lamp-answer\n{\"question\": {\"text\": \"Tabs or spaces?\", \"choices\": [\"tabs\", \"spaces\"]}}\n```";

/// Programs that take one prompt for each process hear a person when their turn is over.
const ONE_PROMPT: [&str; 2] = ["codex", "gemini"];

pub(crate) struct Journey<'a> {
    pub(crate) agent: &'a str,
    model: &'a str,
    /// What it calls its memory.
    session: String,
}

impl<'a> Journey<'a> {
    pub(crate) const fn new(agent: &'a str, model: &'a str) -> Self {
        Self { agent, model, session: String::new() }
    }

    /// Everything but what a restart of the server shows.
    pub(crate) fn begin(mut self, fixture: &Fixture) -> Self {
        self.changes_and_is_paid_for(fixture);
        self.asks_and_is_answered(fixture);
        self.remembers_after_hibernation(fixture);
        self.cannot_write_while_it_researches(fixture);
        self.stops_within_two_seconds(fixture);
        self.is_steered(fixture);
        self
    }

    fn work(&self) -> String {
        format!("work-{}", self.agent)
    }

    /// A run in a new sandbox, which is kept.
    fn fresh(&self, fixture: &Fixture, name: &str, mode: &str, request: &str) -> Told {
        let (model, repository) = (self.model, fixture.repository());
        let words = [
            "agent",
            "run",
            self.agent,
            request,
            "--mode",
            mode,
            "--model",
            model,
            "--tier",
            "verified",
            "--repository",
            &repository,
            "--keep",
            name,
            "--json",
        ];
        fixture.lamp(&words)
    }

    /// A run in the sandbox that is there.
    fn again(&self, fixture: &Fixture, more: &[&str]) -> Told {
        let name = self.work();
        let words =
            ["agent", "run", self.agent, "--model", self.model, "--sandbox", &name, "--json"];
        fixture.lamp(&[&words, more].concat())
    }

    fn changes_and_is_paid_for(&mut self, fixture: &Fixture) {
        let told = self.fresh(fixture, &self.work(), "implement", CHANGE);
        let agent = self.agent;
        assert!(told.said.succeeded(), "{agent}: {}", told.said);
        assert_eq!(told.answer(), &serde_json::json!({ "change": {} }), "{agent}");
        self.session = told.session();
        assert!(!self.session.is_empty(), "{agent}: it has a name for its memory");

        let inside = fixture
            .house
            .shell(&self.work(), "cd /workspace/project && git status --short && cat calc.py");
        assert_eq!(
            inside.out, " M calc.py\n?? HELLO.txt\ndef add(a, b):\n    return a + b\n",
            "{agent}"
        );

        assert!(told.messages().contains("I will fix it."), "{agent}: {}", told.messages());
        assert!(told.messages().contains("All done."), "{agent}");
        let briefed =
            told.events("briefed").iter().map(|it| it["text"].to_string()).collect::<String>();
        assert!(briefed.contains("Keep it small."), "{agent}: the brief has AGENTS.md");
        let calls = told.events("tool_call");
        let done = calls.iter().filter(|it| it["status"] == "done").count();
        assert!(done >= 2, "{agent}: {calls:?}");
        assert_eq!(told.events("finished").len(), 1, "{agent}");

        let reported = fixture.model.used()[self.model];
        let used = told.events("usage")[0];
        assert_eq!(used["input_tokens"], reported.input + reported.cached, "{agent}");
        assert_eq!(used["output_tokens"], reported.output, "{agent}");
        let id = self.id(fixture);
        let rows = fixture.house.audit(&id);
        let exchanges: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "exchange").collect();
        let cost: u64 = exchanges.iter().filter_map(|row| row["cost_micros"].as_u64()).sum();
        assert_eq!(used["cost_micros"], cost, "{agent}");
        assert!(cost > 0, "{agent}");
        // What was refused never left: nobody was dialled for it.
        let elsewhere = exchanges.iter().filter(|row| {
            row["host"] != "model.lamp.internal"
                && (row["outcome"] != "refused" || !row["address"].is_null())
        });
        let elsewhere: Vec<_> = elsewhere.collect();
        assert!(elsewhere.is_empty(), "{agent}: only the model is reached: {elsewhere:?}");
        println!("{agent}: changed, streamed, metered; {} exchanges", exchanges.len());
    }

    fn id(&self, fixture: &Fixture) -> String {
        let said = fixture.house.lamp(&["sandbox", "get", &self.work(), "--json"]);
        let told: Value = serde_json::from_str(&said.out).unwrap();
        told["id"].as_str().unwrap().to_owned()
    }

    fn asks_and_is_answered(&mut self, fixture: &Fixture) {
        let request = format!("Choose. play: text64 {} ;;", BASE64_STANDARD.encode(QUESTION));
        let asked = self.again(fixture, &[&request, "--session", &self.session]);
        let agent = self.agent;
        assert!(asked.said.succeeded(), "{agent}: {}", asked.said);
        let question = &asked.answer()["question"];
        assert_eq!(question["text"], "Tabs or spaces?", "{agent}: {}", asked.said);
        assert_eq!(question["choices"][0], "tabs", "{agent}");
        assert_eq!(asked.events("question").len(), 1, "{agent}");
        self.session = asked.session();
        let request = "Choose as you were told. play: text Tabs it is. ;;";
        let words = [request, "--session", &self.session, "--say", "tabs"];
        let answered = self.again(fixture, &words);
        assert!(answered.said.succeeded(), "{agent}: {}", answered.said);
        assert!(answered.messages().contains("Tabs it is."), "{agent}: {}", answered.said);
        self.remembered(fixture, "after an answer");
        self.session = answered.session();
        println!("{agent}: asked and answered");
    }

    /// Whether the model was shown what was said in the first run of this session, and that it answered. A fresh session has
    /// housekeeping of its own before the prompt, and nothing of this.
    fn remembered(&self, fixture: &Fixture, when: &str) {
        let requests = fixture.model.requests();
        let mut own =
            requests.iter().rev().filter(|it| it.model == self.model && it.step.is_some());
        let last = own.next().unwrap();
        let knows = last.remembered.iter().any(|said| said.contains("Fix the sum."));
        assert!(knows, "{} remembers {when}: {last:?}", self.agent);
    }

    fn remembers_after_hibernation(&self, fixture: &Fixture) {
        let name = self.work();
        for turn in ["hibernate", "resume"] {
            let said = fixture.house.lamp(&["sandbox", turn, &name]);
            assert!(said.succeeded(), "{}: {said}", self.agent);
        }
        self.goes_on(fixture, "after hibernation");
    }

    pub(crate) fn remembers_after_a_restart(&self, fixture: &Fixture) {
        self.goes_on(fixture, "after a restart of the server");
    }

    fn goes_on(&self, fixture: &Fixture, when: &str) {
        let words = ["And now? play: text Still here. ;;", "--session", &self.session];
        let told = self.again(fixture, &words);
        assert!(told.said.succeeded(), "{} {when}: {}", self.agent, told.said);
        assert!(told.messages().contains("Still here."), "{} {when}: {}", self.agent, told.said);
        self.remembered(fixture, when);
        println!("{}: remembers {when}", self.agent);
    }

    fn cannot_write_while_it_researches(&self, fixture: &Fixture) {
        let name = format!("look-{}", self.agent);
        let told = self.fresh(fixture, &name, "research", TRESPASS);
        let agent = self.agent;
        assert!(told.said.succeeded(), "{agent}: {}", told.said);
        assert_eq!(told.answer()["notes"]["text"], "The sum subtracts.", "{agent}: {}", told.said);
        let inside = fixture.house.shell(
            &name,
            "cd /workspace/project && git status --short && git log --oneline | wc -l",
        );
        assert_eq!(inside.out.trim(), "1", "{agent}: nothing was written: {inside}");
        // As the agent's user, by hand: it is the mount and not the program that refuses.
        let by_hand = fixture.house.shell(&name, "touch /workspace/project/x");
        assert!(by_hand.err.contains("Read-only file system"), "{agent}: {by_hand}");
        assert!(fixture.house.lamp(&["sandbox", "delete", &name]).succeeded());
        println!("{agent}: could not write while it researched");
    }

    fn stops_within_two_seconds(&self, fixture: &Fixture) {
        let name = self.work();
        let words =
            ["agent", "run", self.agent, HANG, "--model", self.model, "--sandbox", &name, "--json"];
        let mut command = fixture.house.command(&words);
        let mut client = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let is_hanging = |line: &String| line.contains("tool_call") && line.contains("tail -f");
        let hanging = lines.by_ref().map_while(Result::ok).find(is_hanging);
        assert!(hanging.is_some(), "{}: it runs its tool", self.agent);
        let sleeps = || {
            // One line for each process; what looks is not what is looked for.
            let said = fixture
                .house
                .shell(&name, "for it in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $it; echo; done");
            said.out.lines().any(|line| line == "tail -f /dev/null ")
        };
        let patience = Instant::now() + Duration::from_secs(20);
        while !sleeps() {
            assert!(Instant::now() < patience, "{}: its tool runs", self.agent);
            breathe();
        }
        let begun = Instant::now();
        kill_process(Pid::from_child(&client), Signal::INT).unwrap();
        client.wait().unwrap();
        while sleeps() {
            assert!(begun.elapsed() < Duration::from_secs(2), "{}: it stops", self.agent);
            breathe();
        }
        assert!(begun.elapsed() < Duration::from_secs(2), "{}: {:?}", self.agent, begun.elapsed());
        println!("{}: stopped in {} ms", self.agent, begun.elapsed().as_millis());
    }

    /// A person says something while it works (PL9).
    fn is_steered(&self, fixture: &Fixture) {
        let is_at_once = !ONE_PROMPT.contains(&self.agent);
        // Without the words this one would never end.
        let request =
            if is_at_once { HANG } else { "Wait. play: shell sleep 2 ;; play: text First. ;;" };
        let name = self.work();
        let words = [
            "agent",
            "run",
            self.agent,
            request,
            "--model",
            self.model,
            "--sandbox",
            &name,
            "--talk",
            "--json",
        ];
        let mut command = fixture.house.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = command.spawn().unwrap();
        let mut input = client.stdin.take().unwrap();
        let mut out = BufReader::new(client.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("tool_call") {
            assert_ne!(out.read_line(&mut said).unwrap(), 0, "{}: it works: {said}", self.agent);
        }
        input.write_all(b"Never mind. play: text I heard you. ;;\n").unwrap();
        out.read_to_string(&mut said).unwrap();
        let output = client.wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {said}", self.agent);
        let told = Told::of(Said { code: Some(0), out: said, err: String::new() });
        assert_eq!(told.events("heard").len(), 1, "{}", self.agent);
        assert!(told.messages().contains("I heard you."), "{}: {}", self.agent, told.messages());
        println!("{}: heard a person while it worked", self.agent);
    }
}
