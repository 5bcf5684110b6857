//! Becoming more than one is.

use std::{
    ffi::CString,
    fs::{self, File},
    io::{self, Write},
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
};

use crate::{
    Attempt, Outcome,
    raw::{Given, HERE, NOTHING, call, in_child},
};

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    Some(match words {
        ["who"] => Ok(who()),
        ["capabilities"] => status("CapEff"),
        ["bounding"] => status("CapBnd"),
        ["no-new-privileges"] => status("NoNewPrivs"),
        ["setuid", id] => {
            let id = Given::Number(id.parse().unwrap_or_default());
            call(libc::SYS_setuid, [id]).map(|_| Outcome::Allowed)
        }
        // As root inside: a copy of this program that gives its user root, or all capabilities.
        ["make-setuid", path] => make_setuid(path),
        ["make-capable", path] => make_capable(path),
        ["real-time"] => {
            let mut priority = 1_i32.to_ne_bytes();
            let given = [NOTHING, Given::Number(1), Given::Bytes(&mut priority)];
            call(libc::SYS_sched_setscheduler, given).map(|_| Outcome::Allowed)
        }
        ["nice"] => {
            let given = [NOTHING, NOTHING, Given::Number(-20)];
            call(libc::SYS_setpriority, given).map(|_| Outcome::Allowed)
        }
        ["io-real-time"] => {
            let given = [Given::Number(1), NOTHING, Given::Number(1 << 13)];
            call(libc::SYS_ioprio_set, given).map(|_| Outcome::Allowed)
        }
        ["raise-limit"] => raise_limit(),
        ["out-of-memory-score", score] => {
            fs::write("/proc/self/oom_score_adj", score).map(|()| Outcome::Allowed)
        }
        ["memfd-exec"] => memfd_exec(Way::Descriptor),
        ["memfd-exec-by-path"] => memfd_exec(Way::Path),
        ["chroot-escape"] => chroot_escape(),
        ["kill-all"] => {
            call(libc::SYS_kill, [Given::Number(-1), Given::Number(9)]).map(|_| Outcome::Allowed)
        }
        _ => return None,
    })
}

#[expect(unsafe_code, reason = "the C library's questions")]
fn who() -> Outcome {
    // SAFETY: they only answer.
    let (real, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    Outcome::value(format!("{real} {effective}"))
}

fn status(name: &str) -> Attempt {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(Outcome::value(line.unwrap_or_default().trim()))
}

fn copy_of_us(path: &str) -> io::Result<()> {
    fs::copy("/proc/self/exe", path).map(drop)
}

fn make_setuid(path: &str) -> Attempt {
    copy_of_us(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o6755))?;
    let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
    Ok(Outcome::value(format!("{mode:o}")))
}

fn make_capable(path: &str) -> Attempt {
    copy_of_us(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    // Version 2, effective, everything that a kernel may know.
    let mut value = [0_u8; 20];
    for (place, word) in value.chunks_mut(4).zip([0x0200_0001_u32, u32::MAX, 0, 0x1ff, 0]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let path = CString::new(path)?;
    let (at, name) = (Given::Text(&path), Given::Text(c"security.capability"));
    call(libc::SYS_setxattr, [at, name, Given::Bytes(&mut value), Given::Number(20), NOTHING])?;
    Ok(Outcome::Allowed)
}

/// More open files than the hard limit says.
fn raise_limit() -> Attempt {
    let mut limit = [0_u8; 16];
    let files = || Given::Number(i64::from(libc::RLIMIT_NOFILE));
    call(libc::SYS_prlimit64, [NOTHING, files(), NOTHING, Given::Bytes(&mut limit)])?;
    let hard = limit.last_chunk::<8>().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    let more = (hard + 1).to_ne_bytes();
    let mut raised: Vec<u8> = [more, more].concat();
    call(libc::SYS_prlimit64, [NOTHING, files(), Given::Bytes(&mut raised), NOTHING])?;
    Ok(Outcome::Allowed)
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Descriptor,
    Path,
}

/// Runs a program that is in no file.
#[expect(unsafe_code, reason = "a descriptor by number")]
fn memfd_exec(way: Way) -> Attempt {
    use std::os::fd::FromRawFd;
    let fd = call(libc::SYS_memfd_create, [Given::Text(c"probe"), NOTHING])?;
    // SAFETY: just made, and nobody else's.
    let mut file = unsafe { File::from_raw_fd(i32::try_from(fd).unwrap_or(-1)) };
    file.write_all(&fs::read("/bin/true")?)?;
    let ended = in_child(|| {
        let mut arguments = [0_u8; 16];
        let mut environment = [0_u8; 8];
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
        let name = c"true".as_ptr().addr().to_ne_bytes();
        arguments.split_at_mut(8).0.copy_from_slice(&name);
        let (argv, envp) = (Given::Bytes(&mut arguments), Given::Bytes(&mut environment));
        let refused = match way {
            Way::Descriptor => {
                let at = Given::Number(i64::from(file.as_raw_fd()));
                let empty = Given::Number(i64::from(libc::AT_EMPTY_PATH));
                call(libc::SYS_execveat, [at, Given::Text(c""), argv, envp, empty])
            }
            Way::Path => call(libc::SYS_execveat, [HERE, Given::Text(&path), argv, envp, NOTHING]),
        };
        refused.err().and_then(|error| error.raw_os_error()).unwrap_or(libc::EIO)
    })?;
    match ended {
        Ok(0) => Ok(Outcome::Allowed),
        Ok(errno) => Err(io::Error::from_raw_os_error(errno)),
        Err(signal) => Ok(Outcome::value(format!("signal {signal}"))),
    }
}

/// The classic way out of a changed root: keep a directory of the old one open, change the root again, and climb.
/// Shows what is at the top then.
fn chroot_escape() -> Attempt {
    let place = CString::new(format!("/tmp/chroot-{}", std::process::id()))?;
    let top = File::open("/")?;
    call(libc::SYS_mkdirat, [HERE, Given::Text(&place), Given::Number(0o755)])?;
    call(libc::SYS_chroot, [Given::Text(&place)])?;
    call(libc::SYS_fchdir, [Given::Number(i64::from(top.as_raw_fd()))])?;
    for _ in 0..64 {
        call(libc::SYS_chdir, [Given::Text(c"..")])?;
    }
    call(libc::SYS_chroot, [Given::Text(c".")])?;
    let mut names = Vec::new();
    for entry in fs::read_dir("/")? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(Outcome::value(names.join(" ")))
}
