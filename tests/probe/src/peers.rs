//! Memory, descriptors and lives of other processes.
//!
//! The other is named by its number, or is `child`: one of our own, which the control uses, because whoever
//! may do nothing to a child of his own does not show that the probe works.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    process::{Child, Command},
};

use crate::{
    Attempt, Outcome,
    raw::{Given, NOTHING, call, put},
};

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    let (name, peer, rest) = match words {
        [name, peer] => (*name, *peer, ""),
        [name, peer, rest] => (*name, *peer, *rest),
        _ => return None,
    };
    let tried: fn(u32, &str) -> Attempt = match name {
        "ptrace" => |pid, _| {
            let given = [Given::Number(0x4206), Given::Number(i64::from(pid)), NOTHING, NOTHING];
            call(libc::SYS_ptrace, given).map(|_| Outcome::Allowed)
        },
        "process-vm-read" => |pid, _| process_vm(libc::SYS_process_vm_readv, pid),
        "process-vm-write" => |pid, _| process_vm(libc::SYS_process_vm_writev, pid),
        "pidfd-getfd" => |pid, _| {
            let handle = call(libc::SYS_pidfd_open, [Given::Number(i64::from(pid)), NOTHING])?;
            let given = [Given::Number(handle), NOTHING, NOTHING];
            call(libc::SYS_pidfd_getfd, given).map(|_| Outcome::Allowed)
        },
        "kcmp" => |pid, _| {
            let (one, other) = (Given::Number(i64::from(pid)), Given::Number(own()));
            call(libc::SYS_kcmp, [one, other, NOTHING, NOTHING, NOTHING]).map(|_| Outcome::Allowed)
        },
        "proc-mem" => |pid, _| memory(pid),
        "proc-file" => |pid, file| {
            File::open(format!("/proc/{pid}/{file}"))
                .and_then(|mut file| file.read(&mut [0; 16]))
                .map(|_| Outcome::Allowed)
        },
        "proc-link" => {
            |pid, link| fs::read_link(format!("/proc/{pid}/{link}")).map(|_| Outcome::Allowed)
        }
        "proc-list" => |pid, directory| {
            fs::read_dir(format!("/proc/{pid}/{directory}")).map(|_| Outcome::Allowed)
        },
        "proc-open-write" => |pid, file| {
            let path = format!("/proc/{pid}/{file}");
            File::options().write(true).open(path).map(|_| Outcome::Allowed)
        },
        "signal" => |pid, signal| {
            let signal = Given::Number(signal.parse().unwrap_or_default());
            call(libc::SYS_kill, [Given::Number(i64::from(pid)), signal]).map(|_| Outcome::Allowed)
        },
        "process-madvise" => |pid, _| {
            let handle = call(libc::SYS_pidfd_open, [Given::Number(i64::from(pid)), NOTHING])?;
            let mut vector = [0_u8; 16];
            let cold = Given::Number(20);
            let given = [Given::Number(handle), Given::Bytes(&mut vector), Given::Number(1), cold];
            let [a, b, c, d] = given;
            call(libc::SYS_process_madvise, [a, b, c, d, NOTHING]).map(|_| Outcome::Allowed)
        },
        _ => return None,
    };
    Some(with(peer, |pid| tried(pid, rest)))
}

fn with(peer: &str, work: impl FnOnce(u32) -> Attempt) -> Attempt {
    if peer == "child" {
        let mut child: Child = Command::new("/bin/sleep").arg("60").spawn()?;
        // It must have become another program, or it is still a copy of us.
        while fs::read_to_string(format!("/proc/{}/comm", child.id()))?.trim() != "sleep" {
            std::thread::yield_now();
        }
        let outcome = work(child.id());
        // It may be stopped, or gone: both are as good.
        let _ = child.kill();
        let _ = child.wait();
        return outcome;
    }
    let pid = peer.parse().map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    work(pid)
}

fn own() -> i64 {
    i64::from(std::process::id())
}

/// Reads, or writes, no byte: rights are asked for first.
fn process_vm(number: libc::c_long, pid: u32) -> Attempt {
    let mut here = [0_u8; 8];
    let mut local = [0_u8; 16];
    put(&mut local, 0, &here.as_mut_ptr().addr().to_ne_bytes());
    put(&mut local, 8, &8_usize.to_ne_bytes());
    let mut remote = [0_u8; 16];
    put(&mut remote, 0, &4096_usize.to_ne_bytes());
    put(&mut remote, 8, &8_usize.to_ne_bytes());
    let one = || Given::Number(1);
    let (to, from) = (Given::Bytes(&mut local), Given::Bytes(&mut remote));
    let tried = call(number, [Given::Number(i64::from(pid)), to, one(), from, one(), NOTHING]);
    match tried {
        // It may; there is only nothing at that address.
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok(Outcome::Allowed),
        other => other.map(|_| Outcome::Allowed),
    }
}

fn memory(pid: u32) -> Attempt {
    let mut file = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start = maps.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
    file.seek(SeekFrom::Start(start.unwrap_or_default()))?;
    file.read_exact(&mut [0; 8]).map(|()| Outcome::Allowed)
}
