//! A host for the tests: starts the real guest outside of any sandbox, and speaks with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    dead_code,
    missing_debug_implementations,
    unreachable_pub,
    reason = "tests; not every test uses every call"
)]

use std::{
    fs::File,
    io::{Read, Write},
    os::{
        fd::OwnedFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use guest::protocol::{
    Ask, ChannelId, Decoder, Ending, Entry, FileJob, Job, Program, Refusal, Size, Stream, Tell,
    Usage, VERSION, Who, encode,
};

/// No answer takes that long, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How much output a host allows at once.
pub const WINDOW: u64 = 128 * 1024;

pub struct Guest {
    pub process: Child,
    directory: tempfile::TempDir,
}

impl Guest {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(arguments: &[&str]) -> Self {
        let outside = [&[env!("CARGO_BIN_EXE_lamp-guest"), "--outside"], arguments].concat();
        Self::execute(&outside)
    }

    /// As the first process of its own world, with users to become. Needs root.
    pub fn start_inside(users: &str) -> Self {
        let world = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
        Self::execute(&[&world[..], &[env!("CARGO_BIN_EXE_lamp-guest"), users]].concat())
    }

    fn execute(command: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("control")).unwrap();
        // The shell moves the socket to where the launcher would put it.
        let process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 0</dev/null"])
            .args(command)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, directory }
    }

    /// A connection without a hello.
    pub fn dial(&self) -> Host {
        let stream = UnixStream::connect(self.directory.path().join("control")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Host { stream, decoder: Decoder::default() }
    }

    pub fn connect(&self) -> Host {
        let mut host = self.dial();
        host.hello();
        host
    }

    /// A directory that goes with the test.
    pub fn scratch(&self) -> PathBuf {
        let path = self.directory.path().join("scratch");
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// What the guest holds for itself.
    pub fn private_kib(&self) -> u64 {
        let rollup =
            std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.process.id())).unwrap();
        let lines = rollup.lines().filter(|line| line.starts_with("Private_"));
        lines.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Outside of a sandbox, children do not die with the guest.
        for pid in descendants(self.process.id()) {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        at += 1;
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        found.extend(children.split_whitespace().map(|child| child.parse::<u32>().unwrap()));
    }
    found.remove(0);
    found
}

pub struct Host {
    pub stream: UnixStream,
    pub decoder: Decoder,
}

/// Everything that a job said.
#[derive(Debug, Default)]
pub struct Said {
    pub out: Vec<u8>,
    pub error: Vec<u8>,
    pub ending: Option<Ending>,
    pub usage: Usage,
    pub dropped: u64,
}

impl Said {
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    pub fn error(&self) -> String {
        String::from_utf8_lossy(&self.error).into_owned()
    }

    pub fn ending(&self) -> Ending {
        self.ending.clone().unwrap()
    }

    /// The output as messages.
    pub fn messages<M: serde::de::DeserializeOwned>(&self) -> Vec<M> {
        let mut decoder = Decoder::default();
        decoder.push(&self.out);
        std::iter::from_fn(|| decoder.next().unwrap()).collect()
    }
}

pub const CHANNEL: ChannelId = ChannelId(1);

impl Host {
    pub fn ask(&mut self, ask: &Ask) {
        self.stream.write_all(&encode(ask).unwrap()).unwrap();
    }

    pub fn hello(&mut self) {
        self.ask(&Ask::Hello { version: VERSION });
        assert_eq!(self.tell(), Tell::Hello { version: VERSION });
    }

    /// The next that the guest tells. `None`: it hung up.
    pub fn try_tell(&mut self) -> Option<Tell> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            if let Some(tell) = self.decoder.next().unwrap() {
                return Some(tell);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.decoder.push(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("the guest is silent: {error}"),
            }
        }
    }

    pub fn tell(&mut self) -> Tell {
        self.try_tell().expect("the guest hung up")
    }

    pub fn open(&mut self, channel: ChannelId, job: Job) -> Result<(), Refusal> {
        self.ask(&Ask::Open { channel, tag: format!("test {}", channel.0), job });
        self.opened(channel)
    }

    /// Waits for the answer to an `Open` or `Attach`.
    pub fn opened(&mut self, channel: ChannelId) -> Result<(), Refusal> {
        loop {
            match self.tell() {
                Tell::Opened { channel: opened } if opened == channel => return Ok(()),
                Tell::Refused { channel: refused, refusal } if refused == channel => {
                    return Err(refusal);
                }
                _other_news => {}
            }
        }
    }

    pub fn input(&mut self, channel: ChannelId, offset: u64, bytes: &[u8]) {
        self.ask(&Ask::Input { channel, offset, bytes: bytes.to_vec() });
    }

    pub fn credit(&mut self, channel: ChannelId, taken: u64) {
        self.ask(&Ask::Credit { channel, taken, upto: taken + WINDOW });
    }

    /// Reads to the end of the channel, from `taken` on.
    pub fn finish(&mut self, channel: ChannelId, mut taken: u64) -> Said {
        let mut said = Said::default();
        self.credit(channel, taken);
        loop {
            match self.tell() {
                Tell::Output { channel: from, stream, offset, bytes } if from == channel => {
                    assert_eq!(offset, taken, "output is lost or doubled");
                    taken += bytes.len() as u64;
                    match stream {
                        Stream::Out => said.out.extend(bytes),
                        Stream::Error => said.error.extend(bytes),
                    }
                    self.credit(channel, taken);
                }
                Tell::Ended { channel: from, ending, usage, output, dropped }
                    if from == channel =>
                {
                    assert_eq!(output, taken, "the end came before the output");
                    said.ending = Some(ending);
                    said.usage = usage;
                    said.dropped = dropped;
                    return said;
                }
                _other_news => {}
            }
        }
    }

    /// Opens a job, sends it the input, and reads all that it says.
    pub fn play(&mut self, job: Job, input: &[u8]) -> Said {
        self.open(CHANNEL, job).unwrap();
        self.credit(CHANNEL, 0);
        let sender = self.stream.try_clone().unwrap();
        let said = self.feed(sender, input);
        self.ask(&Ask::Forget { channel: CHANNEL });
        said
    }

    fn feed(&mut self, mut sender: UnixStream, input: &[u8]) -> Said {
        let (mut sent, mut said, mut ended) = (0_usize, Said::default(), false);
        let mut taken = 0;
        loop {
            if sent == input.len() && !ended {
                sender.write_all(&encode(&Ask::EndInput { channel: CHANNEL }).unwrap()).unwrap();
                ended = true;
            }
            match self.tell() {
                Tell::InputCredit { upto, .. } => {
                    while sent < input.len() && (sent as u64) < upto {
                        let end =
                            input.len().min(usize::try_from(upto).unwrap()).min(sent + 32 * 1024);
                        self.input(CHANNEL, sent as u64, &input[sent..end]);
                        sent = end;
                    }
                }
                Tell::Output { stream, offset, bytes, .. } => {
                    assert_eq!(offset, taken);
                    taken += bytes.len() as u64;
                    match stream {
                        Stream::Out => said.out.extend(bytes),
                        Stream::Error => said.error.extend(bytes),
                    }
                    self.credit(CHANNEL, taken);
                }
                Tell::Ended { ending, usage, dropped, .. } => {
                    said.ending = Some(ending);
                    said.usage = usage;
                    said.dropped = dropped;
                    return said;
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    pub fn sh(&mut self, script: &str) -> Said {
        self.play(sh(script), b"")
    }

    pub fn file(&mut self, job: FileJob, input: &[u8]) -> Said {
        self.play(Job::File { who: Who::Agent, job }, input)
    }

    pub fn ping(&mut self, nonce: u64) {
        self.ask(&Ask::Ping { nonce });
        loop {
            if let Tell::Pong { nonce: answered } = self.tell() {
                assert_eq!(answered, nonce);
                return;
            }
        }
    }
}

pub fn program(argv: &[&str]) -> Program {
    Program {
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        directory: "/".to_owned(),
        who: Who::Agent,
        terminal: None,
        wall_millis: 0,
        output_limit: u64::MAX,
        sweeps: false,
    }
}

pub fn sh(script: &str) -> Job {
    Job::Program(program(&["sh", "-c", script]))
}

pub fn terminal(script: &str, size: Size) -> Job {
    Job::Program(Program { terminal: Some(size), ..program(&["sh", "-c", script]) })
}

/// Whether a process runs; the dead that were not reaped do not.
pub fn is_alive(pid: u32) -> bool {
    let mut stat = String::new();
    match File::open(format!("/proc/{pid}/stat")) {
        Err(_) => false,
        Ok(mut file) => {
            file.read_to_string(&mut stat).is_ok()
                && !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
        }
    }
}

pub fn names(said: &Said) -> Vec<String> {
    let mut names: Vec<String> =
        said.messages::<Entry>().into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}
