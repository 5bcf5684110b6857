//! Connections to ports inside.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener},
    thread,
};

use guest::protocol::{Ask, Ending, Job, Refusal};
use support::{CHANNEL, Guest};

#[test]
fn bytes_go_both_ways_and_each_way_ends_by_itself() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            // Only the end of the host's side ends this.
            socket.read_to_end(&mut heard).unwrap();
            socket.write_all(&heard.iter().rev().copied().collect::<Vec<u8>>()).unwrap();
            socket.shutdown(Shutdown::Both).unwrap();
        });
        let guest = Guest::start();
        let message: Vec<u8> = (0..500_000_u32).map(|i| u8::try_from(i % 253).unwrap()).collect();
        let said = guest.connect().play(Job::Forward { port }, &message);
        assert!(said.out.iter().rev().eq(message.iter()));
        assert_eq!(said.ending(), Ending::Exited(0));
        server.join().unwrap();
    }
}

#[test]
fn a_port_where_nobody_listens_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let guest = Guest::start();
    let refusal = guest.connect().open(CHANNEL, Job::Forward { port }).unwrap_err();
    assert_eq!(refusal, Refusal::System { what: "connect".to_owned(), errno: libc::ECONNREFUSED });
}

#[test]
fn the_channel_ends_when_the_program_closes_or_the_host_kills() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let guest = Guest::start();
    let mut host = guest.connect();
    host.open(CHANNEL, Job::Forward { port }).unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    socket.write_all(b"bye").unwrap();
    drop(socket);
    let said = host.finish(CHANNEL, 0);
    assert_eq!((said.out().as_str(), said.ending()), ("bye", Ending::Exited(0)));

    host.ask(&Ask::Forget { channel: CHANNEL });
    host.open(CHANNEL, Job::Forward { port }).unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    host.ask(&Ask::Kill { channel: CHANNEL });
    assert_eq!(host.finish(CHANNEL, 0).ending(), Ending::Killed);
    assert_eq!(socket.read(&mut [0; 8]).unwrap(), 0);
}
