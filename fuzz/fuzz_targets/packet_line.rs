//! The lines of git, and a push and a fetch in them: nothing is passed on but what came, in its order, and nothing before it is allowed.
#![no_main]

use proxy::{
    git::{
        commands::{self, COMMAND_LIMIT, LIST_LIMIT},
        fetch::Fetch,
        pack::KEPT_LIMIT,
        push::{Allowed, Push},
    },
    readers::packet_line::{self, LINE_LIMIT, Packet},
};
use libfuzzer_sys::fuzz_target;

const BRANCH: &str = "agent/fix";
const MOST_PACK: u64 = 2000;

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let cut = usize::from(*cut).max(1);
    lines(bytes);
    list(bytes);
    pushes(bytes, cut);
    for encoding in [None, Some("gzip")] {
        assert_eq!(fetched(encoding, bytes, bytes.len().max(1)), fetched(encoding, bytes, cut));
    }
    const { assert!(KEPT_LIMIT < 1 << 30) };
});

fn lines(mut bytes: &[u8]) {
    while let Ok(Some((packet, used))) = packet_line::read(bytes) {
        assert!((4..=LINE_LIMIT).contains(&used) && used <= bytes.len());
        if let Packet::Line(line) = packet {
            let mut written = Vec::new();
            packet_line::write(line, &mut written).expect("it was read");
            assert_eq!(written, &bytes[..used], "there is one way to write a line");
        }
        bytes = &bytes[used..];
    }
}

fn list(bytes: &[u8]) {
    let Ok(Some((list, used))) = commands::read(bytes) else { return };
    assert!(used <= bytes.len() && used <= LIST_LIMIT && bytes[..used].ends_with(b"0000"));
    assert!(list.commands.len() <= COMMAND_LIMIT);
    assert_eq!(commands::is_whole(bytes, &mut 0), Ok(true));
    for command in &list.commands {
        assert!(command.reference.starts_with("refs/"));
        assert!(!command.reference.contains(char::is_whitespace));
        assert_eq!(command.old.as_str().len(), 2 * list.format.bytes());
        assert_eq!(command.new.as_str().len(), 2 * list.format.bytes());
    }
}

fn pushes(bytes: &[u8], cut: usize) {
    let one = pushed(bytes, bytes.len().max(1));
    let other = pushed(bytes, cut);
    assert_eq!(one.is_some(), other.is_some(), "it does not matter how bytes arrive");
    if let (Some(one), Some(other)) = (one, other) {
        assert_eq!(
            (one.as_slice(), other.as_slice()),
            (bytes, bytes),
            "all of it, and nothing else"
        );
    }
}

/// All that was passed on, if the push was carried to its end.
fn pushed(bytes: &[u8], cut: usize) -> Option<Vec<u8>> {
    let allowed = Allowed { branches: vec![BRANCH.to_owned()], most_pack: MOST_PACK };
    let mut push = Push::new(allowed, None).expect("it is not compressed");
    let mut given = Vec::new();
    let carried = bytes.chunks(cut).try_for_each(|piece| {
        given.extend(push.read(piece)?);
        Ok::<_, proxy::git::push::PushError>(())
    });
    assert!(bytes.starts_with(&given));
    if !given.is_empty() {
        let list = push.list().expect("nothing is given before the list was read");
        for command in &list.commands {
            assert_eq!(command.reference.strip_prefix("refs/heads/"), Some(BRANCH));
            assert!(!command.new.is_zero());
        }
    }
    match carried.and_then(|()| push.finish()) {
        Ok(last) => {
            given.extend(last);
            Some(given)
        }
        Err(_) => {
            let list = commands::read(bytes).ok().flatten().map_or(0, |(_, used)| used);
            assert!(
                given.len() <= list || given.len() + 20 <= bytes.len(),
                "of what was refused, the server never gets the end"
            );
            None
        }
    }
}

fn fetched(encoding: Option<&str>, bytes: &[u8], cut: usize) -> bool {
    let mut fetch = Fetch::new(encoding).expect("git uses it");
    bytes.chunks(cut).all(|piece| fetch.read(piece).is_ok()) && fetch.finish().is_ok()
}
