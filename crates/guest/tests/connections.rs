//! Hosts come and go, are slow, or talk nonsense; jobs go on.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Write;

use guest::protocol::{
    Ask, CHANNELS, ChannelId, Ending, Job, RING, Refusal, Stream, Tell, VERSION, encode,
};
use support::{CHANNEL, Guest, program, sh};

/// Numbers, one per line, as `seq` writes them.
fn numbers(count: usize) -> Vec<u8> {
    (1..=count).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

#[test]
fn output_is_neither_lost_nor_doubled_over_many_connections() {
    let guest = Guest::start();
    let count = 400_000;
    guest.connect().open(CHANNEL, Job::Program(program(&["seq", &count.to_string()]))).unwrap();
    let mut all: Vec<u8> = Vec::new();
    // Every connection reads a little, then vanishes in the middle of whatever it was told.
    for turn in 1..20_usize {
        let mut host = guest.connect();
        host.ask(&Ask::Attach { channel: CHANNEL, from: all.len() as u64 });
        host.opened(CHANNEL).unwrap();
        let taken = all.len() as u64;
        host.ask(&Ask::Credit { channel: CHANNEL, taken, upto: taken + 100_000 });
        for _ in 0..turn % 4 {
            if let Tell::Output { offset, bytes, .. } = host.tell() {
                assert_eq!(offset, all.len() as u64);
                all.extend(bytes);
            }
        }
    }
    let mut host = guest.connect();
    host.ask(&Ask::Attach { channel: CHANNEL, from: all.len() as u64 });
    host.opened(CHANNEL).unwrap();
    let said = host.finish(CHANNEL, all.len() as u64);
    all.extend(said.out);
    assert!(all == numbers(count));
}

#[test]
fn a_program_waits_while_nobody_listens_and_can_be_found_again() {
    let guest = Guest::start();
    let mut host = guest.connect();
    host.open(CHANNEL, sh("head -c 2000000 /dev/zero; echo done >&2")).unwrap();
    drop(host);
    let mut host = guest.connect();
    loop {
        host.ask(&Ask::Channels);
        let Tell::Channels(states) = host.tell() else { continue };
        let state = states.first().unwrap();
        assert_eq!((state.channel, state.tag.as_str(), state.kept_from), (CHANNEL, "test 1", 0));
        assert!(!state.ended, "two megabytes do not fit into the ring");
        if state.output == RING as u64 {
            break;
        }
    }
    host.ask(&Ask::Attach { channel: CHANNEL, from: 0 });
    host.opened(CHANNEL).unwrap();
    let said = host.finish(CHANNEL, 0);
    assert_eq!((said.out.len(), said.error().as_str()), (2_000_000, "done\n"));
}

#[test]
fn an_end_is_told_to_whoever_asks_until_it_is_forgotten() {
    let guest = Guest::start();
    let mut host = guest.connect();
    host.open(CHANNEL, sh("echo x; exit 5")).unwrap();
    assert_eq!(host.finish(CHANNEL, 0).ending(), Ending::Exited(5));
    let mut host = guest.connect();
    host.ask(&Ask::Attach { channel: CHANNEL, from: 2 });
    host.opened(CHANNEL).unwrap();
    assert_eq!(host.finish(CHANNEL, 2).ending(), Ending::Exited(5));
    host.ask(&Ask::Forget { channel: CHANNEL });
    host.ask(&Ask::Attach { channel: CHANNEL, from: 0 });
    assert_eq!(host.opened(CHANNEL), Err(Refusal::UnknownChannel));
}

#[test]
fn a_hundred_megabytes_for_a_slow_reader_need_little_memory() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let (total, mut taken) = (100 * 1024 * 1024_u64, 0);
    host.open(CHANNEL, Job::Program(program(&["head", "-c", &total.to_string(), "/dev/zero"])))
        .unwrap();
    let before = guest.private_kib();
    let mut most = 0;
    host.credit(CHANNEL, 0);
    while taken < total {
        if let Tell::Output { offset, bytes, .. } = host.tell() {
            assert_eq!(offset, taken);
            taken += bytes.len() as u64;
            host.credit(CHANNEL, taken);
            if taken % 64 < 2 {
                most = most.max(guest.private_kib());
            }
        }
    }
    assert_eq!(host.finish(CHANNEL, taken).ending(), Ending::Exited(0));
    assert!(most < before + 2048, "{before} KiB grew to {most} KiB");
}

#[test]
fn a_new_connection_takes_the_place_of_the_old() {
    let guest = Guest::start();
    let mut old = guest.connect();
    let mut new = guest.connect();
    new.ping(1);
    assert_eq!(old.try_tell(), None);
}

