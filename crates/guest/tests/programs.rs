//! Programs: what they say, how they end, and that nothing of them gets away.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::{Duration, Instant};

use guest::protocol::{Ask, Ending, Job, Program, Refusal, Size};
use support::{CHANNEL, Guest, is_alive, program, sh, terminal};

#[test]
fn a_program_says_something_and_ends() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let said = host.sh("echo out; echo error >&2; exit 7");
    assert_eq!((said.out(), said.error()), ("out\n".to_owned(), "error\n".to_owned()));
    assert_eq!(said.ending(), Ending::Exited(7));
    assert!(said.usage.peak_kib > 0, "{:?}", said.usage);
}

#[test]
fn the_environment_is_exactly_the_one_that_was_given() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let environment =
        vec![("A".to_owned(), "1 2".to_owned()), ("PATH".to_owned(), "/usr/bin".to_owned())];
    let said = host.play(Job::Program(Program { environment, ..program(&["env"]) }), b"");
    assert_eq!(said.out(), "A=1 2\nPATH=/usr/bin\n");
}

#[test]
fn a_program_has_no_descriptors_but_its_own_three() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let said = host.play(Job::Program(program(&["ls", "/proc/self/fd"])), b"");
    // The fourth is the directory that `ls` itself reads.
    assert_eq!(said.out(), "0\n1\n2\n3\n");
}

#[test]
fn a_program_starts_in_its_directory_with_all_signals_as_usual() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let scratch = guest.scratch().to_string_lossy().into_owned();
    let script = "pwd; grep -E 'Sig(Blk|Ign)' /proc/self/status; ulimit -c; umask";
    let there = Program { directory: scratch.clone(), ..program(&["sh", "-c", script]) };
    let said = host.play(Job::Program(there), b"");
    let expected =
        format!("{scratch}\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n0022\n");
    assert_eq!(said.out(), expected);
}

#[test]
fn what_cannot_be_executed_is_refused_with_the_reason() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let scratch = guest.scratch();
    std::fs::write(scratch.join("plain"), "no program").unwrap();
    let plain = scratch.join("plain").to_string_lossy().into_owned();
    let only_there = vec![("PATH".to_owned(), format!("/nowhere:{}", scratch.display()))];
    let cases = [
        (program(&["no-such-program"]), libc::ENOENT),
        (program(&["/no/such/program"]), libc::ENOENT),
        (program(&[plain.as_str()]), libc::EACCES),
        (Program { environment: only_there, ..program(&["plain"]) }, libc::EACCES),
        (program(&[]), libc::ENOENT),
        (program(&["a\0b"]), libc::EINVAL),
    ];
    for (program, expected) in cases {
        let name = program.argv.first().cloned().unwrap_or_default();
        let refusal = host.open(CHANNEL, Job::Program(program)).unwrap_err();
        assert_eq!(refusal, Refusal::Program { name, errno: expected });
    }
    let nowhere = Program { directory: "/no/where".to_owned(), ..program(&["true"]) };
    let refusal = host.open(CHANNEL, Job::Program(nowhere)).unwrap_err();
    assert_eq!(refusal, Refusal::Directory { path: "/no/where".to_owned(), errno: libc::ENOENT });
}

#[test]
fn a_signal_reaches_the_whole_group() {
    let guest = Guest::start();
    let mut host = guest.connect();
    host.open(CHANNEL, sh("sleep 1000 & echo ready; wait")).unwrap();
    host.ask(&Ask::Signal { channel: CHANNEL, signal: libc::SIGTERM });
    assert_eq!(host.finish(CHANNEL, 0).ending(), Ending::Signaled(libc::SIGTERM));
}

/// Three ways to get away from a parent, each telling its number, and a main process that waits.
const RUNAWAYS: &str = r#"
    sleep 1001 & echo $!
    setsid sh -c 'echo $$; exec sleep 1002' &
    (setsid sh -c '(sleep 1003 & echo $!) &' &)
    setsid sh -c 'trap "" TERM HUP INT; echo $$; while :; do sleep 0.01; done' &
    while :; do sleep 1; done
"#;

fn four_numbers(host: &mut support::Host) -> Vec<u32> {
    let mut out = String::new();
    host.credit(CHANNEL, 0);
    while out.lines().count() < 4 || !out.ends_with('\n') {
        if let guest::protocol::Tell::Output { bytes, .. } = host.tell() {
            out += &String::from_utf8(bytes).unwrap();
        }
    }
    out.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn killing_a_program_kills_all_that_it_started() {
    let guest = Guest::start();
    let mut host = guest.connect();
    host.open(CHANNEL, sh(RUNAWAYS)).unwrap();
    let pids = four_numbers(&mut host);
    assert!(pids.iter().all(|pid| is_alive(*pid)), "the probe itself does not work");
    host.ask(&Ask::Kill { channel: CHANNEL });
    loop {
        if let guest::protocol::Tell::Ended { ending, .. } = host.tell() {
            assert_eq!(ending, Ending::Killed);
            break;
        }
    }
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0);
}

#[test]
fn a_program_whose_time_is_over_leaves_nothing_behind() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let limited = Program { wall_millis: 700, ..program(&["sh", "-c", RUNAWAYS]) };
    host.open(CHANNEL, Job::Program(limited)).unwrap();
    let pids = four_numbers(&mut host);
    loop {
        if let guest::protocol::Tell::Ended { ending, .. } = host.tell() {
            assert_eq!(ending, Ending::TimedOut);
            break;
        }
    }
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0);
}

