//! Real groups on this host, in every layout that it can show, and the files of version 2 in a pretended one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests; what a host lacks is said aloud"
)]

mod delegated;
mod real;
mod rights;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ControlGroups, Group, Limits};

const ROOMY: Limits = Limits { cpu_millis: 2_000, memory_bytes: 256 << 20, pids: 128 };

/// Groups of this host in one layout, under a parent of their own that goes with them.
struct Host {
    groups: ControlGroups,
}

impl Host {
    /// The parts of this host's table of mounts that `layout` has, or why nothing can be made there.
    fn with(layout: Layout, test: &str) -> Result<Self, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let kept: Vec<&str> = mounts.lines().filter(|line| layout.keeps(line)).collect();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let place = format!("lamp-test-{}-{test}-{layout:?}", std::process::id());
        let host =
            Self { groups: ControlGroups::find(&kept.join("\n"), &own, Path::new("/"), &place) };
        if host.groups.found.places.is_empty() {
            return Err(format!("{layout:?}: {:?}", host.groups.weaker()));
        }
        Ok(host)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for name in self.groups.list() {
            let group = self.groups.adopt(&name).unwrap();
            let _ = group.kill();
            until("the group is empty", || group.remove().is_ok());
        }
        for place in &self.groups.found.places {
            fs::remove_dir(&place.directory).unwrap();
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Layout {
    AsMounted,
    OnlyOne,
    OnlyTwo,
}

impl Layout {
    fn keeps(self, line: &str) -> bool {
        let is_two = line.contains(" - cgroup2 ");
        match self {
            Self::AsMounted => true,
            Self::OnlyOne => !is_two,
            Self::OnlyTwo => is_two,
        }
    }
}

/// A shell that waits at the door until it is in its group.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn inside(group: &Group, script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!("read go; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for directory in group.directories() {
            fs::write(directory.join("cgroup.procs"), child.id().to_string()).unwrap();
        }
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut shell = Self { input: child.stdin.take().unwrap(), output, child };
        shell.say("go");
        shell
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Whether it says anything within a moment.
    fn is_silent(&self) -> bool {
        let moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        poll(&mut [PollFd::new(self.output.get_ref(), PollFlags::IN)], Some(&moment)).unwrap() == 0
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        std::thread::yield_now();
    }
}
