//! System calls that no sandbox needs.
//!
//! Where a call could harm the host that runs the control, it is given what the kernel refuses for another reason
//! than missing rights: that the kernel came so far is what the control shows.

use std::{fs::File, io, os::fd::AsRawFd};

use crate::{
    Attempt, Outcome,
    raw::{Given, HERE, NOTHING, call, leave, put, wait},
};

const STATMOUNT: libc::c_long = 457;
const LISTMOUNT: libc::c_long = 458;
const OPEN_TREE_ATTR: libc::c_long = 467;

/// The way into the kernel that takes 32-bit pointers with 64-bit numbers.
const X32: libc::c_long = 0x4000_0000;

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    let [name] = words else { return None };
    let result = mounts(name).or_else(|| kernel(name)).or_else(|| machine(name));
    let result = result.or_else(|| namespaces(name)).or_else(|| terminals(name));
    let result = result.or_else(|| of_this_architecture(name))?;
    Some(result.map(|()| Outcome::Allowed))
}

fn mounts(name: &str) -> Option<io::Result<()>> {
    let mut zeros = [0_u8; 256];
    let none = Given::Number(-1);
    let empty = Given::Text(c"");
    let result = match name {
        "mount" => {
            let (kind, place) = (Given::Text(c"tmpfs"), Given::Text(c"/tmp"));
            call(libc::SYS_mount, [Given::Text(c"none"), place, kind, NOTHING, NOTHING])
        }
        "umount" => call(libc::SYS_umount2, [Given::Text(c"/proc"), Given::Number(2)]),
        "pivot-root" => call(libc::SYS_pivot_root, [Given::Text(c"/"), Given::Text(c"/")]),
        "open-tree" => call(libc::SYS_open_tree, [HERE, Given::Text(c"/"), Given::Number(1)]),
        "open-tree-attr" => {
            let given = [HERE, Given::Text(c"/"), Given::Number(1), Given::Bytes(&mut zeros)];
            let [a, b, c, d] = given;
            call(OPEN_TREE_ATTR, [a, b, c, d, Given::Number(32)])
        }
        "move-mount" => {
            call(libc::SYS_move_mount, [none, empty, Given::Number(-1), Given::Text(c""), NOTHING])
        }
        "fsopen" => call(libc::SYS_fsopen, [Given::Text(c"tmpfs"), NOTHING]),
        "fsconfig" => call(libc::SYS_fsconfig, [none, Given::Number(6), NOTHING, NOTHING, NOTHING]),
        "fsmount" => call(libc::SYS_fsmount, [none, NOTHING, NOTHING]),
        "fspick" => call(libc::SYS_fspick, [HERE, Given::Text(c"/"), NOTHING]),
        "mount-setattr" => {
            let set = Given::Bytes(&mut zeros);
            call(
                libc::SYS_mount_setattr,
                [HERE, Given::Text(c"/"), NOTHING, set, Given::Number(32)],
            )
        }
        "statmount" => call(STATMOUNT, [NOTHING, NOTHING, NOTHING, NOTHING]),
        "listmount" => call(LISTMOUNT, [NOTHING, NOTHING, NOTHING, NOTHING]),
        "mount-x32" => {
            let (kind, place) = (Given::Text(c"tmpfs"), Given::Text(c"/tmp"));
            call(X32 | libc::SYS_mount, [Given::Text(c"none"), place, kind, NOTHING, NOTHING])
        }
        "name-to-handle" => return Some(handle_of(c"/").map(drop)),
        "shocker" => return Some(shocker()),
        "quotactl" => {
            // Q_GETFMT of what is no block device.
            let command = Given::Number(0x0080_0004 << 8);
            call(libc::SYS_quotactl, [command, Given::Text(c"/dev/null"), NOTHING, NOTHING])
        }
        _ => return None,
    };
    Some(result.map(drop))
}

