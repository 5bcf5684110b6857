//! Whatever arrives, in whatever pieces: the same messages come out, or an error, never more.

use proptest::prelude::*;

use super::*;
use crate::protocol::{Ask, ChannelId, Job, Program, Size, Stream, Tell, VERSION, Who};

fn asks() -> impl Strategy<Value = Ask> {
    let channel = any::<u32>().prop_map(ChannelId);
    let program = (
        proptest::collection::vec(".{0,20}", 0..4),
        proptest::collection::vec((".{0,8}", ".{0,8}"), 0..4),
        any::<Option<(u16, u16)>>(),
        any::<(u64, u64)>(),
    );
    let program =
        program.prop_map(|(argv, environment, size, (wall_millis, output_limit))| Program {
            argv,
            environment,
            directory: "/".to_owned(),
            who: Who::Agent,
            terminal: size.map(|(columns, rows)| Size { columns, rows }),
            wall_millis,
            output_limit,
            sweeps: wall_millis % 2 == 0,
        });
    prop_oneof![
        any::<u16>().prop_map(|version| Ask::Hello { version }),
        (channel.clone(), ".{0,30}", program).prop_map(|(channel, tag, program)| Ask::Open {
            channel,
            tag,
            job: Job::Program(program)
        }),
        (channel.clone(), any::<u64>(), proptest::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(channel, offset, bytes)| Ask::Input { channel, offset, bytes }),
        (channel, any::<u64>(), any::<u64>()).prop_map(|(channel, taken, upto)| Ask::Credit {
            channel,
            taken,
            upto
        }),
        any::<u64>().prop_map(|nonce| Ask::Ping { nonce }),
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read_however_it_is_cut(
        asks in proptest::collection::vec(asks(), 0..12),
        cuts in proptest::collection::vec(1_usize..50, 1..40),
    ) {
        let stream: Vec<u8> = asks.iter().flat_map(|ask| encode(ask).unwrap()).collect();
        let (mut decoder, mut read, mut rest) = (Decoder::default(), Vec::new(), stream.as_slice());
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            decoder.push(now);
            while let Some(ask) = decoder.next::<Ask>().unwrap() {
                read.push(ask);
            }
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(read, asks);
    }

    #[test]
    fn noise_is_an_error_or_a_message_and_nothing_worse(noise in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut decoder = Decoder::default();
        decoder.push(&noise);
        for _ in 0..=noise.len() {
            match decoder.next::<Ask>() {
                Ok(Some(_)) | Err(FrameError::Malformed { .. }) => {}
                Ok(None) | Err(FrameError::TooLong { .. }) => break,
            }
        }
    }

    #[test]
    fn noise_in_a_good_frame_is_no_worse(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::default();
        decoder.push(&u32::try_from(noise.len()).unwrap().to_le_bytes());
        decoder.push(&noise);
        let read = decoder.next::<Ask>();
        // What can be read is written in the same way again, or the two sides could disagree about it.
        if let Ok(Some(ask)) = read {
            prop_assert!(encode(&ask).unwrap().len() <= noise.len() + HEADER);
        }
        decoder.push(&encode(&Ask::Channels).unwrap());
        prop_assert_eq!(decoder.next::<Ask>(), Ok(Some(Ask::Channels)));
    }
}

#[test]
fn a_length_that_is_a_bomb_is_refused_before_anything_is_kept() {
    for length in [u32::try_from(FRAME_LIMIT).unwrap() + 1, u32::MAX] {
        let mut decoder = Decoder::default();
        decoder.push(&length.to_le_bytes());
        assert!(matches!(decoder.next::<Ask>(), Err(FrameError::TooLong { .. })));
    }
}

#[test]
fn a_list_that_claims_to_be_longer_than_its_frame_is_refused() {
    // `Input`, channel 1, offset 0, and a length of 2⁶³ bytes.
    let bomb = [3, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let mut decoder = Decoder::default();
    decoder.push(&u32::try_from(bomb.len()).unwrap().to_le_bytes());
    decoder.push(&bomb);
    assert!(matches!(decoder.next::<Ask>(), Err(FrameError::Malformed { .. })));
}

#[test]
fn bytes_left_over_are_refused() {
    let mut frame = encode(&Ask::Channels).unwrap();
    frame.push(0);
    *frame.first_mut().unwrap() += 1;
    let mut decoder = Decoder::default();
    decoder.push(&frame);
    assert!(matches!(decoder.next::<Ask>(), Err(FrameError::Malformed { .. })));
}

#[test]
fn the_largest_messages_fit_into_a_frame() {
    let bytes = vec![7; crate::protocol::CHUNK];
    let output = Tell::Output {
        channel: ChannelId(u32::MAX),
        stream: Stream::Error,
        offset: u64::MAX,
        bytes,
    };
    assert!(encode(&output).is_ok());
    let state = crate::protocol::ChannelState {
        channel: ChannelId(u32::MAX),
        tag: "t".repeat(crate::protocol::TAG),
        output: u64::MAX,
        kept_from: u64::MAX,
        input: u64::MAX,
        ended: true,
    };
    assert!(encode(&Tell::Channels(vec![state; crate::protocol::CHANNELS])).is_ok());
    assert!(encode(&vec![0_u8; FRAME_LIMIT]).is_err());
}

#[test]
fn bytes_travel_as_any_list_does() {
    let with_bytes =
        encode(&Ask::Input { channel: ChannelId(1), offset: 2, bytes: vec![3, 200, 5] }).unwrap();
    let as_list = encode(&(3_u8, 1_u32, 2_u64, vec![3_u8, 200, 5])).unwrap();
    assert_eq!(with_bytes, as_list);
}

#[test]
fn a_hello_never_changes_its_shape() {
    // Whoever speaks another version must still be able to say so.
    assert_eq!(encode(&Ask::Hello { version: VERSION }).unwrap(), [2, 0, 0, 0, 0, 1]);
    assert_eq!(encode(&Tell::Hello { version: VERSION }).unwrap(), [2, 0, 0, 0, 0, 1]);
}
