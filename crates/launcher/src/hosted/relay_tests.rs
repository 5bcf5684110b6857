//! Servers that come and go, and a guest that must not notice.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    thread,
};

use super::*;

const LIMIT: usize = 64;

const HELLO: &[u8] = &[2, 0, 0, 0, 0, 1];

fn frame(kind: u8, text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len() + 1).unwrap();
    [&length.to_le_bytes()[..], &[kind], text].concat()
}

struct Guest {
    input: UnixStream,
    output: UnixStream,
}

impl Guest {
    fn hears(&mut self, expected: &[u8]) {
        let mut bytes = vec![0; expected.len()];
        self.input.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, expected);
    }

    fn says(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).unwrap();
    }
}

/// A relay at work, whose guest was greeted.
fn started(directory: &std::path::Path) -> (Guest, thread::JoinHandle<Over>) {
    let listener = UnixListener::bind(directory.join("sock")).unwrap();
    let (to_guest, input) = UnixStream::pair().unwrap();
    let (output, from_guest) = UnixStream::pair().unwrap();
    let mut guest = Guest { input, output };
    let mut relay = Relay::new(listener.into(), to_guest.into(), from_guest.into(), LIMIT).unwrap();
    let running = thread::spawn(move || {
        let greeted = relay.greet(HELLO, &Timespec { tv_sec: 10, tv_nsec: 0 });
        greeted.map_or_else(|over| over, |()| relay.run())
    });
    guest.hears(HELLO);
    guest.says(HELLO);
    (guest, running)
}

fn hears(server: &mut UnixStream, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    server.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, expected);
}

#[test]
fn half_a_frame_of_a_dead_server_never_reaches_the_guest() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, running) = started(directory.path());
    let connect = || UnixStream::connect(directory.path().join("sock")).unwrap();

    let mut first = connect();
    first.write_all(HELLO).unwrap();
    guest.hears(HELLO);
    guest.says(HELLO);
    hears(&mut first, HELLO);
    let whole = frame(3, b"whole");
    first.write_all(&whole).unwrap();
    first.write_all(&frame(4, b"half")[..6]).unwrap();
    guest.hears(&whole);
    drop(first);

    let mut second = connect();
    second.write_all(HELLO).unwrap();
    guest.hears(HELLO);
    drop(guest);
    drop(second);
    running.join().unwrap();
}

#[test]
fn a_server_hears_nothing_that_was_said_to_another() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, running) = started(directory.path());
    let connect = || UnixStream::connect(directory.path().join("sock")).unwrap();

    let mut first = connect();
    first.write_all(HELLO).unwrap();
    guest.hears(HELLO);
    let mut second = connect();
    second.write_all(HELLO).unwrap();
    guest.hears(HELLO);
    // The answer to the first greeting, and what else the guest had for the first server.
    guest.says(&[HELLO, &frame(5, b"for the first")].concat());
    guest.says(&[HELLO, &frame(5, b"for the second")].concat());
    hears(&mut second, HELLO);
    hears(&mut second, &frame(5, b"for the second"));
    drop(guest);
    running.join().unwrap();
}

#[test]
fn a_guest_whose_frames_cannot_be_read_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, running) = started(directory.path());
    guest.says(&u32::MAX.to_le_bytes());
    running.join().unwrap();
}

#[test]
fn a_server_whose_frames_cannot_be_read_is_hung_up_on() {
    let directory = tempfile::tempdir().unwrap();
    let (guest, running) = started(directory.path());
    let mut server = UnixStream::connect(directory.path().join("sock")).unwrap();
    server.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert_eq!(server.read(&mut [0]).unwrap_or(0), 0);
    drop(guest);
    running.join().unwrap();
}
