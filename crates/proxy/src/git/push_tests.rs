//! Pushes and fetches that no git would send, byte by byte.

use std::io::Write as _;

use proptest::prelude::*;

use super::{
    commands::{self, ListError},
    fetch::{FETCH_LIMIT, Fetch, FetchError},
    pack::PackError,
    push::{Allowed, Push, PushError},
};
use crate::readers::packet_line::{self, PacketError};

const BRANCH: &str = "agent/fix";

fn zero() -> String {
    "0".repeat(40)
}

fn body(lines: &[&str], rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for line in lines {
        packet_line::write(line.as_bytes(), &mut body).unwrap();
    }
    body.extend_from_slice(packet_line::FLUSH);
    body.extend_from_slice(rest);
    body
}

fn pushed(body: &[u8], piece: usize) -> (Result<Vec<u8>, PushError>, Vec<u8>) {
    let allowed = Allowed { branches: vec![BRANCH.to_owned()], most_pack: 1000 };
    let mut push = Push::new(allowed, None).unwrap();
    let mut given = Vec::new();
    for piece in body.chunks(piece.max(1)) {
        match push.read(piece) {
            Ok(bytes) => given.extend(bytes),
            Err(error) => return (Err(error), given),
        }
    }
    let last = push.finish();
    (last, given)
}

const ID: &str = "1234567890123456789012345678901234567890";

#[test]
fn a_list_with_anything_odd_is_refused_before_a_byte_is_sent() {
    let line = |reference: &str| format!("{} {ID} {reference}", zero());
    let fine = line("refs/heads/agent/fix");
    let list = |error: ListError| PushError::List(error);
    let cases = [
        (body(&[&format!("{fine} x")], b""), list(ListError::Line)),
        (
            body(&[&format!("{} {ID} refs/heads/agent/fix\0push-options", zero())], b""),
            PushError::Options,
        ),
        (body(&["push-cert\0 x"], b""), list(ListError::Certificate)),
        (body(&[&fine, &fine], b""), list(ListError::Twice("refs/heads/agent/fix".into()))),
        (body(&[&line("refs/heads/agent/fix\u{1b}[2J")], b""), list(ListError::Line)),
        (body(&[&line("HEAD")], b""), list(ListError::Line)),
        (body(&[&fine.replace(ID, "12345")], b""), list(ListError::Line)),
        (body(&[&fine.replace(ID, &ID.replace('1', "A"))], b""), list(ListError::Line)),
        (body(&[&fine], b"not a pack"), PushError::Pack(PackError::Header)),
        (body(&[&fine], b"PACK\0\0\0\x02\0\0\0\x01"), PushError::Pack(PackError::Incomplete)),
        (body(&[], b"x"), PushError::Pack(PackError::Trailing)),
        (b"0032".to_vec(), PushError::Incomplete),
    ];
    for (bytes, error) in cases {
        let (refused, given) = pushed(&bytes, 5);
        assert_eq!(refused, Err(error), "{}", bytes.escape_ascii());
        let whole = commands::read(&bytes).ok().flatten().map_or(0, |(_, used)| used);
        assert!(given.len() <= whole, "{}", bytes.escape_ascii());
    }
    assert_eq!(pushed(b"0000", 1), (Ok(Vec::new()), b"0000".to_vec()));
    let allowed = Allowed { branches: Vec::new(), most_pack: 0 };
    assert_eq!(Push::new(allowed, Some("gzip")).unwrap_err(), PushError::Compressed);
}

#[test]
fn an_empty_pack_makes_a_branch_and_moves_none() {
    let trailer = [7; 20];
    let pack = [&b"PACK\0\0\0\x02\0\0\0\0"[..], &trailer].concat();
    let create = body(&[&format!("{} {ID} refs/heads/agent/fix\0 report-status", zero())], &pack);
    let (last, given) = pushed(&create, 3);
    assert_eq!([given, last.unwrap()].concat(), create);
    let other = ID.replace('1', "2");
    let moved = body(&[&format!("{other} {ID} refs/heads/agent/fix\0 report-status")], &pack);
    let (last, given) = pushed(&moved, 3);
    assert_eq!(last, Err(PushError::NotForwards("agent/fix".into())));
    assert!(!moved.starts_with(&given) || given.len() + trailer.len() <= moved.len());
}