/// A file's name that outlives the file's path: a header, then bytes that only the file system understands.
fn handle_of(path: &std::ffi::CStr) -> io::Result<[u8; 136]> {
    let mut handle = [0_u8; 136];
    put(&mut handle, 0, &128_u32.to_ne_bytes());
    let mut mount = [0_u8; 8];
    let (to, at) = (Given::Bytes(&mut handle), Given::Bytes(&mut mount));
    call(libc::SYS_name_to_handle_at, [HERE, Given::Text(path), to, at, NOTHING])?;
    Ok(handle)
}

/// Opens a file by a handle, past every path: inside, a guessed one, as the real exploit did.
fn shocker() -> io::Result<()> {
    let mut handle = handle_of(c"/").unwrap_or_else(|_refused| {
        let mut guessed = [0_u8; 136];
        put(&mut guessed, 0, &8_u32.to_ne_bytes());
        put(&mut guessed, 4, &1_u32.to_ne_bytes());
        put(&mut guessed, 8, &2_u32.to_ne_bytes());
        guessed
    });
    let root = File::open("/")?;
    let fd = Given::Number(i64::from(root.as_raw_fd()));
    call(libc::SYS_open_by_handle_at, [fd, Given::Bytes(&mut handle), NOTHING]).map(drop)
}

fn kernel(name: &str) -> Option<io::Result<()>> {
    let mut zeros = [0_u8; 256];
    let session = Given::Number(-3);
    let result = match name {
        "bpf" => {
            // A map of one small array.
            put(&mut zeros, 0, &2_u32.to_ne_bytes());
            for at in [4, 8, 12] {
                put(&mut zeros, at, &4_u32.to_ne_bytes());
            }
            call(libc::SYS_bpf, [NOTHING, Given::Bytes(&mut zeros), Given::Number(72)])
        }
        "perf" => {
            put(&mut zeros, 0, &1_u32.to_ne_bytes());
            put(&mut zeros, 4, &112_u32.to_ne_bytes());
            let event = Given::Bytes(&mut zeros);
            let none = Given::Number(-1);
            call(libc::SYS_perf_event_open, [event, NOTHING, none, Given::Number(-1), NOTHING])
        }
        "userfaultfd" => call(libc::SYS_userfaultfd, [NOTHING]),
        "io-uring" => call(libc::SYS_io_uring_setup, [Given::Number(1), Given::Bytes(&mut zeros)]),
        "keyctl" => call(libc::SYS_keyctl, [NOTHING, session, Given::Number(1)]),
        "add-key" => {
            let (kind, name) = (Given::Text(c"user"), Given::Text(c"probe"));
            call(libc::SYS_add_key, [kind, name, Given::Text(c"x"), Given::Number(1), session])
        }
        "request-key" => {
            let (kind, name) = (Given::Text(c"user"), Given::Text(c"none"));
            call(libc::SYS_request_key, [kind, name, NOTHING, NOTHING])
        }
        "fanotify" => call(libc::SYS_fanotify_init, [NOTHING, NOTHING]),
        "syslog" => {
            call(libc::SYS_syslog, [Given::Number(3), Given::Bytes(&mut zeros), Given::Number(256)])
        }
        "memfd-secret" => call(libc::SYS_memfd_secret, [NOTHING]),
        "aio" => call(libc::SYS_io_setup, [Given::Number(1), Given::Bytes(&mut zeros)]),
        "personality" => call(libc::SYS_personality, [Given::Number(0x0040_0000)]),
        "mempolicy" => call(libc::SYS_set_mempolicy, [NOTHING, NOTHING, NOTHING]),
        "memfd-exec-flag" => {
            call(libc::SYS_memfd_create, [Given::Text(c"probe"), Given::Number(0x10)])
        }
        "lease" => return Some(lease()),
        "directory-notice" => return Some(directory_notice()),
        _ => return None,
    };
    Some(result.map(drop))
}

