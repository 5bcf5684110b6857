//! A server with a repository and two workers without a model: what the tests of the task commands stand on.

use std::{
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use serde_json::Value;

use crate::{
    server::Server,
    world::{Ended, World},
};

/// A worker that looks which phase it is in, and answers in a file.
const MENDER: &str = r#"lamp: { version: 1, name: mender }
agent:
  driver: command
  command: |
    read -r task
    answer() { printf '%s' "$1" > "$LAMP_ANSWER"; }
    case "$LAMP_MODE" in
      plan) answer '{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "calc.py", "why": "it subtracts"}], "tests": [], "expected_behaviour": "2 and 3 is 5", "commands": [], "hosts": [], "risks": []}}' ;;
      implement) sed -i 's/a - b/a + b/' calc.py; echo 'It subtracted, so I add.' ;;
      review) answer '{"review": {"findings": []}}' ;;
      *) answer '{"notes": "it subtracts"}' ;;
    esac
sandbox: { repositories: [{ name: any }] }
"#;

/// One that does in each phase what the request says: a line `#plan`, and below it a script. What it was told since is in `$TOLD`.
const ACTOR: &str = r#"lamp: { version: 1, name: actor }
agent:
  driver: command
  command: |
    read -r task
    printf '%s' "$task" > ~/told; export TOLD=~/told
    answer() { printf '%s' "$1" > "$LAMP_ANSWER"; }
    part() { python3 -c 'import json, os, re; print(dict(re.findall(r"^#(\w+)\n(.*?)(?=^#|\Z)", json.load(open(os.environ["TOLD"]))["request"], re.S | re.M)).get(os.environ["LAMP_MODE"], ""))'; }
    case "$LAMP_MODE" in
      plan) answer '{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "calc.py", "why": "it subtracts"}], "tests": [], "expected_behaviour": "2 and 3 is 5", "commands": [], "hosts": [], "risks": []}}' ;;
      implement) sed -i 's/a - b/a + b/' calc.py ;;
      review) answer '{"review": {"findings": []}}' ;;
      *) answer '{"notes": "it subtracts"}' ;;
    esac
    part > ~/part
    . ~/part
sandbox: { repositories: [{ name: any }] }
"#;

pub(crate) const CALC: &str = "def add(a, b):\n    return a - b\n";

pub(crate) struct Fixture {
    pub(crate) server: Server,
}

impl Fixture {
    /// Why this host has no sandboxes, where it has none.
    pub(crate) fn build() -> Result<Self, String> {
        Self::build_as("version: 1\nsandboxes: { warm: 0 }\n")
    }

    /// The same with this as the server's file, and models that may be asked.
    pub(crate) fn build_as(server: &str) -> Result<Self, String> {
        Self::build_among(server, &[])
    }

    /// The same, with more files beside the server's.
    pub(crate) fn build_among(server: &str, more: &[(&str, &str)]) -> Result<Self, String> {
        let world = World::outside_of_tmp();
        world.write("lamp.yaml", server);
        let phases = ["research", "implement", "review"];
        let rules = phases.map(|phase| format!("  {phase}: {{ allow: ['model:openai'] }}\n"));
        world.write("policy.yaml", format!("version: 1\negress:\n{}", rules.concat()));
        world.write("agents/mender.yaml", MENDER);
        world.write("agents/actor.yaml", ACTOR);
        for (name, text) in more {
            world.write(name, text);
        }
        world.repository("calc", "calc.py", CALC);
        let file = world.path().join("lamp.yaml");
        let server = Server::start_with(world, &["--config", file.to_str().unwrap()]);
        server.has_standard()?;
        Ok(Self { server })
    }

    /// `lamp` with these words, in the repository.
    pub(crate) fn lamp(&self, words: &[&str]) -> Ended {
        Ended::of(self.command(words).output().unwrap())
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.server.client(words);
        let world = self.server.world().path();
        command.current_dir(world.join("calc")).env("LAMP_DATA", world.join("data"));
        command
    }

    /// What it prints, which has to have gone well.
    pub(crate) fn fine(&self, words: &[&str]) -> String {
        let ended = self.lamp(words);
        assert_eq!(ended.code(), Some(0), "{words:?}: {}", ended.story());
        ended.out()
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let ended = self.lamp(&[words, &["--json"]].concat());
        let json = serde_json::from_str(&ended.out());
        json.unwrap_or_else(|_| panic!("{words:?}: {}", ended.story()))
    }

    /// Hands a task to the actor, and comes back with its id when its plan waits for somebody.
    pub(crate) fn planned(&self, request: &str) -> String {
        let run = self.lamp(&["run", request, "--agent", "actor"]);
        assert_eq!(run.code(), Some(3), "{}", run.story());
        self.newest()
    }

    fn newest(&self) -> String {
        self.json(&["get", "last"])["id"].as_str().unwrap().to_owned()
    }

    /// Says yes to the plan that waits.
    pub(crate) fn approve(&self, task: &str) {
        let hash = self.json(&["get", task])["plan_waiting"].as_str().unwrap().to_owned();
        self.fine(&["approve", task, &hash]);
    }

    /// Looks at a task until it is there, which has to be before it stops for another reason.
    pub(crate) fn wait(&self, task: &str, wanted: &str) -> Value {
        self.until(wanted, || {
            let task = self.json(&["get", task]);
            let is_over = ["paused", "failed", "cancelled"].iter().any(|it| task["state"] == *it);
            assert!(task["state"] == wanted || !is_over, "{task:#}");
            (task["state"] == wanted).then_some(task)
        })
    }

