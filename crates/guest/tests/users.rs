//! Who a program is, and what it cannot do to the guest. Needs root, to have users to become.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use guest::protocol::{Ending, FileJob, Job, Program, Refusal, Size, Who};
use unsupported::supported;

use support::{CHANNEL, Guest, program};

/// The user that agents are.
const AGENT: u32 = 1000;

fn world(users: &str) -> Result<Guest, &'static str> {
    if rustix::process::geteuid().is_root() {
        return Ok(Guest::start_inside(users));
    }
    Err("without root there are no users to become")
}

fn script(who: Who, script: &str) -> Job {
    Job::Program(Program { who, ..program(&["sh", "-c", script]) })
}

const STATUS: &str =
    "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t'";

#[test]
fn an_agent_is_nobody_special() {
    let guest = supported!(world("--users=range"));
    let said = guest.connect().play(script(Who::Agent, STATUS), b"");
    let nothing = "0000000000000000";
    let expected = format!(
        "1000\n1000\n1000\nCapInh:{nothing}\nCapPrm:{nothing}\nCapEff:{nothing}\nCapBnd:{nothing}\nCapAmb:{nothing}\nNoNewPrivs:1\n"
    );
    assert_eq!(said.out(), expected);
}

#[test]
fn root_has_power_over_files_users_and_ports_and_nothing_else() {
    let guest = supported!(world("--users=range"));
    let said = guest.connect().play(script(Who::Root, STATUS), b"");
    let ten = "00000000800404fb";
    let nothing = "0000000000000000";
    let expected = format!(
        "0\n0\n0\nCapInh:{nothing}\nCapPrm:{ten}\nCapEff:{ten}\nCapBnd:{ten}\nCapAmb:{nothing}\nNoNewPrivs:1\n"
    );
    assert_eq!(said.out(), expected);
}

#[test]
fn nobody_can_harm_the_guest() {
    let guest = supported!(world("--users=range"));
    let mut host = guest.connect();
    let attempts = "
        supervisor=$(awk '/^PPid/ {print $2}' /proc/$$/status)
        for pid in 1 $supervisor; do
            kill -9 $pid 2>/dev/null && echo killed $pid
            for file in mem environ fd maps auxv; do
                cat /proc/$pid/$file 2>/dev/null && echo read $pid $file
                ls /proc/$pid/$file/ 2>/dev/null && echo listed $pid $file
            done
        done
        kill -9 $$";
    let said = host.play(script(Who::Agent, attempts), b"");
    // The last line shows that the probe can kill what it may.
    assert_eq!((said.out().as_str(), said.ending()), ("", Ending::Signaled(libc::SIGKILL)));
    host.ping(1);
}

#[test]
fn not_even_root_ends_the_guest_and_who_kills_a_supervisor_is_killed() {
    let guest = supported!(world("--users=range"));
    let mut host = guest.connect();
    let said = host.play(script(Who::Root, "kill -9 1; cat /proc/1/environ; echo $?"), b"");
    assert_eq!(said.out(), "1\n");
    let patricide =
        "kill -9 $(awk '/^PPid/ {print $2}' /proc/$$/status); while :; do sleep 0.01; done";
    let said = host.play(script(Who::Root, patricide), b"");
    assert_eq!(said.ending(), Ending::Signaled(libc::SIGKILL));
    loop {
        // Pids that are left: the guest, the supervisor of `sh`, `sh` itself, and `ls`.
        let left = host.play(script(Who::Root, "ls -d /proc/[0-9]* | wc -l"), b"");
        if left.out().trim().parse::<u32>().unwrap() <= 5 {
            break;
        }
    }
    host.ping(1);
}

#[test]
fn an_agent_can_open_its_own_streams_by_name() {
    let guest = supported!(world("--users=range"));
    let mut host = guest.connect();
    let by_name = "echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/stdin";
    let said = host.play(script(Who::Agent, by_name), b"c");
    assert_eq!((said.out().as_str(), said.error().as_str()), ("a\nc", "b\n"));
    let terminal = Program {
        terminal: Some(Size { columns: 80, rows: 24 }),
        ..program(&["sh", "-c", "echo by name > $(tty)"])
    };
    assert_eq!(host.play(Job::Program(terminal), b"").out(), "by name\r\n");
}

#[test]
fn file_operations_have_the_rights_of_the_user() {
    let guest = supported!(world("--users=range"));
    let mut host = guest.connect();
    let mine = tempfile::tempdir().unwrap();
    let path = mine.path().join("secret").to_string_lossy().into_owned();
    std::fs::write(&path, "secret").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let read = |who| Job::File { who, job: FileJob::Read { path: path.clone() } };
    let denied = Ending::Failed { what: path.clone(), errno: libc::EACCES };
    assert_eq!(host.play(read(Who::Agent), b"").ending(), denied);
    assert_eq!(host.play(read(Who::Root), b"").out(), "secret");

    let theirs = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(theirs.path(), Some(AGENT), Some(AGENT)).unwrap();
    let path = theirs.path().join("new").to_string_lossy().into_owned();
    let write =
        Job::File { who: Who::Agent, job: FileJob::Write { path: path.clone(), mode: 0o6755 } };
    assert_eq!(host.play(write, b"content").ending(), Ending::Exited(0));
    let metadata = std::fs::metadata(path).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&metadata), AGENT);
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o7777, 0o755);
}

#[test]
fn a_sandbox_with_one_user_has_no_root() {
    let guest = supported!(world("--users=single"));
    let mut host = guest.connect();
    assert_eq!(host.open(CHANNEL, script(Who::Root, "true")), Err(Refusal::NoSuchUser));
    let file = Job::File { who: Who::Root, job: FileJob::Stat { path: "/".to_owned() } };
    assert_eq!(host.open(CHANNEL, file), Err(Refusal::NoSuchUser));
    let said = host.play(script(Who::Agent, "grep CapBnd /proc/self/status"), b"");
    assert_eq!(said.out(), "CapBnd:\t0000000000000000\n");
}
