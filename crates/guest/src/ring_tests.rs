//! The ring against a list that forgets nothing.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Move {
    Push(Stream, Vec<u8>),
    Release(u64),
    Read(u64, u64),
}

fn moves() -> impl Strategy<Value = Move> {
    let stream = prop_oneof![Just(Stream::Out), Just(Stream::Error)];
    prop_oneof![
        (stream, 0_usize..50_000, any::<u8>())
            .prop_map(|(stream, length, byte)| Move::Push(stream, vec![byte; length])),
        (0_u64..400_000).prop_map(Move::Release),
        (0_u64..400_000, 0_u64..100_000).prop_map(|(from, most)| Move::Read(from, most)),
    ]
}

proptest! {
    #[test]
    fn the_ring_gives_what_was_put_in(moves in proptest::collection::vec(moves(), 0..60)) {
        let (mut ring, mut all, mut released) = (Ring::default(), Vec::<(Stream, u8)>::new(), 0_u64);
        for one in moves {
            match one {
                Move::Push(stream, bytes) => {
                    let room = ring.room();
                    let added = ring.push(stream, &bytes);
                    prop_assert_eq!(added, bytes.len().min(room));
                    all.extend(bytes.iter().take(added).map(|byte| (stream, *byte)));
                }
                Move::Release(taken) => {
                    ring.release(taken);
                    released = released.max(taken.min(all.len() as u64));
                }
                Move::Read(from, most) => match ring.chunk(from, most) {
                    None => prop_assert!(from < released || from >= all.len() as u64 || most == 0),
                    Some((stream, bytes)) => {
                        prop_assert!(from >= released);
                        prop_assert!(bytes.len() <= CHUNK && bytes.len() as u64 <= most);
                        let at = usize::try_from(from).unwrap();
                        let expected: Vec<_> = bytes.iter().map(|byte| (stream, *byte)).collect();
                        prop_assert_eq!(&all[at..at + bytes.len()], &expected[..]);
                    }
                },
            }
            prop_assert_eq!(ring.end(), all.len() as u64);
            prop_assert_eq!(ring.kept_from(), released);
            prop_assert!(ring.kept() <= RING);
        }
    }
}

#[test]
fn single_bytes_on_both_streams_in_turn_do_not_grow_the_list_of_runs_for_ever() {
    let mut ring = Ring::default();
    for _ in 0..RING {
        ring.push(Stream::Out, b"o");
        ring.push(Stream::Error, b"e");
    }
    assert_eq!((ring.kept(), ring.room()), (RUNS, 0));
    ring.release(1);
    assert!(ring.room() > 0);
}

#[test]
fn an_empty_ring_holds_no_memory() {
    let mut ring = Ring::default();
    ring.push(Stream::Out, &vec![0; RING]);
    ring.release(ring.end());
    assert_eq!(ring.bytes.capacity(), 0);
}