proptest! {
    #[test]
    fn a_push_is_the_same_in_any_pieces(
        rest in proptest::collection::vec(any::<u8>(), 0..80),
        count in 0_u8..3,
        piece in 1_usize..40,
    ) {
        let pack = [&b"PACK\0\0\0\x02\0\0\0"[..], &[count], &rest].concat();
        let bytes = body(&[&format!("{} {ID} refs/heads/agent/fix\0 report-status", zero())], &pack);
        let (whole, all) = pushed(&bytes, usize::MAX);
        let (parts, some) = pushed(&bytes, piece);
        prop_assert_eq!(&whole, &parts);
        if let Ok(last) = whole {
            prop_assert_eq!([all, last].concat(), bytes.clone());
            prop_assert_eq!([some, parts.unwrap()].concat(), bytes);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = pushed(&bytes, 7);
        for encoding in [None, Some("gzip")] {
            let mut fetch = Fetch::new(encoding).unwrap();
            let _ = fetch.read(&bytes);
            let _ = fetch.finish();
        }
    }
}

#[test]
fn a_long_fetch_is_looked_at_though_it_is_compressed() {
    let packed = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let read = |bytes: &[u8], piece: usize| {
        let mut fetch = Fetch::new(Some("gzip")).unwrap();
        bytes.chunks(piece).try_for_each(|piece| fetch.read(piece)).and_then(|()| fetch.finish())
    };
    let want = format!("want {ID} side-band-64k\n");
    let fine = body(&[&want], b"0009done\n");
    assert_eq!(read(&packed(&fine), 5), Ok(()));
    assert_eq!(read(&packed(&body(&["secret"], b"")), 5), Err(FetchError::Line));
    assert_eq!(read(&packed(b"0032want"), 5), Err(FetchError::Incomplete));
    assert_eq!(read(&packed(b"GET /"), 5), Err(FetchError::Packet(PacketError::Digits)));
    assert_eq!(read(&[packed(&fine), b"more".to_vec()].concat(), 5), Err(FetchError::Encoding));
    assert_eq!(read(&packed(&fine)[..20], 5), Err(FetchError::Encoding));
    assert_eq!(Fetch::new(Some("br")).unwrap_err(), FetchError::Encoding);
    let bomb = packed(&body(&[&want], b"").repeat(FETCH_LIMIT / 60));
    assert_eq!(read(&bomb, 5000), Err(FetchError::TooLong));
}

#[test]
fn a_list_without_an_end_is_not_kept_for_ever() {
    let shallow = format!("shallow {ID}");
    let endless = body(&vec![shallow.as_str(); 3000], b"");
    for piece in [1, 1000, usize::MAX] {
        assert_eq!(pushed(&endless, piece), (Err(PushError::List(ListError::TooLong)), Vec::new()));
    }
}

#[test]
fn a_pack_of_empty_commits_costs_little_to_read() {
    let count = 70_000_u32;
    let commit = [0x10, 0x78, 0x9c, 3, 0, 0, 0, 0, 1];
    let mut pack = super::pack::Pack::new(commands::ObjectFormat::Sha1);
    pack.read(&[b"PACK\0\0\0\x02".as_slice(), &count.to_be_bytes()].concat()).unwrap();
    for _ in 0..count {
        pack.read(&commit).unwrap();
    }
    pack.read(&[0; 20]).unwrap();
    pack.finish().unwrap();
    assert!(pack.kept() <= super::pack::KEPT_LIMIT + 2048);
}
