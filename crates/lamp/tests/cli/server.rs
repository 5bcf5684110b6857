//! A server of the built program, for tests that talk to one.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use crate::world::{Ended, World};

pub(crate) struct Server {
    world: World,
    child: Child,
    /// What it said when it was up.
    pub(crate) said: String,
}

impl Server {
    /// Starts one in a directory of its own. It ends with all that it made when it is dropped.
    pub(crate) fn start() -> Self {
        Self::start_with(World::new(), &[])
    }

    /// The same in a world with files, and with more words.
    pub(crate) fn start_with(world: World, words: &[&str]) -> Self {
        let mut command = Self::command(&world);
        command.args(words);
        Self::up(world, command)
    }

    fn up(world: World, mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while !said.contains("Ctrl-C ends it") {
            if lines.read_line(&mut said).unwrap() == 0 {
                let output = child.wait_with_output().unwrap();
                panic!("the server did not start: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
        // What it says later must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let mut complaints = child.stderr.take().unwrap();
        std::thread::spawn(move || std::io::copy(&mut complaints, &mut std::io::stderr()));
        Self { world, child, said }
    }

    /// One whose sandboxes live on when it is stopped. Whoever starts it starts another in its world, which clears up.
    pub(crate) fn start_lasting(world: World) -> Self {
        let command = world.command("up --data data --run run --listen 127.0.0.1:0");
        Self::up(world, command)
    }

    /// Stops it as a service manager does, and gives its world back.
    pub(crate) fn stop(mut self) -> World {
        self.end();
        std::mem::replace(&mut self.world, World::new())
    }

    /// Tells it to read its files again.
    pub(crate) fn hang_up(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    fn end(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.child.wait().ok();
    }

    /// A server for `world`, not yet started.
    pub(crate) fn command(world: &World) -> Command {
        world.command("up --data data --run run --listen 127.0.0.1:0 --temporary")
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// `lamp` with these words, talking to this server.
    pub(crate) fn client(&self, words: &[&str]) -> Command {
        let mut command = self.world.command("");
        command.args(words).env("LAMP_SERVER", self.world.path().join("run/lamp.sock"));
        command
    }

    pub(crate) fn lamp(&self, words: &[&str]) -> Ended {
        Ended::of(self.client(words).output().unwrap())
    }

    /// Fails, with the reason, where this host cannot open a sandbox of the usual tier.
    pub(crate) fn has_standard(&self) -> Result<(), String> {
        let tiers = self.said.lines().find(|line| line.trim_start().starts_with("tiers"));
        if tiers.is_some_and(|line| line.contains("standard")) {
            return Ok(());
        }
        Err(format!("this host cannot give the tier `standard`: {}", self.said))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn a_server_says_what_it_serves_and_keeps_others_out() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let mode = |path: &str| {
        let path = server.world().path().join(path);
        fs_err::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("run"), mode("run/lamp.sock")), (0o700, 0o600));
    assert_eq!((mode("data"), mode("data/token")), (0o700, 0o600));
    for word in ["socket", "http://127.0.0.1:", "token", "data"] {
        assert!(server.said.contains(word), "{}", server.said);
    }
    // A second one on the same data is refused.
    let second = Ended::of(Server::command(server.world()).output().unwrap());
    assert_eq!(second.code(), Some(1));
    assert!(second.err().contains("already uses"), "{}", second.err());

    // Over the loopback, with the token of the data directory.
    let address = server.said.split("http://").nth(1).unwrap().split(',').next().unwrap();
    let over_http = |token: &str| {
        let mut command = server.world().command("sandbox list --json");
        command.env("LAMP_SERVER", format!("http://{address}"));
        command.env("LAMP_DATA", server.world().path().join("data"));
        if !token.is_empty() {
            command.env("LAMP_TOKEN", token);
        }
        Ended::of(command.output().unwrap())
    };
    let listed = over_http("");
    assert_eq!(listed.code(), Some(0), "{}", listed.err());
    let json: serde_json::Value = serde_json::from_str(&listed.out()).unwrap();
    assert_eq!((&json["version"], json["sandboxes"].as_array().unwrap().len()), (&1.into(), 0));
    let refused = over_http("wrong");
    assert_eq!(refused.code(), Some(1));
    assert!(refused.err().contains("the token is missing or wrong"), "{}", refused.err());
}

#[test]
fn a_server_on_a_network_is_refused() {
    let world = World::new();
    let ended = world.lamp("up --data data --run run --listen 0.0.0.0:0");
    assert_eq!(ended.code(), Some(1));
    insta::assert_snapshot!(ended.err(), @r"
    error: cannot serve 0.0.0.0:0
      caused by: it is not on the loopback
    hint: there is no TLS yet: serve 127.0.0.1, and reach it over SSH from elsewhere
    ");
}

#[test]
fn without_a_server_the_next_step_is_named() {
    let world = World::new();
    for line in ["sandbox list", "sandbox run -- true", "image list"] {
        let ended =
            Ended::of(world.command(line).env("LAMP_SERVER", "gone.sock").output().unwrap());
        assert_eq!(ended.code(), Some(1));
        assert_eq!(
            ended.err(),
            "error: no server answers at `gone.sock`\n  caused by: No such file or directory (os error 2)\n\
             hint: start one with `lamp up`, or name another with `--server`\n",
            "{line}"
        );
    }
    let wrong = world.lamp("sandbox list --server https://example.com");
    assert_eq!(wrong.code(), Some(1));
    assert!(wrong.err().contains("is no server"), "{}", wrong.err());
}
