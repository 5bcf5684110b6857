//! `lamp demo`: the whole journey with real sandboxes, and nothing of it left.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::fd::OwnedFd,
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use unsupported::supported;

use crate::{
    server::Server,
    world::{Ended, World},
};

/// A demo in a world of its own, in which all that it leaves can be seen.
struct Fixture {
    world: World,
}

impl Fixture {
    /// Why this host has no sandboxes, where it has none.
    fn build() -> Result<Self, String> {
        Server::start().has_standard()?;
        let world = World::new();
        fs_err::create_dir(world.path().join("tmp")).unwrap();
        Ok(Self { world })
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.world.command(words);
        // What a person has set up for their own server, which is none of the demo's business.
        command.env("LAMP_DATA", self.world.path().join("data")).env("LAMP_SERVER", "/nowhere");
        command.env("TMPDIR", self.world.path().join("tmp"));
        command
    }

    /// Panics if anything runs, is mounted or lies around.
    fn is_clear(&self) {
        let place = self.world.path().to_str().unwrap();
        let left: Vec<_> = fs_err::read_dir(self.world.path().join("tmp")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        assert!(!self.world.path().join("data").exists(), "the person's own data were touched");
        let mounts = fs_err::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(place), "{mounts}");
        for process in fs_err::read_dir("/proc").unwrap() {
            // It may end while it is looked at.
            let line = fs_err::read(process.unwrap().path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(place), "still runs: {line:?}");
        }
    }
}

/// One that somebody watches, and may end.
struct Watched {
    child: Child,
    lines: BufReader<ChildStdout>,
    said: String,
}

impl Watched {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines, said: String::new() }
    }

    fn until(&mut self, words: &str) {
        while !self.said.contains(words) {
            let read = self.lines.read_line(&mut self.said).unwrap();
            assert!(read > 0, "it never said {words:?}: {}", self.said);
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended, and all that it said.
    fn end(mut self) -> (Option<i32>, String, String) {
        self.lines.read_to_string(&mut self.said).unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), self.said, err)
    }
}

/// What differs from run to run: names, hashes, places and times.
fn assert_told(told: &str, fixture: &Fixture) {
    let told = told.replace(fixture.world.path().to_str().unwrap(), "[world]");
    let mut settings = insta::Settings::clone_current();
    for (pattern, word) in [
        (r"lamp-demo-\w{6}", "lamp-demo-[name]"),
        (r"t_[0-9a-z]{12,26}", "t_[task]"),
        (r"u_[0-9a-z]{26}", "u_[person]"),
        (r"\d+ requests, 0 refused", "[count] requests, 0 refused"),
        (r"\b[0-9a-f]{64}\b", "[sha256]"),
        (r"\b[0-9a-f]{40}\b", "[commit]"),
        (r"signed by [0-9a-f]{12}", "signed by [key]"),
        (r"is at [0-9a-f]{12} now", "is at [commit] now"),
        (r" *\d+\.\d s\b", " [time]"),
        // The text of a pull request is shown elsewhere.
        (r"(?m)^    \|.*\n", ""),
    ] {
        settings.add_filter(pattern, word);
    }
    let _bound = settings.bind_to_scope();
    insta::assert_snapshot!("the_demo_tells_the_whole_story", told);
}

#[test]
fn the_demo_tells_the_whole_story_and_leaves_nothing() {
    let fixture = supported!(Fixture::build());
    let ended = Ended::of(fixture.command("demo --yes").output().unwrap());
    assert_eq!((ended.code(), ended.err()), (Some(0), String::new()), "{}", ended.out());
    fixture.is_clear();
    assert_told(&ended.out(), &fixture);
}

