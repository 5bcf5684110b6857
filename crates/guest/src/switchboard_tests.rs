//! The table against any host: whatever is asked, in whatever order, the promises of the protocol hold.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::protocol::{INPUT_WINDOW, Program, RING, Who};

fn program(output_limit: u64) -> Job {
    Job::Program(Program {
        argv: vec!["true".to_owned()],
        environment: Vec::new(),
        directory: "/".to_owned(),
        who: Who::Agent,
        terminal: None,
        wall_millis: 0,
        output_limit,
        sweeps: false,
    })
}

const ONE: ChannelId = ChannelId(1);

fn greeted() -> Switchboard {
    let mut board = Switchboard::default();
    board.ask(Ask::Hello { version: VERSION }).unwrap();
    assert_eq!(board.next_tell(), Some(Tell::Hello { version: VERSION }));
    board
}

fn running() -> Switchboard {
    let mut board = greeted();
    let open = Ask::Open { channel: ONE, tag: "one".to_owned(), job: program(u64::MAX) };
    assert!(matches!(board.ask(open).unwrap(), Act::Start { .. }));
    assert_eq!(board.next_tell(), None);
    board.started(ONE);
    assert_eq!(board.next_tell(), Some(Tell::Opened { channel: ONE }));
    assert_eq!(
        board.next_tell(),
        Some(Tell::InputCredit { channel: ONE, upto: INPUT_WINDOW as u64 })
    );
    board
}

#[test]
fn nothing_is_answered_before_a_hello() {
    let mut board = Switchboard::default();
    assert_eq!(board.ask(Ask::Channels), Err(Violation::NoHello));
    let other = Ask::Hello { version: VERSION + 1 };
    assert_eq!(board.ask(other), Err(Violation::Version { theirs: VERSION + 1 }));
    assert_eq!(board.ask(Ask::Channels), Err(Violation::NoHello));
    assert_eq!(board.next_tell(), None);
}

#[test]
fn output_waits_for_credit_and_the_end_waits_for_the_output() {
    let mut board = running();
    board.output(ONE, Stream::Out, b"hello");
    board.ended(ONE, Ending::Exited(0), Usage::default(), Unsent::Keep);
    assert_eq!(board.next_tell(), None);
    board.ask(Ask::Credit { channel: ONE, taken: 0, upto: 2 }).unwrap();
    let first =
        Tell::Output { channel: ONE, stream: Stream::Out, offset: 0, bytes: b"he".to_vec() };
    assert_eq!((board.next_tell(), board.next_tell()), (Some(first), None));
    board.ask(Ask::Credit { channel: ONE, taken: 2, upto: 100 }).unwrap();
    let second =
        Tell::Output { channel: ONE, stream: Stream::Out, offset: 2, bytes: b"llo".to_vec() };
    assert_eq!(board.next_tell(), Some(second));
    assert!(matches!(board.next_tell(), Some(Tell::Ended { output: 5, dropped: 0, .. })));
    assert_eq!(board.next_tell(), None);
}