/// Makes everybody else who opens the file wait for us.
fn lease() -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("lease-{}", std::process::id()));
    let file = File::create(&path)?;
    let (set_lease, to_write) = (Given::Number(1024), Given::Number(1));
    let taken =
        call(libc::SYS_fcntl, [Given::Number(file.as_raw_fd().into()), set_lease, to_write]);
    std::fs::remove_file(&path)?;
    taken.map(drop)
}

/// Is told when anybody reads anything in a directory.
fn directory_notice() -> io::Result<()> {
    let directory = File::open("/")?;
    let (notify, of_access) = (Given::Number(1026), Given::Number(1));
    call(libc::SYS_fcntl, [Given::Number(directory.as_raw_fd().into()), notify, of_access])
        .map(drop)
}

fn machine(name: &str) -> Option<io::Result<()>> {
    let mut zeros = [0_u8; 256];
    let nowhere = Given::Text(c"/nonexistent/file");
    let result = match name {
        "kexec" => call(
            libc::SYS_kexec_load,
            [NOTHING, Given::Number(99), NOTHING, Given::Number(1 << 40)],
        ),
        "kexec-file" => call(
            libc::SYS_kexec_file_load,
            [Given::Number(-1), Given::Number(-1), NOTHING, NOTHING, NOTHING],
        ),
        "init-module" => call(libc::SYS_init_module, [NOTHING, NOTHING, Given::Text(c"")]),
        "finit-module" => {
            call(libc::SYS_finit_module, [Given::Number(-1), Given::Text(c""), NOTHING])
        }
        "delete-module" => call(libc::SYS_delete_module, [Given::Text(c"no-such"), NOTHING]),
        // Wrong magic numbers: the kernel asks for the right first.
        "reboot" => call(libc::SYS_reboot, [NOTHING, NOTHING, NOTHING, NOTHING]),
        "swapon" => call(libc::SYS_swapon, [nowhere, NOTHING]),
        "acct" => call(libc::SYS_acct, [nowhere]),
        "settimeofday" => {
            // A time zone that no place has.
            put(&mut zeros, 0, &99_999_i32.to_ne_bytes());
            call(libc::SYS_settimeofday, [NOTHING, Given::Bytes(&mut zeros)])
        }
        "clock-settime" => {
            put(&mut zeros, 8, &i64::MAX.to_ne_bytes());
            call(libc::SYS_clock_settime, [NOTHING, Given::Bytes(&mut zeros)])
        }
        "adjtimex" => call(libc::SYS_adjtimex, [Given::Bytes(&mut zeros)]),
        "sethostname" => call(libc::SYS_sethostname, [Given::Text(c"owned"), Given::Number(5)]),
        "setdomainname" => call(libc::SYS_setdomainname, [Given::Text(c"owned"), Given::Number(5)]),
        _ => return None,
    };
    Some(result.map(drop))
}

