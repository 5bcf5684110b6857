//! A launcher, a guest that runs scripts, and directories for one sandbox after the other.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    dead_code,
    reason = "test helpers; not every test file uses all of them"
)]

use std::{
    fs,
    io::{Read, Write},
    net::Shutdown,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            fs::{PermissionsExt, chown, symlink},
            net::UnixStream,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use launcher::{
    descriptors, frame,
    plan::{
        Answer, Bind, Doors, DoorsAnswer, Doorway, Failure, Launch, MOUNTER, Order, STORED_IDS,
        Strictness, Users,
    },
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use tempfile::TempDir;

/// Where the ids of test sandboxes begin.
pub(crate) const BASE: u32 = 700_000_000;

/// Who runs the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Root,
    /// The user 65534 when the tests run as root, and otherwise whoever runs them.
    Ordinary,
}

/// Those that can be played here.
pub(crate) fn runners() -> Vec<Runner> {
    if rustix::process::geteuid().is_root() {
        return vec![Runner::Root, Runner::Ordinary];
    }
    unsupported::part("sandboxes with a range of ids", NO_ROOT);
    vec![Runner::Ordinary]
}

/// Why there is no [`Runner::Root`].
pub(crate) const NO_ROOT: &str = "the tests do not run as root";

/// A launcher and its directories. When it is dropped, its sandboxes are killed.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) runner: Runner,
    pub(crate) directory: TempDir,
    process: Child,
    server: Option<UnixStream>,
    launched: Vec<u32>,
    sandboxes: usize,
}

impl World {
    pub(crate) fn new(runner: Runner) -> Self {
        let directory = tempfile::Builder::new().prefix("launcher").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).unwrap();
        skeleton(&directory.path().join("layer"), runner);
        if runner == Runner::Ordinary && rustix::process::geteuid().is_root() {
            chown(directory.path(), Some(65_534), Some(65_534)).unwrap();
        }
        let (server, theirs) = UnixStream::pair().unwrap();
        let process = start(runner, directory.path(), theirs.into(), &[]);
        Self { runner, directory, process, server: Some(server), launched: vec![], sandboxes: 0 }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A plan for a new sandbox.
    pub(crate) fn plan(&mut self) -> Launch {
        self.sandboxes += 1;
        let home = self.path(&format!("sandbox{}", self.sandboxes));
        let number = u32::try_from(self.sandboxes).unwrap();
        for part in ["", "upper", "work"] {
            fs::create_dir(home.join(part)).unwrap();
        }
        if rustix::process::geteuid().is_root() {
            let (upper, work) = match self.runner {
                Runner::Root => (STORED_IDS, MOUNTER),
                Runner::Ordinary => (65_534, 65_534),
            };
            chown(&home, Some(65_534), Some(65_534)).unwrap();
            chown(home.join("upper"), Some(upper), Some(upper)).unwrap();
            chown(home.join("work"), Some(work), Some(work)).unwrap();
        }
        Launch {
            control: text(&home.join("control")),
            users: match self.runner {
                Runner::Root => Users::Range { base: BASE + 65_536 * (number % 64) },
                Runner::Ordinary => Users::Single,
            },
            strictness: Strictness::Allowlist,
            layers: vec![text(&self.path("layer"))],
            writable: text(&home),
            binds: vec![Bind { from: "/usr".into(), to: "/usr".into() }],
            sealed: vec![],
            control_groups: vec![],
            hostname: format!("box{number}"),
            shared_memory_bytes: 1 << 20,
            open_files: 512,
            processes: None,
            private_memory_bytes: None,
            lifetime_millis: 60_000,
        }
    }

    pub(crate) fn send(&mut self, order: &Order) {
        frame::write(self.server.as_mut().unwrap(), order).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let answer = frame::read(self.server.as_mut().unwrap()).unwrap().expect("an answer");
        if let Answer::Launched { pid, .. } = answer {
            self.launched.push(pid);
        }
        answer
    }

    pub(crate) fn order(&mut self, order: &Order) -> Answer {
        self.send(order);
        self.answer()
    }

    /// Launches, and gives the pid.
    pub(crate) fn launch(&mut self, plan: &Launch) -> u32 {
        match self.order(&Order::Launch(Box::new(plan.clone()))) {
            Answer::Launched { pid, .. } => pid,
            other @ (Answer::Failed(_) | Answer::Done) => panic!("not launched: {other:?}"),
        }
    }

    /// Opens doors in a sandbox's network, as a launcher that is started for it.
    pub(crate) fn doors(&self, order: &Doors) -> Result<Vec<(Doorway, OwnedFd)>, Failure> {
        let (mut server, theirs) = UnixStream::pair().unwrap();
        let mut process = start(self.runner, self.directory.path(), theirs.into(), &["--doors"]);
        frame::write(&mut server, order).unwrap();
        let opened = match frame::read(&mut server).unwrap().expect("an answer") {
            DoorsAnswer::Opened(doors) if doors.is_empty() => Ok(vec![]),
            DoorsAnswer::Opened(doors) => {
                Ok(doors.into_iter().zip(descriptors::receive(&server).unwrap()).collect())
            }
            DoorsAnswer::Failed(failure) => Err(failure),
        };
        assert!(process.wait().unwrap().success());
        opened
    }