#[test]
fn a_new_connection_gets_again_what_was_not_taken() {
    let mut board = running();
    board.ask(Ask::Credit { channel: ONE, taken: 0, upto: 100 }).unwrap();
    board.output(ONE, Stream::Out, b"hello");
    assert!(board.next_tell().is_some());
    board.ask(Ask::Credit { channel: ONE, taken: 2, upto: 100 }).unwrap();
    board.hang_up();
    assert_eq!(board.next_tell(), None);
    board.ask(Ask::Hello { version: VERSION }).unwrap();
    board.ask(Ask::Attach { channel: ONE, from: 1 }).unwrap();
    board.ask(Ask::Attach { channel: ONE, from: 3 }).unwrap();
    board.ask(Ask::Attach { channel: ChannelId(9), from: 0 }).unwrap();
    let told: Vec<Tell> = std::iter::from_fn(|| board.next_tell()).collect();
    let expected = [
        Tell::Hello { version: VERSION },
        Tell::Refused { channel: ONE, refusal: Refusal::TooLate { kept_from: 2 } },
        Tell::Opened { channel: ONE },
        Tell::Refused { channel: ChannelId(9), refusal: Refusal::UnknownChannel },
        Tell::InputCredit { channel: ONE, upto: INPUT_WINDOW as u64 },
        Tell::Output { channel: ONE, stream: Stream::Out, offset: 3, bytes: b"lo".to_vec() },
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_killed_channel_ends_without_being_read() {
    let mut board = running();
    board.output(ONE, Stream::Out, b"hello");
    board.ended(ONE, Ending::Killed, Usage::default(), Unsent::Discard);
    assert!(matches!(board.next_tell(), Some(Tell::Ended { output: 5, dropped: 5, .. })));
}

#[test]
fn a_channel_that_is_forgotten_too_early_is_killed_and_then_gone() {
    let mut board = running();
    assert_eq!(board.ask(Ask::Forget { channel: ONE }).unwrap(), Act::Kill { channel: ONE });
    board.ask(Ask::Channels).unwrap();
    assert_eq!(board.next_tell(), Some(Tell::Channels(Vec::new())));
    board.ended(ONE, Ending::Killed, Usage::default(), Unsent::Discard);
    assert_eq!(board.next_tell(), None);
    assert!(board.channels.is_empty());
}

#[test]
fn input_comes_once_and_in_order() {
    let mut board = running();
    let input = |offset, bytes: &[u8]| Ask::Input { channel: ONE, offset, bytes: bytes.to_vec() };
    board.ask(input(0, b"abc")).unwrap();
    board.ask(input(1, b"bcde")).unwrap();
    board.ask(input(0, b"a")).unwrap();
    assert_eq!(board.input(ONE).unwrap().waiting(), b"abcde");
    assert!(matches!(board.ask(input(6, b"x")), Err(Violation::Gap(_))));
}

#[test]
fn there_are_only_so_many_channels() {
    let mut board = greeted();
    for id in 0..u32::try_from(CHANNELS).unwrap() {
        let open = Ask::Open { channel: ChannelId(id), tag: String::new(), job: program(0) };
        assert!(matches!(board.ask(open).unwrap(), Act::Start { .. }));
    }
    let one_more = Ask::Open { channel: ChannelId(u32::MAX), tag: String::new(), job: program(0) };
    assert_eq!(board.ask(one_more).unwrap(), Act::Nothing);
    assert!(matches!(
        board.next_tell(),
        Some(Tell::Refused { refusal: Refusal::TooManyChannels, .. })
    ));
    let again = Ask::Open { channel: ChannelId(0), tag: String::new(), job: program(0) };
    board.ask(again).unwrap();
    assert!(matches!(
        board.next_tell(),
        Some(Tell::Refused { refusal: Refusal::ChannelInUse, .. })
    ));
}

#[test]
fn all_rings_together_stay_small() {
    let mut board = greeted();
    for id in (0..500).map(ChannelId) {
        board.ask(Ask::Open { channel: id, tag: String::new(), job: program(u64::MAX) }).unwrap();
        board.started(id);
        while board.room(id) > 0 {
            let bytes = vec![0; board.room(id)];
            board.output(id, Stream::Out, &bytes);
        }
    }
    assert!(board.kept <= KEPT + RING + 500 * KEPT_EACH, "{}", board.kept);
}

/// What a host may ask, and what may become of its jobs meanwhile.
#[derive(Debug, Clone)]
enum Turn {
    Ask(Ask),
    HangUp,
    Started(ChannelId),
    Refused(ChannelId),
    Output(ChannelId, Stream, usize),
    Written(ChannelId, usize),
    Ended(ChannelId, bool),
    Listen(usize),
}

fn turns() -> impl Strategy<Value = Turn> {
    let id = || (0_u32..4).prop_map(ChannelId);
    let stream = prop_oneof![Just(Stream::Out), Just(Stream::Error)];
    let number = || prop_oneof![0_u64..100_000, any::<u64>()];
    prop_oneof![
        1 => Just(Turn::Ask(Ask::Hello { version: VERSION })),
        3 => (id(), number()).prop_map(|(channel, limit)| {
            Turn::Ask(Ask::Open { channel, tag: String::new(), job: program(limit) })
        }),
        2 => (id(), number()).prop_map(|(channel, from)| Turn::Ask(Ask::Attach { channel, from })),
        3 => (id(), number(), 0_usize..40_000).prop_map(|(channel, offset, length)| {
            Turn::Ask(Ask::Input { channel, offset, bytes: vec![1; length] })
        }),
        3 => (id(), 0_usize..40_000).prop_map(|(channel, length)| {
            Turn::Ask(Ask::Input { channel, offset: 0, bytes: vec![1; length] })
        }),
        1 => id().prop_map(|channel| Turn::Ask(Ask::EndInput { channel })),
        4 => (id(), number(), number()).prop_map(|(channel, taken, upto)| {
            Turn::Ask(Ask::Credit { channel, taken, upto })
        }),
        1 => id().prop_map(|channel| Turn::Ask(Ask::Kill { channel })),
        1 => id().prop_map(|channel| Turn::Ask(Ask::Forget { channel })),
        1 => Just(Turn::Ask(Ask::Channels)),
        1 => any::<u64>().prop_map(|nonce| Turn::Ask(Ask::Ping { nonce })),
        1 => Just(Turn::HangUp),
        4 => id().prop_map(Turn::Started),
        1 => id().prop_map(Turn::Refused),
        8 => (id(), stream, 0_usize..40_000).prop_map(|(id, stream, length)| Turn::Output(id, stream, length)),
        3 => (id(), 0_usize..40_000).prop_map(|(id, length)| Turn::Written(id, length)),
        2 => (id(), any::<bool>()).prop_map(|(id, discard)| Turn::Ended(id, discard)),
        8 => (0_usize..20).prop_map(Turn::Listen),
    ]
}

/// What a host knows of a channel on this connection.
#[derive(Debug, Default)]
struct Heard {
    next: Option<u64>,
    upto: u64,
    input_upto: u64,
    ended: bool,
}

proptest! {
    #[test]
    fn no_host_and_no_program_can_break_the_table(turns in proptest::collection::vec(turns(), 0..200)) {
        let mut board = greeted();
        let mut heard: BTreeMap<ChannelId, Heard> = BTreeMap::new();
        for turn in turns {
            match turn {
                Turn::Ask(ask) => {
                    match &ask {
                        Ask::Hello { .. } => lose_places(&mut heard),
                        // Credit for a channel that is not there is lost.
                        Ask::Credit { channel, upto, .. } if board.channels.contains_key(channel) => {
                            let known = heard.entry(*channel).or_default();
                            known.upto = known.upto.max(*upto);
                        }
                        Ask::Attach { channel, .. } => heard.entry(*channel).or_default().next = None,
                        Ask::Forget { channel } => {
                            heard.remove(channel);
                        }
                        Ask::Credit { .. }
                        | Ask::Open { .. }
                        | Ask::Input { .. }
                        | Ask::EndInput { .. }
                        | Ask::Signal { .. }
                        | Ask::Resize { .. }
                        | Ask::Kill { .. }
                        | Ask::Channels
                        | Ask::Ping { .. } => {}
                    }
                    // A violation ends the connection; the next one begins with a hello.
                    if board.ask(ask).is_err() {
                        board.hang_up();
                        lose_places(&mut heard);
                        board.ask(Ask::Hello { version: VERSION }).unwrap();
                    }
                }
                Turn::HangUp => {
                    board.hang_up();
                    lose_places(&mut heard);
                    prop_assert_eq!(board.next_tell(), None);
                    board.ask(Ask::Hello { version: VERSION }).unwrap();
                }
                Turn::Started(id) => board.started(id),
                Turn::Refused(id) => {
                    if board.channels.get(&id).is_some_and(|known| matches!(known.phase, Phase::Starting)) {
                        board.refused(id, Refusal::NoSuchUser);
                        heard.remove(&id);
                    }
                }
                Turn::Output(id, stream, length) => {
                    let length = length.min(board.room(id));
                    board.output(id, stream, &vec![0; length]);
                }
                Turn::Written(id, length) => {
                    if let Some(input) = board.input(id) {
                        prop_assert!(input.waiting().len() <= INPUT_WINDOW);
                        input.written(length);
                    }
                }
                Turn::Ended(id, discard) => {
                    let unsent = if discard { Unsent::Discard } else { Unsent::Keep };
                    board.ended(id, Ending::Exited(0), Usage::default(), unsent);
                }
                Turn::Listen(count) => {
                    for tell in std::iter::from_fn(|| board.next_tell()).take(count) {
                        listen(&mut heard, tell)?;
                    }
                }
            }
            let kept: usize = board.channels.values().map(|known| known.output.kept()).sum();
            prop_assert_eq!(board.kept, kept);
            prop_assert!(board.channels.values().all(|known| known.output.kept() <= RING));
        }
    }
}

/// After a lost connection, output goes on wherever the host says.
fn lose_places(heard: &mut BTreeMap<ChannelId, Heard>) {
    for known in heard.values_mut() {
        known.next = None;
    }
}

fn listen(heard: &mut BTreeMap<ChannelId, Heard>, tell: Tell) -> Result<(), TestCaseError> {
    match tell {
        Tell::Output { channel, offset, bytes, .. } => {
            let known = heard.entry(channel).or_default();
            prop_assert!(!bytes.is_empty() && bytes.len() <= CHUNK);
            prop_assert!(known.next.is_none_or(|next| next == offset), "output is lost or doubled");
            let end = offset + bytes.len() as u64;
            prop_assert!(end <= known.upto, "output beyond the credit");
            known.next = Some(end);
        }
        Tell::InputCredit { channel, upto } => {
            let known = heard.entry(channel).or_default();
            prop_assert!(upto >= known.input_upto, "credit was taken back");
            known.input_upto = upto;
        }
        Tell::Ended { channel, .. } => heard.entry(channel).or_default().ended = true,
        Tell::Hello { .. }
        | Tell::Opened { .. }
        | Tell::Refused { .. }
        | Tell::Channels(_)
        | Tell::Pong { .. } => {}
    }
    Ok(())
}
