//! The protocol over standard input and output, with a relay in between that outlives hosts.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use guest::protocol::{Ask, ChannelId, Decoder, Tell, VERSION, encode};

struct Relay {
    process: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    decoder: Decoder,
}

impl Relay {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_lamp-guest"))
            .args(["--outside", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take(), process.stdout.take().unwrap());
        Self { process, input, output, decoder: Decoder::default() }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn tell(&mut self) -> Tell {
        let mut buffer = [0; 4096];
        loop {
            if let Some(tell) = self.decoder.next().unwrap() {
                return tell;
            }
            let length = self.output.read(&mut buffer).unwrap();
            assert!(length > 0, "the guest hung up");
            self.decoder.push(&buffer[..length]);
        }
    }
}

#[test]
fn every_hello_begins_a_new_conversation() {
    let mut relay = Relay::start();
    let hello = encode(&Ask::Hello { version: VERSION }).unwrap();
    relay.send(&hello);
    assert_eq!(relay.tell(), Tell::Hello { version: VERSION });
    let unknown = Ask::Attach { channel: ChannelId(4), from: 0 };
    relay.send(&encode(&unknown).unwrap());
    assert!(matches!(relay.tell(), Tell::Refused { .. }));
    // Nonsense in a whole frame, an ask without a hello, another version: all are passed over.
    relay.send(&[3, 0, 0, 0, 200, 1, 1]);
    relay.send(&encode(&Ask::Channels).unwrap());
    relay.send(&encode(&Ask::Hello { version: VERSION + 1 }).unwrap());
    assert_eq!(relay.tell(), Tell::Hello { version: VERSION });
    relay.send(&hello);
    assert_eq!(relay.tell(), Tell::Hello { version: VERSION });
    relay.send(&encode(&Ask::Ping { nonce: 7 }).unwrap());
    assert_eq!(relay.tell(), Tell::Pong { nonce: 7 });
    relay.input = None;
    assert!(relay.process.wait().unwrap().success());
}
