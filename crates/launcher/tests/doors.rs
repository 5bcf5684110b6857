//! Sockets in the network of a sandbox, looked at from both sides.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod world;

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, UdpSocket},
    os::fd::OwnedFd,
};

use launcher::plan::{Answer, Doors, Doorway, Order, Reached, Transport};
use world::{Runner, World, run, runners};

const WEB: Doorway = Doorway { transport: Transport::Tcp, reached: Reached::AnyAddress, port: 443 };
const PROXY: Doorway =
    Doorway { transport: Transport::Tcp, reached: Reached::Loopback, port: 3128 };
const NAMES: Doorway = Doorway { transport: Transport::Udp, reached: Reached::Loopback, port: 53 };

/// A sandbox, and the order that opens its doors.
fn sandbox(world: &mut World, doors: &[Doorway]) -> (launcher::plan::Launch, Doors) {
    let plan = world.plan();
    let answer = world.order(&Order::Launch(Box::new(plan.clone())));
    let Answer::Launched { pid, started } = answer else { panic!("{answer:?}") };
    (plan, Doors { pid, started, doors: doors.to_vec() })
}

fn listener(socket: OwnedFd) -> TcpListener {
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(false).unwrap();
    listener
}

#[test]
fn whoever_connects_to_any_address_arrives_at_the_door_with_the_address_that_was_meant() {
    for runner in runners() {
        let mut world = World::new(runner);
        let (plan, order) = sandbox(&mut world, &[WEB, PROXY, NAMES]);
        let unreachable = "bash -c '(echo > /dev/tcp/203.0.113.7/443) 2>&1'; true";
        let before = run(&plan, unreachable);
        assert!(before.contains("Network is unreachable"), "{before}");
        let mut doors = world.doors(&order).unwrap().into_iter();
        let web = listener(doors.next().unwrap().1);
        let proxy = listener(doors.next().unwrap().1);
        let names = UdpSocket::from(doors.next().unwrap().1);
        assert!(doors.next().is_none());

        for (address, meant) in [
            ("203.0.113.7", "[::ffff:203.0.113.7]:443"),
            ("2001:db8::7", "[2001:db8::7]:443"),
            ("127.0.0.1", "[::ffff:127.0.0.1]:443"),
        ] {
            let script = format!("bash -c 'exec 3<>/dev/tcp/{address}/443; echo hello >&3'");
            run(&plan, &script);
            let (mut caller, _from) = web.accept().unwrap();
            assert_eq!(caller.local_addr().unwrap(), meant.parse::<SocketAddr>().unwrap());
            let mut said = String::new();
            caller.read_to_string(&mut said).unwrap();
            assert_eq!(said, "hello\n");
        }

        let asking = std::thread::spawn({
            let plan = plan.clone();
            move || run(&plan, "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; cat <&3'")
        });
        proxy.accept().unwrap().0.write_all(b"come in").unwrap();
        assert_eq!(asking.join().unwrap(), "come in");

        run(&plan, "bash -c 'echo -n who > /dev/udp/127.0.0.1/53'");
        names.set_nonblocking(false).unwrap();
        let mut question = [0; 16];
        let (length, _from) = names.recv_from(&mut question).unwrap();
        assert_eq!(question.get(..length).unwrap(), b"who");
    }
}

#[test]
fn where_there_is_no_door_nothing_is_reached() {
    for runner in runners() {
        let mut world = World::new(runner);
        let (plan, order) = sandbox(&mut world, &[WEB]);
        let _doors = world.doors(&order).unwrap();
        for target in ["203.0.113.7/22", "127.0.0.1/80", "192.168.1.1/80", "169.254.169.254/80"] {
            let script = format!("bash -c '(echo > /dev/tcp/{target}) 2>&1'; true");
            let told = run(&plan, &script);
            assert!(told.contains("Connection refused"), "{target}: {told}");
        }
        // A canary on the host's own loopback hears nothing, though the address is the same.
        let canary = TcpListener::bind("127.0.0.1:0").unwrap();
        canary.set_nonblocking(true).unwrap();
        let port = canary.local_addr().unwrap().port();
        run(&plan, &format!("bash -c '(echo > /dev/tcp/127.0.0.1/{port}) 2>&1'; true"));
        assert_eq!(canary.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[test]
fn doors_are_opened_again_when_the_old_ones_are_closed_and_skipped_while_they_are_not() {
    for runner in runners() {
        let mut world = World::new(runner);
        let (plan, order) = sandbox(&mut world, &[WEB, PROXY]);
        let first = world.doors(&order).unwrap();
        assert_eq!(first.len(), 2);
        assert_eq!(world.doors(&order).unwrap().len(), 0, "both are taken");
        drop(first);
        let again = world.doors(&order).unwrap();
        assert_eq!(again.len(), 2);
        drop(again);
        let told = run(&plan, "bash -c '(echo > /dev/tcp/203.0.113.7/443) 2>&1'; true");
        assert!(told.contains("Connection refused"), "{told}");
    }
}

#[test]
fn only_the_very_process_that_was_meant_gets_doors() {
    let mut world = World::new(if rustix::process::geteuid().is_root() {
        Runner::Root
    } else {
        Runner::Ordinary
    });
    let (_plan, order) = sandbox(&mut world, &[WEB]);
    let other = Doors { started: order.started + 1, ..order.clone() };
    let failure = world.doors(&other).unwrap_err();
    assert_eq!(failure.to_string(), "enter the network of the sandbox: the process has ended");
    let nobody = Doors { pid: 0, ..order };
    assert!(world.doors(&nobody).is_err());
}
