//! Using up what others need, too.
//!
//! Each goes on until the system refuses, and tells how far it came and what the refusal was.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::fd::AsRawFd,
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    Attempt, Outcome,
    outcome::name,
    raw::{Given, HERE, NOTHING, call, leave, put},
};

pub(crate) fn attempt(words: &[&str]) -> Option<Attempt> {
    Some(match words {
        ["fork-bomb"] => fork_bomb(),
        ["zombies", count] => Ok(zombies(number(count))),
        ["daemons", count] => daemons(number(count)),
        ["threads"] => Ok(threads()),
        ["memory-bomb"] => memory_bomb(),
        ["spin", millis] => Ok(spin(Duration::from_millis(number(millis)))),
        ["fill", path, mib] => fill(Path::new(path), number(mib)),
        ["fill-files", path, most] => fill_files(Path::new(path), number(most)),
        ["fallocate", path, mib] => allocate(Path::new(path), number(mib)),
        ["sparse", path] => {
            File::create(path).and_then(|file| file.set_len(1 << 60)).map(|()| Outcome::Allowed)
        }
        ["deep", path, depth] => deep(path, number(depth)),
        ["long-name", path] => {
            let long = Path::new(path).join("n".repeat(4096));
            File::create(long).map(|_| Outcome::Allowed)
        }
        ["attributes", path, most] => attributes(path, number(most)),
        ["deleted-open", path, mib] => deleted_open(Path::new(path), number(mib)),
        ["descriptors-until-full"] => Ok(until_refused(100_000, |_| File::open("/dev/null"))),
        ["inotify-until-full"] => {
            Ok(until_refused(20_000, |_| call(libc::SYS_inotify_init1, [NOTHING])))
        }
        ["terminals-until-full"] => Ok(until_refused(10_000, |_| File::open("/dev/ptmx"))),
        ["queues-until-full"] => Ok(until_refused(10_000, queue)),
        ["shared-until-full"] => Ok(until_refused(20_000, |_| {
            let given = [NOTHING, Given::Number(4096), Given::Number(0o1600)];
            call(libc::SYS_shmget, given)
        })),
        ["flood", mib] => flood(number(mib)),
        ["swap-links", path, goal, millis] => {
            swap_links(path, goal, Duration::from_millis(number(millis)))
        }
        _ => return None,
    })
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_default()
}

fn told(count: u64, error: &io::Error) -> Outcome {
    Outcome::value(format!("{count} {}", name(error)))
}

/// What was made is kept until this program ends.
fn until_refused<T>(most: u64, make: impl Fn(u64) -> io::Result<T>) -> Outcome {
    let mut kept = Vec::new();
    for count in 0..most {
        match make(count) {
            Ok(one) => kept.push(one),
            Err(error) => return told(count, &error),
        }
    }
    Outcome::value(format!("{most} without an end"))
}

#[expect(unsafe_code, reason = "fork")]
fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: this program has one thread when it forks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child),
    }
}

/// Every process makes others for as long as it can, and none of them ends. The first tells when it was refused.
fn fork_bomb() -> Attempt {
    let mut made = 0_u64;
    loop {
        match fork() {
            Ok(0) => made = u64::MAX,
            Ok(_) => made = made.saturating_add(1),
            Err(error) if made < u64::MAX => {
                let outcome = told(made, &error);
                let mut output = io::stdout();
                writeln!(output, "{outcome}")?;
                output.flush()?;
                made = u64::MAX;
            }
            Err(_full) => std::thread::yield_now(),
        }
    }
}

fn zombies(count: u64) -> Outcome {
    for made in 0..count {
        match fork() {
            // Each leaves a child of its own behind, which ends without anybody who waits for it.
            Ok(0) => {
                let _ = fork();
                leave(0)
            }
            Ok(_) => {}
            Err(error) => return told(made, &error),
        }
    }
    Outcome::value(format!("{count} made"))
}

/// Leave their parent, their session and their signals behind.
#[expect(unsafe_code, reason = "signals are ignored by the C library's call")]
fn daemons(count: u64) -> Attempt {
    for _ in 0..count {
        if fork()? == 0 {
            call(libc::SYS_setsid, [])?;
            if fork()? != 0 {
                leave(0);
            }
            for signal in 1..32 {
                // SAFETY: no handler of ours is named.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
            // Nothing holds the output of whoever started us open.
            for fd in 0..3 {
                call(libc::SYS_close, [Given::Number(fd)])?;
            }
            loop {
                std::thread::park();
            }
        }
    }
    Ok(Outcome::value(format!("{count} made")))
}

fn threads() -> Outcome {
    let stay = || {
        std::thread::Builder::new().stack_size(32 * 1024).spawn(|| {
            loop {
                std::thread::park();
            }
        })
    };
    until_refused(100_000, |_| stay())
}

fn memory_bomb() -> Attempt {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        // Every page is touched.
        kept.push(vec![1; 1 << 20]);
        std::hint::black_box(&kept);
    }
}