/// What only this architecture has.
#[cfg(target_arch = "x86_64")]
fn of_this_architecture(name: &str) -> Option<io::Result<()>> {
    let mut zeros = [0_u8; 256];
    let result = match name {
        "iopl" => call(libc::SYS_iopl, [Given::Number(3)]),
        "ioperm" => {
            call(libc::SYS_ioperm, [Given::Number(0x80), Given::Number(1), Given::Number(1)])
        }
        "modify-ldt" => {
            call(libc::SYS_modify_ldt, [NOTHING, Given::Bytes(&mut zeros), Given::Number(256)])
        }
        "int80" => return Some(int80()),
        _ => return None,
    };
    Some(result.map(drop))
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_architecture(_name: &str) -> Option<io::Result<()>> {
    None
}

/// The old way into the kernel, where numbers mean other calls: 20 is `getpid`.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "an instruction that Rust does not have")]
fn int80() -> io::Result<()> {
    let ended = crate::raw::in_child(|| {
        let pid: u64;
        // SAFETY: asks for this process's number.
        unsafe { std::arch::asm!("int 0x80", inout("rax") 20_u64 => pid) };
        i32::from(pid == 0 || pid > 1 << 31)
    })?;
    match ended {
        Ok(0) => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
        Err(_signal) => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

fn namespaces(name: &str) -> Option<io::Result<()>> {
    let kind = match name.split_once('-')? {
        ("unshare" | "clone" | "clone3", kind) => match kind {
            "user" => libc::CLONE_NEWUSER,
            "mount" => libc::CLONE_NEWNS,
            "pid" => libc::CLONE_NEWPID,
            "net" => libc::CLONE_NEWNET,
            "ipc" => libc::CLONE_NEWIPC,
            "uts" => libc::CLONE_NEWUTS,
            "cgroup" => libc::CLONE_NEWCGROUP,
            _ => return None,
        },
        ("setns", "uts") => {
            let own = File::open("/proc/self/ns/uts");
            let enter = |own: File| {
                let fd = Given::Number(i64::from(own.as_raw_fd()));
                call(libc::SYS_setns, [fd, NOTHING]).map(drop)
            };
            return Some(own.and_then(enter));
        }
        _ => return None,
    };
    let flags = i64::from(kind);
    Some(if name.starts_with("unshare") {
        call(libc::SYS_unshare, [Given::Number(flags)]).map(drop)
    } else if name.starts_with("clone3") {
        clone3(flags)
    } else {
        clone(flags)
    })
}

fn clone(flags: i64) -> io::Result<()> {
    let signal = i64::from(libc::SIGCHLD);
    let given = [Given::Number(flags | signal), NOTHING, NOTHING, NOTHING, NOTHING];
    born(call(libc::SYS_clone, given)?)
}

fn clone3(flags: i64) -> io::Result<()> {
    let mut arguments = [0_u8; 88];
    put(&mut arguments, 0, &flags.to_ne_bytes());
    put(&mut arguments, 32, &i64::from(libc::SIGCHLD).to_ne_bytes());
    born(call(libc::SYS_clone3, [Given::Bytes(&mut arguments), Given::Number(88)])?)
}

/// After a clone: the child leaves at once, the parent sees it go.
fn born(child: i64) -> io::Result<()> {
    if child == 0 {
        leave(0);
    }
    wait(i32::try_from(child).unwrap_or(-1)).map(drop)
}

/// What can be done to a terminal of one's own, and must not be.
fn terminals(name: &str) -> Option<io::Result<()>> {
    let request: libc::c_ulong = match name {
        "tiocsti" => 0x5412,
        "tioclinux" => 0x541c,
        "tiocsetd" => 0x5423,
        _ => return None,
    };
    Some(terminal().and_then(|terminal| {
        let mut value = [0_u8; 16];
        let fd = Given::Number(i64::from(terminal.as_raw_fd()));
        let request = Given::Number(i64::try_from(request).unwrap_or_default());
        call(libc::SYS_ioctl, [fd, request, Given::Bytes(&mut value)]).map(drop)
    }))
}

/// The inner end of a new pair. The outer end is left open for as long as this process lives.
fn terminal() -> io::Result<File> {
    let outer = File::options().read(true).write(true).open("/dev/ptmx")?;
    let fd = i64::from(outer.as_raw_fd());
    let mut unlocked = [0_u8; 4];
    call(
        libc::SYS_ioctl,
        [Given::Number(fd), Given::Number(0x4004_5431), Given::Bytes(&mut unlocked)],
    )?;
    let mut number = [0_u8; 4];
    call(
        libc::SYS_ioctl,
        [Given::Number(fd), Given::Number(0x8004_5430), Given::Bytes(&mut number)],
    )?;
    std::mem::forget(outer);
    let path = format!("/dev/pts/{}", i32::from_ne_bytes(number));
    File::options().read(true).write(true).open(path)
}