#[test]
fn nonsense_ends_the_connection_and_nothing_else() {
    let guest = Guest::start();
    guest.connect().open(CHANNEL, sh("sleep 1000")).unwrap();
    let wrong_version = encode(&Ask::Hello { version: VERSION + 1 }).unwrap();
    let no_hello = encode(&Ask::Channels).unwrap();
    let cases: [&[u8]; 6] = [
        &[0xff; 64],
        &[0xff, 0xff, 0xff, 0x7f],
        &[3, 0, 0, 0, 200, 1, 1],
        &[0, 0, 0, 0],
        &wrong_version,
        &no_hello,
    ];
    for nonsense in cases {
        let mut host = guest.dial();
        host.stream.write_all(nonsense).unwrap();
        while let Some(tell) = host.try_tell() {
            assert_eq!(tell, Tell::Hello { version: VERSION }, "{nonsense:?}");
        }
        let mut host = guest.connect();
        host.stream.write_all(nonsense).unwrap();
        let mut host = guest.connect();
        host.ask(&Ask::Channels);
        assert!(
            matches!(host.tell(), Tell::Channels(states) if states.len() == 1 && !states[0].ended)
        );
    }
}

#[test]
fn there_are_only_so_many_channels() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let job = Job::Program(program(&["true"]));
    for id in (0..u32::try_from(CHANNELS).unwrap()).map(ChannelId) {
        host.ask(&Ask::Open { channel: id, tag: "t".repeat(128), job: job.clone() });
        host.opened(id).unwrap();
    }
    let one_more = ChannelId(u32::MAX);
    assert_eq!(host.open(one_more, sh("true")), Err(Refusal::TooManyChannels));
    assert_eq!(host.open(ChannelId(3), sh("true")), Err(Refusal::ChannelInUse));
    host.ask(&Ask::Channels);
    loop {
        if let Tell::Channels(states) = host.tell() {
            assert_eq!(states.len(), CHANNELS);
            break;
        }
    }
    host.ask(&Ask::Attach { channel: ChannelId(3), from: 0 });
    host.opened(ChannelId(3)).unwrap();
    assert_eq!(host.finish(ChannelId(3), 0).ending(), Ending::Exited(0));
    host.ask(&Ask::Forget { channel: ChannelId(3) });
    assert_eq!(host.open(one_more, sh("true")), Ok(()));
}

#[test]
fn many_programs_at_once_get_their_own_output() {
    let guest = Guest::start();
    let mut host = guest.connect();
    for id in 0..40_u32 {
        let script = format!("seq {id} 1 20000; exit {id}");
        host.ask(&Ask::Open { channel: ChannelId(id), tag: String::new(), job: sh(&script) });
        host.credit(ChannelId(id), 0);
    }
    let mut heard = vec![(Vec::new(), None); 40];
    while heard.iter().any(|(_, ending)| ending.is_none()) {
        match host.tell() {
            Tell::Output { channel, stream: Stream::Out, bytes, .. } => {
                let out = &mut heard[channel.0 as usize].0;
                out.extend(bytes);
                let taken = out.len() as u64;
                host.credit(channel, taken);
            }
            Tell::Ended { channel, ending, .. } => heard[channel.0 as usize].1 = Some(ending),
            Tell::Opened { .. } | Tell::InputCredit { .. } => {}
            other @ (Tell::Output { .. }
            | Tell::Hello { .. }
            | Tell::Refused { .. }
            | Tell::Channels(_)
            | Tell::Pong { .. }) => assert_eq!(format!("{other:?}"), "something expected"),
        }
    }
    for (id, (out, ending)) in (0_i32..).zip(heard) {
        let expected: Vec<u8> =
            (id..=20_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        assert!(out == expected, "channel {id}");
        assert_eq!(ending, Some(Ending::Exited(id)));
    }
}

#[test]
fn a_guest_ends_by_itself_when_its_time_is_over() {
    let mut guest = Guest::start_with(&["--lifetime-millis=300"]);
    guest.connect().ping(1);
    assert!(guest.process.wait().unwrap().success());
}

#[test]
fn an_idle_guest_is_small() {
    let guest = Guest::start();
    let mut host = guest.connect();
    host.sh("head -c 3000000 /dev/zero");
    host.ping(1);
    let rollup =
        std::fs::read_to_string(format!("/proc/{}/smaps_rollup", guest.process.id())).unwrap();
    let dirty = rollup.lines().find(|line| line.starts_with("Private_Dirty")).unwrap();
    let kib: u64 = dirty.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 500, "{dirty}");
}