    /// The launcher loses its server. Waits until it has ended.
    pub(crate) fn hang_up(&mut self) {
        self.server = None;
        assert!(self.process.wait().unwrap().success());
    }

    /// The processes that the launcher has made and that still live.
    pub(crate) fn children(&self) -> Vec<u32> {
        let pid = self.launcher_pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().map(|child| child.parse().unwrap()).collect()
    }

    /// Kills a sandbox, and waits until it has gone.
    pub(crate) fn end(&mut self, pid: u32) {
        self.launched.retain(|&launched| launched != pid);
        end(pid);
    }

    pub(crate) fn launcher_pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.server = None;
        let _ended = self.process.wait();
        for pid in std::mem::take(&mut self.launched) {
            end(pid);
        }
    }
}

fn end(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let _ended = pidfd_send_signal(&handle, Signal::KILL);
    let _gone = poll(&mut [PollFd::new(&handle, PollFlags::IN)], None);
}

/// Runs a script in a sandbox, as its root or only user.
pub(crate) fn run(plan: &Launch, script: &str) -> String {
    run_as(plan, 0, script)
}

/// Runs a script in a sandbox, as one of its users.
pub(crate) fn run_as(plan: &Launch, user: u32, script: &str) -> String {
    let mut stream = UnixStream::connect(&plan.control).expect("the guest listens");
    stream.write_all(format!("{user}\n{script}\n").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut output = String::new();
    stream.read_to_string(&mut output).unwrap();
    output.trim_end().to_owned()
}

fn start(runner: Runner, directory: &Path, socket: OwnedFd, more: &[&str]) -> Child {
    let launcher = directory.join("lamp-launcher");
    // Copied by another process: a file that we have open for writing, and so has whoever we start meanwhile, cannot
    // be executed.
    let mut copy = Command::new("install");
    copy.args(["-m", "755", env!("CARGO_BIN_EXE_lamp-launcher")]).arg(&launcher);
    assert!(copy.status().unwrap().success());
    // As the server does it: a file that nobody can change, on no file system.
    let flags = MemfdFlags::ALLOW_SEALING;
    let guest = {
        let mut memory = fs::File::from(memfd_create("guest", flags).unwrap());
        memory.write_all(&fs::read(guest()).unwrap()).unwrap();
        fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW).unwrap();
        memory
    };
    let mut command = match runner {
        Runner::Ordinary if rustix::process::geteuid().is_root() => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
            command.arg(&launcher);
            command
        }
        Runner::Root | Runner::Ordinary => Command::new(&launcher),
    };
    command
        .args(["--guest-fd", &guest.as_raw_fd().to_string()])
        .args(more)
        .stdin(Stdio::from(socket))
        .spawn()
        .expect("the launcher starts")
}

/// The test guest, compiled when its source is newer.
fn guest() -> PathBuf {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/world/guest.c"));
    let guest = Path::new(env!("CARGO_TARGET_TMPDIR")).join("launcher-test-guest");
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    if changed(&guest) > changed(source) {
        return guest;
    }
    // Several tests may find it old at once. Each puts a whole one in its place.
    let new = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = new.path().join("guest");
    let mut compiler = Command::new("cc");
    compiler.args(["-static", "-O1", "-o"]).arg(&path).arg(source);
    assert!(compiler.status().expect("a C compiler").success());
    #[expect(clippy::disallowed_methods, reason = "a program that a compiler wrote")]
    fs::rename(path, &guest).unwrap();
    guest
}

/// A layer in which the host's `/usr` becomes a system.
fn skeleton(layer: &Path, runner: Runner) {
    for name in ["", "usr", "etc", "proc", "dev", "sys", "tmp", "home", "home/lamp", "workspace"] {
        fs::create_dir(layer.join(name)).unwrap();
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), layer.join(name)).unwrap();
    }
    fs::write(
        layer.join("etc/passwd"),
        "root:x:0:0::/:/bin/sh\nlamp:x:1000:1000::/home/lamp:/bin/sh\n",
    )
    .unwrap();
    fs::set_permissions(layer.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (root, agent) = match runner {
        Runner::Root => (STORED_IDS, STORED_IDS + 1_000),
        Runner::Ordinary => (65_534, 65_534),
    };
    for entry in ["", "usr", "etc", "etc/passwd", "proc", "dev", "sys", "tmp", "home"] {
        chown(layer.join(entry), Some(root), Some(root)).unwrap();
    }
    for entry in ["home/lamp", "workspace"] {
        chown(layer.join(entry), Some(agent), Some(agent)).unwrap();
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