#[test]
fn a_fork_bomb_can_be_killed_and_does_not_silence_the_guest() {
    let guest = Guest::start();
    let mut host = guest.connect();
    // Bounded in number, not in time.
    let bomb = "i=0; while [ $i -lt 20 ]; do sh -c 'while :; do sleep 0.001 & wait; done' & i=$((i+1)); done; wait";
    host.open(CHANNEL, sh(bomb)).unwrap();
    for nonce in 0..50 {
        host.ping(nonce);
    }
    host.ask(&Ask::Kill { channel: CHANNEL });
    assert_eq!(host.finish(CHANNEL, 0).ending(), Ending::Killed);
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", guest.process.id()))
            .unwrap();
    assert_eq!(children.trim(), "");
}

#[test]
fn children_of_a_program_that_ended_live_on_and_do_not_hold_it_up() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let begun = Instant::now();
    let said = host.sh("sleep 30 & echo $!; exit 3");
    assert_eq!(said.ending(), Ending::Exited(3));
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "it waited for the child that holds the pipe"
    );
    let pid: u32 = said.out().trim().parse().unwrap();
    assert!(is_alive(pid));
    host.sh(&format!("kill {pid}"));
}

#[test]
fn input_is_streamed_to_its_end() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let input: Vec<u8> = (0..3_000_000_u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let said = host.play(Job::Program(program(&["cat"])), &input);
    assert!(said.out == input);
    assert_eq!(said.ending(), Ending::Exited(0));
}

#[test]
fn input_that_nobody_reads_is_thrown_away() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let input = vec![b'x'; 1_000_000];
    let said = host.play(sh("exec 0<&-; sleep 0.2; echo done"), &input);
    assert_eq!((said.out().as_str(), said.ending()), ("done\n", Ending::Exited(0)));
}

#[test]
fn output_beyond_the_limit_is_dropped_and_counted() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let limited =
        Program { output_limit: 1000, ..program(&["head", "-c", "5000000", "/dev/zero"]) };
    let said = host.play(Job::Program(limited), b"");
    assert_eq!((said.out.len(), said.dropped), (1000, 4_999_000));
    assert_eq!(said.ending(), Ending::Exited(0));
}

#[test]
fn a_program_that_sweeps_leaves_nobody_behind() {
    let guest = Guest::start();
    let mut host = guest.connect();
    // A family of all kinds: in the background, of another session, deaf, and holding on to the output.
    let script = "sleep 987 & (trap '' TERM HUP INT; setsid sleep 987 & setsid sh -c 'sleep 987; :' >/dev/null 2>&1 &); echo done; exit 3";
    let left = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let said = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
        said.filter(|it| it.starts_with(b"sleep\x00987\0")).count()
    };
    for _ in 0..3 {
        let sweeping = Program { sweeps: true, ..program(&["sh", "-c", script]) };
        let said = host.play(Job::Program(sweeping), b"");
        assert_eq!((said.out().as_str(), said.ending()), ("done\n", Ending::Exited(3)));
        assert_eq!(left(), 0);
    }
    let quick = Program { sweeps: true, ..program(&["true"]) };
    assert_eq!(host.play(Job::Program(quick), b"").ending(), Ending::Exited(0));
    let missing = Program { sweeps: true, ..program(&["no-such-program"]) };
    assert!(host.open(CHANNEL, Job::Program(missing)).is_err());
}

#[test]
fn a_terminal_has_a_size_that_can_change() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let size = Size { columns: 100, rows: 30 };
    let script =
        "trap 'stty size; exit 4' WINCH; tty >/dev/null && stty size; while :; do sleep 0.05; done";
    host.open(CHANNEL, terminal(script, size)).unwrap();
    host.credit(CHANNEL, 0);
    let mut first = Vec::new();
    while !first.ends_with(b"\n") {
        if let guest::protocol::Tell::Output { bytes, .. } = host.tell() {
            first.extend(bytes);
        }
    }
    assert_eq!(first, b"30 100\r\n");
    host.ask(&Ask::Resize { channel: CHANNEL, size: Size { columns: 132, rows: 43 } });
    let said = host.finish(CHANNEL, first.len() as u64);
    assert_eq!((said.out().as_str(), said.ending()), ("43 132\r\n", Ending::Exited(4)));
}

#[test]
fn the_end_of_input_reaches_a_program_on_a_terminal() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let size = Size { columns: 80, rows: 24 };
    for (input, lines) in [("one\ntwo\n", "2"), ("one\nunfinished", "1"), ("", "0")] {
        let said = host.play(terminal("stty -echo; wc -l", size), input.as_bytes());
        // The terminal may have echoed before it was told not to.
        assert!(said.out().trim().ends_with(lines), "{input:?}: {}", said.out());
        assert_eq!(said.ending(), Ending::Exited(0));
    }
}

#[test]
fn a_terminal_is_the_controlling_one() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let size = Size { columns: 80, rows: 24 };
    // Ctrl-C as a person types it.
    let said = host.play(terminal("stty -echo; (echo hello >/dev/tty); sleep 100", size), b"\x03");
    assert!(said.out().contains("hello") || said.ending() == Ending::Signaled(libc::SIGINT));
    assert_eq!(said.ending(), Ending::Signaled(libc::SIGINT));
}
