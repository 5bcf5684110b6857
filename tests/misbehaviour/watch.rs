//! Somebody else, who asks the server again and again while others flood it; and how much the server has grown.

use std::{
    fmt,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::fixture::Fixture;

/// Far more than an answer takes; one that takes longer never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// What server and gateway may grow by, in KiB.
const GROWTH_KIB: u64 = 200 * 1024;

/// What was seen meanwhile.
#[derive(Debug)]
pub(crate) struct Seen {
    answers: usize,
    slowest: Duration,
    server_kib: u64,
    gateway_kib: u64,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, slowest, server_kib, gateway_kib } = self;
        write!(
            f,
            "{answers} answers to others, the slowest after {} ms; the server grew by {} MiB, its gateway by {} MiB",
            slowest.as_millis(),
            server_kib / 1024,
            gateway_kib / 1024
        )
    }
}

/// Does something while somebody else asks, and fails if they get no answer or the server grows.
pub(crate) fn watched(fixture: &Fixture<'_>, what: &str, act: impl FnOnce()) {
    let (server, gateway) = fixture.house(|house| (house.pid(), house.gateway().unwrap()));
    let socket = fixture.socket();
    let is_over = AtomicBool::new(false);
    let before = (highest(server), highest(gateway));
    let mut seen = Seen { answers: 0, slowest: Duration::ZERO, server_kib: 0, gateway_kib: 0 };
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut answers = (0, Duration::ZERO);
            while !is_over.load(Ordering::Relaxed) {
                for path in ["/v1/health", "/v1/sandboxes"] {
                    let begin = Instant::now();
                    ask(&socket, path);
                    answers = (answers.0 + 1, answers.1.max(begin.elapsed()));
                }
                tests::internet::breathe();
            }
            answers
        });
        // Whoever asks has to hear of the end also when a row has failed.
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        is_over.store(true, Ordering::Relaxed);
        (seen.answers, seen.slowest) = asking.join().unwrap();
        if let Err(panic) = acted {
            std::panic::resume_unwind(panic);
        }
    });
    assert_eq!(fixture.house(|house| (house.pid(), house.gateway())), (server, Some(gateway)));
    seen.server_kib = highest(server).saturating_sub(before.0);
    seen.gateway_kib = highest(gateway).saturating_sub(before.1);
    println!("{what}: {seen}");
    assert!(seen.answers > 0, "nobody was answered");
    assert!(seen.server_kib < GROWTH_KIB && seen.gateway_kib < GROWTH_KIB, "{what}: {seen}");
}

fn ask(socket: &Path, path: &str) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap_or_else(|why| panic!("no answer to {path}: {why}"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// The most memory that a process ever had, in KiB.
fn highest(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
