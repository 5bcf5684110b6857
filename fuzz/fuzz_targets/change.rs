//! The beginning of what comes out of a sandbox: it is the same in any pieces, and what follows is passed on whole.
#![no_main]

use forges::heading::{Heading, HeadingError, HeadingReader};
use libfuzzer_sys::fuzz_target;

const MOST: u32 = 1_000;

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, usize::from(*cut).max(1)), "it does not matter how bytes arrive");
    if let Ok(Some((heading, pack))) = whole {
        assert!(heading.objects <= MOST);
        assert!(pack.starts_with(b"PACK") && bytes.ends_with(&pack));
        let line = format!("lamp-change 1 {}\n", heading.tree);
        assert_eq!(
            [line.as_bytes(), &pack].concat(),
            bytes,
            "nothing is left out, nothing is added"
        );
    }
});

fn read(bytes: &[u8], cut: usize) -> Result<Option<(Heading, Vec<u8>)>, HeadingError> {
    let mut reader = HeadingReader::new(MOST);
    let mut pieces = bytes.chunks(cut);
    while let Some(piece) = pieces.next() {
        if let Some((heading, mut pack)) = reader.feed(piece)? {
            pack.extend(pieces.flatten());
            return Ok(Some((heading, pack)));
        }
    }
    Ok(None)
}
