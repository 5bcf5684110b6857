//! Two network namespaces with a wire between them.
//!
//! Each is held by a process that reads from a pipe of ours: when we are gone, it ends, and the namespace with it.

use std::{
    ffi::OsStr,
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    os::fd::AsFd as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What is found without the tester's environment.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A network, and mounts of its own.
#[derive(Debug)]
pub(super) struct Namespace {
    holder: Child,
}

/// The house and the internet, wired together. The internet's own `addresses` are those that sockets can be bound to.
pub(super) fn joined(addresses: &[&str]) -> Result<(Namespace, Namespace), String> {
    let (house, internet) = (Namespace::new()?, Namespace::new()?);
    let holder = internet.holder.id();
    house.ip(&format!(
        "link set lo up
         link add out0 type veth peer name in0 netns {holder}
         addr add 192.168.77.1/24 dev out0
         addr add fd77::1/64 dev out0 nodad
         link set out0 up"
    ))?;
    // Every address is one of this namespace, but for the house's.
    internet.ip("link set lo up
         addr add 192.168.77.2/24 dev in0
         addr add fd77::2/64 dev in0 nodad
         link set in0 up
         route add 192.168.77.1/32 dev in0 table local
         route add fd77::1/128 dev in0 table local
         route add local 0.0.0.0/0 dev lo table local
         route add local ::/0 dev lo table local")?;
    // For IPv4 the route is enough; for IPv6 an address must be somebody's before it is bound.
    let sixes = addresses.iter().filter(|address| address.contains(':'));
    let added: Vec<String> =
        sixes.map(|address| format!("addr add {address}/128 dev lo nodad")).collect();
    internet.ip(&added.join("\n"))?;
    house.ip("route add 0.0.0.0/0 via 192.168.77.2
         route add ::/0 via fd77::2")?;
    // In the house anybody may ping. Where the kernel's settings cannot be written, a control says so.
    let everybody = "echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range";
    let _ = run(house.command("sh").args(["-c", everybody]));
    Ok((house, internet))
}

impl Namespace {
    fn new() -> Result<Self, String> {
        let mut holder = Command::new("unshare")
            .args(["--net", "--mount", "--propagation", "private", "sh", "-c", "echo; exec cat"])
            .env("PATH", PATH)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("`unshare` does not run: {error}"))?;
        let ready = BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new());
        let namespace = Self { holder };
        match ready {
            Ok(1) => Ok(namespace),
            Ok(_) | Err(_) => Err("this host gives us no network namespace".to_owned()),
        }
    }

    /// A command that runs here, with an environment of its own, in the root directory. It ends when the thread that starts it does.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let target = self.holder.id().to_string();
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &target, "--net", "--mount", "--"])
            .args(["setpriv", "--pdeathsig", "TERM", "--"])
            .arg(program)
            .env_clear()
            .env("PATH", PATH)
            .stdin(Stdio::null());
        command
    }

    /// Runs something in a thread that is here. Sockets and threads that it makes stay here.
    pub(super) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let network = File::open(format!("/proc/{}/ns/net", self.holder.id())).unwrap();
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(network.as_fd(), kind).unwrap();
                work()
            });
            thread.join().unwrap()
        })
    }

    /// Puts a file over those of `paths` that are there, for everyone in this namespace.
    pub(super) fn cover(&self, file: &Path, paths: &[&str]) -> Result<(), String> {
        for path in paths.iter().filter(|path| Path::new(path).exists()) {
            // A link leads to the file that is read.
            let real = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
            run(self.command("mount").arg("--bind").arg(file).arg(real))?;
        }
        Ok(())
    }

    /// One line, one command of `ip`.
    fn ip(&self, lines: &str) -> Result<(), String> {
        let mut command = self.command("ip");
        command.args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("`ip` does not run: {error}"))?;
        child.stdin.take().unwrap().write_all(lines.as_bytes()).map_err(|it| it.to_string())?;
        ended(&child.wait_with_output().map_err(|error| error.to_string())?)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The pipe closes, and it ends by itself; who waits knows that it did.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    ended(&command.output().map_err(|error| error.to_string())?)
}

fn ended(output: &std::process::Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