#[test]
fn a_server_that_is_kept_can_be_looked_around_in_until_ctrl_c() {
    let fixture = supported!(Fixture::build());
    let mut watched = Watched::start(fixture.command("demo --yes --keep"));
    watched.until("Ctrl-C ends it");
    // All that it invites to is done, word for word.
    let named = |start: &str| {
        let found = watched.said.lines().find_map(|line| line.trim().strip_prefix(start));
        found.unwrap().to_owned()
    };
    let (server, sample) = (named("export LAMP_SERVER="), named("cd "));
    let invited = watched.said.split("another shell:").nth(1).unwrap();
    let lines: Vec<&str> = invited.lines().filter_map(|it| it.strip_prefix("  lamp ")).collect();
    assert!(lines.len() > 3, "{lines:?}");
    for line in lines {
        let mut look = fixture.world.command(line);
        let looked = look.env("LAMP_SERVER", &server).current_dir(&sample).output();
        let looked = Ended::of(looked.unwrap());
        assert_eq!(looked.code(), Some(0), "lamp {line}: {}", looked.err());
        let about = looked.out();
        assert!(about.contains("t_") || about.contains("burns"), "lamp {line}: {about}");
    }
    watched.signal(Signal::INT);
    let (code, said, err) = watched.end();
    assert_eq!((code, err.as_str()), (Some(0), ""), "{said}");
    assert!(said.ends_with("all of the demo is gone again.\n"), "{said}");
    fixture.is_clear();
}

#[test]
fn whoever_ends_the_demo_in_the_middle_finds_nothing_left() {
    let fixture = supported!(Fixture::build());
    for (signal, words, name) in
        [(Signal::INT, "  research ", "Ctrl-C"), (Signal::TERM, "  implement ", "SIGTERM")]
    {
        let mut watched = Watched::start(fixture.command("demo --yes"));
        watched.until(words);
        watched.signal(signal);
        let (code, said, err) = watched.end();
        let told = format!("error: the demo was ended by {name}\n");
        assert_eq!((code, err), (Some(1), told), "{said}");
        fixture.is_clear();
    }
}

#[test]
fn whoever_ends_the_demo_instead_of_answering_finds_nothing_left() {
    let fixture = supported!(Fixture::build());
    let (_person, terminal) = terminal();
    let mut command = fixture.command("demo");
    command.stdin(terminal);
    let mut watched = Watched::start(command);
    watched.until("      estimate ");
    watched.signal(Signal::INT);
    let (code, said, err) = watched.end();
    assert_eq!((code, err.as_str()), (Some(1), "error: the demo was ended by Ctrl-C\n"), "{said}");
    fixture.is_clear();
}

#[test]
fn a_person_who_says_no_ends_the_demo_without_a_change() {
    let fixture = supported!(Fixture::build());
    let (mut person, terminal) = terminal();
    let mut command = fixture.command("demo --dir kept");
    command.stdin(terminal);
    let mut watched = Watched::start(command);
    watched.until("      estimate ");
    // What is neither yes nor no is asked again.
    person.write_all(b"perhaps\nn\n").unwrap();
    let (code, said, err) = watched.end();
    assert_eq!((code, err.as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("Please type `y` or `n`."), "{said}");
    assert!(said.contains("You said no, so nothing was changed."), "{said}");
    let git = ["-C", "kept/lamps", "for-each-ref", "--format=%(refname)"];
    let refs = Command::new("git").args(git).current_dir(fixture.world.path()).output().unwrap();
    assert_eq!(String::from_utf8(refs.stdout).unwrap(), "refs/heads/main\n");
}

/// A terminal: what a person types into, and what a program reads from.
fn terminal() -> (File, Stdio) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let name = name.to_str().unwrap();
    let terminal = File::options().read(true).write(true).open(name).unwrap();
    (File::from(person), Stdio::from(OwnedFd::from(terminal)))
}

#[test]
fn without_a_terminal_the_demo_wants_a_yes() {
    let world = World::new();
    let ended = world.lamp("demo");
    insta::assert_snapshot!(ended.story(), @r"
    exit 1
    --- err
    error: nobody is there to approve the plan: the input is not a terminal
    hint: say yes beforehand with `lamp demo --yes`
    ");
}

#[test]
fn a_directory_with_something_in_it_is_left_alone() {
    let world = World::new();
    world.write("mine/file", "precious");
    let ended = world.lamp("demo --yes --dir mine");
    insta::assert_snapshot!(ended.story(), @r"
    exit 1
    --- err
    error: `mine` is not empty
    hint: name one that is empty, or not there yet
    ");
    assert_eq!(fs_err::read_to_string(world.path().join("mine/file")).unwrap(), "precious");
}

#[test]
fn a_real_model_is_not_asked_without_a_key() {
    let world = World::new();
    let ended = world.lamp("demo --yes --model claude-x");
    insta::assert_snapshot!(ended.story(), @r"
    exit 1
    --- err
    error: there is no key to ask `claude-x` with
    hint: set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or leave `--model` out: the answers are bundled then
    ");
}