/// Works on every processor that there is.
fn spin(long: Duration) -> Outcome {
    let end = Instant::now() + long;
    let work = move || {
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    };
    let others: Vec<_> = (0..3).map(|_| std::thread::spawn(work)).collect();
    work();
    for other in others {
        let _ended = other.join();
    }
    Outcome::Allowed
}

fn fill(path: &Path, most_mib: u64) -> Attempt {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    // Not zeros: a file system may have clever ways to keep those.
    let chunk: Vec<u8> =
        (0..1_u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    for mib in 0..most_mib {
        // What is still in memory may be refused later; but to write out every piece takes long.
        let written = file.write_all(&chunk);
        let written =
            if mib % 16 == 15 { written.and_then(|()| file.sync_data()) } else { written };
        if let Err(error) = written {
            return Ok(told(mib, &error));
        }
    }
    Ok(Outcome::value(format!("{most_mib} without an end")))
}

fn fill_files(path: &Path, most: u64) -> Attempt {
    fs::create_dir_all(path)?;
    for count in 0..most {
        if let Err(error) = File::create(path.join(count.to_string())) {
            return Ok(told(count, &error));
        }
    }
    Ok(Outcome::value(format!("{most} without an end")))
}

fn allocate(path: &Path, mib: u64) -> Attempt {
    let file = File::create(path)?;
    let bytes = i64::try_from(mib << 20).unwrap_or(i64::MAX);
    let fd = Given::Number(i64::from(file.as_raw_fd()));
    call(libc::SYS_fallocate, [fd, NOTHING, NOTHING, Given::Number(bytes)])?;
    Ok(Outcome::Allowed)
}

/// Directories in each other, by steps: a path can be no longer than 4096 bytes, a tree can.
fn deep(path: &str, depth: u64) -> Attempt {
    fs::create_dir_all(path)?;
    std::env::set_current_dir(path)?;
    for made in 0..depth {
        let step = call(libc::SYS_mkdirat, [HERE, Given::Text(c"d"), Given::Number(0o755)]);
        let step = step.and_then(|_| call(libc::SYS_chdir, [Given::Text(c"d")]));
        if let Err(error) = step {
            return Ok(told(made, &error));
        }
    }
    Ok(Outcome::value(format!("{depth} made")))
}

fn attributes(path: &str, most: u64) -> Attempt {
    File::create(path)?;
    let path = CString::new(path)?;
    let mut value = vec![b'x'; 2048];
    for count in 0..most {
        let name = CString::new(format!("user.bloat{count}"))?;
        let (at, named) = (Given::Text(&path), Given::Text(&name));
        let length = Given::Number(2048);
        if let Err(error) =
            call(libc::SYS_setxattr, [at, named, Given::Bytes(&mut value), length, NOTHING])
        {
            return Ok(told(count, &error));
        }
    }
    Ok(Outcome::value(format!("{most} without an end")))
}

/// A file that no listing shows, held open by a process that nobody waits for.
fn deleted_open(path: &Path, mib: u64) -> Attempt {
    let filled = fill(path, mib)?;
    let file = File::open(path)?;
    fs::remove_file(path)?;
    if fork()? == 0 {
        for fd in 0..3 {
            call(libc::SYS_close, [Given::Number(fd)])?;
        }
        loop {
            std::hint::black_box(&file);
            std::thread::park();
        }
    }
    Ok(filled)
}

fn queue(count: u64) -> io::Result<i64> {
    let name = CString::new(format!("probe{count}"))?;
    let flags = i64::from(libc::O_CREAT | libc::O_RDWR);
    let given = [Given::Text(&name), Given::Number(flags), Given::Number(0o600), NOTHING];
    call(libc::SYS_mq_open, given)
}

/// Says as much as told, without an end of line.
fn flood(mib: u64) -> Attempt {
    let mut chunk = vec![b'x'; 1 << 20];
    put(&mut chunk, 0, b"\x1b]52;c;b3duZWQ=\x07\x00\xff\xfe");
    let mut output = io::stdout().lock();
    for _ in 0..mib {
        output.write_all(&chunk)?;
    }
    Ok(Outcome::Allowed)
}

/// Makes `path` a directory and a link to `goal` in turn, as quickly as it can.
fn swap_links(path: &str, goal: &str, long: Duration) -> Attempt {
    let end = Instant::now() + long;
    let aside = format!("{path}.aside");
    fs::create_dir_all(path)?;
    let _removed = fs::remove_file(&aside);
    std::os::unix::fs::symlink(goal, &aside)?;
    let (one, other) = (CString::new(path)?, CString::new(aside)?);
    let mut swaps = 0_u64;
    while Instant::now() < end {
        // RENAME_EXCHANGE.
        let (from, to) = (Given::Text(&one), Given::Text(&other));
        call(libc::SYS_renameat2, [HERE, from, HERE, to, Given::Number(2)])?;
        swaps += 1;
    }
    Ok(Outcome::value(swaps))
}