    /// Looks again until there is something.
    #[expect(clippy::unused_self, reason = "it waits for the server that this is")]
    pub(crate) fn until<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        for _ in 0..1_200 {
            if let Some(found) = look() {
                return found;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
        panic!("not in time: {what}");
    }

    /// Waits until an agent of the task has said this.
    pub(crate) fn heard(&self, task: &str, words: &str) {
        self.until(words, || self.fine(&["log", task]).contains(words).then_some(()));
    }

    /// Each command as it is typed, how it ended and what it said.
    pub(crate) fn story(&self, lines: &[&[&str]]) -> String {
        let told = lines.iter().map(|words| {
            let typed: Vec<String> = words.iter().map(|word| typed(word)).collect();
            format!("$ lamp {}\n{}", typed.join(" "), self.lamp(words).story())
        });
        self.without_world(&told.collect::<Vec<_>>().join("\n"))
    }

    /// What was printed, wherever this fixture stands.
    pub(crate) fn without_world(&self, text: &str) -> String {
        text.replace(self.server.world().path().to_str().unwrap(), "[world]")
    }

    /// A person commits a file to the repository.
    pub(crate) fn commit(&self, file: &str, content: &str) {
        let world = self.server.world();
        world.write(&format!("calc/{file}"), content);
        let place = world.path().join("calc");
        for words in [["add", "."].as_slice(), &["commit", "--quiet", "--message=more"]] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-C"]);
            assert!(git.arg(&place).args(words).status().unwrap().success(), "git {words:?}");
        }
    }
}

fn typed(word: &str) -> String {
    if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }
}

/// Snapshots without names, hashes and times.
pub(crate) fn filters() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    for (pattern, word) in [
        (r"t_[0-9a-z]{26}", "t_[the task's whole name]"),
        (r"t_[0-9a-z]{12}", "t_[the task]"),
        (r"s_[0-9a-z]{26}", "s_[sandbox]"),
        (r"u_[0-9a-z]{26}", "u_[person]"),
        (r"\b[0-9a-f]{64}\b", "[sha256]"),
        (r"\b[0-9a-f]{40}\b", "[commit]"),
        (r"\b[0-9a-f]{12}\b", "[short]"),
        (r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?", "[moment]"),
        (r" +(\d+m )?\d+(\.\d+)? ?m?s\b", " [time]"),
        (r"\d+ requests, 0 refused", "[count] requests, 0 refused"),
        // It grows with what the agent is told.
        (r"this one may cost \$\d+\.\d+", "this one may cost [estimate]"),
        // How far it is when its page is printed is a matter of luck.
        (
            r"(?m)^It (waits for a place(: .*)?|is \w+; nothing is needed from you)\.\n(  lamp .*\n?)*",
            "[it goes on]\n",
        ),
    ] {
        settings.add_filter(pattern, word);
    }
    settings.bind_to_scope()
}

/// A terminal: what a person types into and reads from, and what a program does.
pub(crate) struct Terminal {
    person: File,
    name: String,
    /// What came behind the words that were waited for last.
    unread: Vec<u8>,
    /// A status that moves for ever is no news; it moves eight times in a second.
    reads_left: u32,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap().to_str().unwrap().to_owned();
        Self { person: File::from(person), name, unread: Vec::new(), reads_left: 4_000 }
    }

    /// Starts `command` as a shell on this terminal would: it is the one that Ctrl-C ends.
    pub(crate) fn start(&self, command: &Command) -> Child {
        let mut started = Command::new("setsid");
        started.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        let environment = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        started.envs(environment).current_dir(command.get_current_dir().unwrap());
        started.env("TERM", "xterm").env("NO_COLOR", "1");
        started.stdin(self.end()).stdout(self.end()).stderr(self.end()).spawn().unwrap()
    }

    /// The end that a program gets.
    pub(crate) fn end(&self) -> Stdio {
        let end = File::options().read(true).write(true).open(&self.name).unwrap();
        Stdio::from(OwnedFd::from(end))
    }

    /// What a person types.
    pub(crate) fn typed(&mut self, text: &str) {
        std::io::Write::write_all(&mut self.person, text.as_bytes()).unwrap();
    }

    /// Reads until the program has shown this; all that was shown up to its end.
    pub(crate) fn shows(&mut self, words: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.unread).into_owned();
            if let Some(at) = text.find(words) {
                let (shown, rest) = text.split_at(at + words.len());
                self.unread = rest.as_bytes().to_vec();
                return shown.to_owned();
            }
            assert!(self.reads(), "the terminal has ended without `{words}`: {text}");
        }
    }

    /// Reads until the program has let go of the terminal; all that was shown.
    pub(crate) fn ends(&mut self) -> String {
        while self.reads() {}
        String::from_utf8(std::mem::take(&mut self.unread)).unwrap()
    }

    /// Whether there was more to read.
    fn reads(&mut self) -> bool {
        let mut ready = [PollFd::new(&self.person, PollFlags::IN)];
        let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
        let text = String::from_utf8_lossy(&self.unread);
        assert_ne!(self.reads_left, 0, "nothing but a status for minutes: {text}");
        self.reads_left -= 1;
        assert_eq!(poll(&mut ready, Some(&limit)), Ok(1), "no more in time: {text}");
        let mut chunk = [0; 4096];
        let read = self.person.read(&mut chunk).unwrap_or(0);
        self.unread.extend_from_slice(&chunk[..read]);
        read > 0
    }
}

/// What stays on a screen: a line that is drawn again is there once.
pub(crate) fn screen(shown: &str) -> String {
    let wiped = |line: &str| line.rsplit("\r\u{1b}[2K").next().unwrap().trim_end().to_owned();
    shown.split('\n').map(wiped).collect::<Vec<_>>().join("\n")
}
