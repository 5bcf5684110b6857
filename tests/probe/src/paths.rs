//! Files of the host, of the kernel, of hardware.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
};

use crate::{
    Attempt, Outcome,
    raw::{Given, HERE, call},
};

#[expect(clippy::disallowed_methods, reason = "what an attacker would try")]
pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    Some(match words {
        // Nothing is written: the control does not change the host.
        ["open-write", path] => OpenOptions::new().write(true).open(path).map(|_| Outcome::Allowed),
        ["open-read", path] => File::open(path).map(|_| Outcome::Allowed),
        ["create", path] => create(path),
        ["write", path, text] => write(path, text),
        ["exists", path] => fs::symlink_metadata(path).map(|_| Outcome::Allowed),
        ["remove", path] => fs::remove_file(path).map(|()| Outcome::Allowed),
        ["rename", from, to] => fs::rename(from, to).map(|()| Outcome::Allowed),
        ["read", path] => read(path),
        ["holds", path] => holds(path),
        ["list", path] => list(path),
        ["link", from, to] => fs::hard_link(from, to).map(|()| Outcome::Allowed),
        ["mknod-block", path] => node(path, libc::S_IFBLK, libc::makedev(7, 0)),
        ["mknod-mem", path] => node(path, libc::S_IFCHR, libc::makedev(1, 1)),
        ["device-works", path] => device_works(path),
        ["descriptors"] => descriptors(),
        ["directory"] => std::env::current_dir().map(|path| Outcome::value(path.display())),
        ["tmpfile", path] => {
            let opened = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(path);
            opened.map(|_| Outcome::Allowed)
        }
        ["whiteout", path] => node(path, libc::S_IFCHR, 0),
        ["overlay-attribute", path] => attribute(path, "trusted.overlay.redirect", b"/../../etc"),
        ["immutable", path] => immutable(path),
        _ => return None,
    })
}

fn create(path: &str) -> Attempt {
    OpenOptions::new().write(true).create_new(true).open(path).map(|_| Outcome::Allowed)
}

fn write(path: &str, text: &str) -> Attempt {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes()).map(|()| Outcome::Allowed)
}

/// The first line.
fn read(path: &str) -> Attempt {
    let text = fs::read_to_string(path)?;
    Ok(Outcome::value(text.lines().next().unwrap_or_default()))
}

/// Whether there is anything to read. Some files of the kernel never end.
fn holds(path: &str) -> Attempt {
    let mut some = [0_u8; 64];
    let length = if Path::new(path).is_dir() {
        fs::read_dir(path)?.count()
    } else {
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        file.read(&mut some)?
    };
    Ok(if length == 0 { Outcome::value("nothing") } else { Outcome::Allowed })
}

fn list(path: &str) -> Attempt {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(Outcome::value(names.join(" ")))
}

fn node(path: &str, kind: u32, device: u64) -> Attempt {
    let path = CString::new(path)?;
    let mode = Given::Number(i64::from(kind | 0o666));
    let device = Given::Number(i64::try_from(device).unwrap_or_default());
    call(libc::SYS_mknodat, [HERE, Given::Text(&path), mode, device])?;
    Ok(Outcome::Allowed)
}

/// Makes a second `/dev/zero`, and reads from it.
fn device_works(path: &str) -> Attempt {
    node(path, libc::S_IFCHR, libc::makedev(1, 5))?;
    let read = File::open(path).and_then(|mut file| file.read(&mut [0; 4]));
    fs::remove_file(path)?;
    read.map(|_| Outcome::Allowed)
}

/// What this program was born with, but for the three standard ones and the one that looks.
fn descriptors() -> Attempt {
    let directory = File::open("/proc/self/fd")?;
    let mut open = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number: i32 = name.parse().unwrap_or_default();
        // `read_dir` has one, and is gone when it is looked at.
        let goal = fs::read_link(format!("/proc/self/fd/{name}"));
        let ours = number == directory.as_raw_fd() || number <= 2;
        if let (false, Ok(goal)) = (ours, goal)
            && !goal.ends_with("fd")
        {
            open.push(format!("{name}={}", goal.display()));
        }
    }
    Ok(Outcome::value(if open.is_empty() { "none".to_owned() } else { open.join(" ") }))
}

fn attribute(path: &str, name: &str, value: &[u8]) -> Attempt {
    let (path, name) = (CString::new(path)?, CString::new(name)?);
    let mut value = value.to_vec();
    let length = Given::Number(i64::try_from(value.len()).unwrap_or_default());
    let given = [Given::Text(&path), Given::Text(&name), Given::Bytes(&mut value), length];
    let [a, b, c, d] = given;
    call(libc::SYS_setxattr, [a, b, c, d, Given::Number(0)])?;
    Ok(Outcome::Allowed)
}

/// Files that even root cannot remove would stay behind.
fn immutable(path: &str) -> Attempt {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let fd = i64::from(file.as_raw_fd());
    let mut flags = 0x10_i64.to_ne_bytes();
    let set = Given::Number(0x4008_6602);
    let done = call(libc::SYS_ioctl, [Given::Number(fd), set, Given::Bytes(&mut flags)]);
    if done.is_ok() {
        let mut flags = 0_i64.to_ne_bytes();
        let set = Given::Number(0x4008_6602);
        call(libc::SYS_ioctl, [Given::Number(fd), set, Given::Bytes(&mut flags)])?;
    }
    let removed: io::Result<()> = fs::remove_file(path);
    done?;
    removed.map(|()| Outcome::Allowed)
}
